// SPDX-License-Identifier: Apache-2.0

package dcb

import (
	"bytes"
	"errors"
	"path"
	"strconv"

	"github.com/fabricd/fabricd/probes"
)

var errTable = errors.New("not the table that NVIDIA's driver package writes")

// OFEDBuffer reads how the receive buffer is shared from the files of NVIDIA's
// own driver package, which are there also where dcbnl does not tell: qos/ in
// an interface's directory.
func OFEDBuffer(h *probes.Host, netdev string) (*Buffer, error) {
	sizes, err := h.ReadFile(path.Join(netdev, "qos/buffer_size"))
	if err != nil {
		return nil, err
	}
	priorities, err := h.ReadFile(path.Join(netdev, "qos/prio2buffer"))
	if err != nil {
		return nil, err
	}
	return parseOFED(sizes, priorities)
}

// parseOFED reads two tables, of a row for each buffer and each priority.
func parseOFED(sizes, priorities []byte) (*Buffer, error) {
	b := &Buffer{}
	if _, total, ok := bytes.Cut(sizes, []byte("Port buffer size = ")); ok {
		line, _, _ := bytes.Cut(total, []byte("\n"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 32)
		if err != nil {
			return nil, errTable
		}
		b.Total = uint32(n)
	}
	rows := eachRow(sizes, func(n int, v uint32) { b.Size[n] = v })
	if eachRow(priorities, func(n int, v uint32) { b.Priority[n] = int(min(v, Priorities)) }) < Priorities || rows == 0 {
		return nil, errTable
	}
	return b, nil
}

// eachRow gives the rows that begin with two numbers, of which the first counts.
func eachRow(b []byte, each func(n int, v uint32)) (rows int) {
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, err := strconv.Atoi(string(f[0]))
		v, bad := strconv.ParseUint(string(f[1]), 10, 32)
		if err == nil && bad == nil && n >= 0 && n < Priorities {
			each(n, uint32(v))
			rows++
		}
	}
	return rows
}
