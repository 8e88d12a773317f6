// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"path"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/probes/rdma"
)

// How often RDMA netlink is asked at most: each answer is a firmware command.
const (
	linkFloor      = 30 * time.Second
	statisticFloor = time.Second
)

// netlink asks a live device for what RDMA netlink alone tells: its ports'
// interfaces, and the optional counters that are enabled.
func (w *walk) netlink(m member) {
	if w.host.Recorded() || w.ctx.Err() != nil {
		return
	}
	d, err := rdma.Open(w.host, m.name, m.own)
	if err != nil {
		return // as sysfs answers, which is asked as well
	}
	defer d.Close()
	for _, p := range d.Ports {
		dir := path.Join("rdma", m.name, strconv.Itoa(p.Number))
		w.answer(path.Join(dir, "link"), linkFloor, func() ([]byte, error) { return some(p.AppendLink(nil, m.name)) })
		w.answer(path.Join(dir, "statistic"), statisticFloor, func() ([]byte, error) { return some(p.AppendStatistic(nil, m.name)) })
	}
}

// some leaves out an answer that holds nothing.
func some(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.ErrUnsupported
	}
	return b, nil
}
