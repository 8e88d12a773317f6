// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
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

// rdma asks the RDMA devices, but those that software makes of an excluded
// function's interface.
func (w *walk) rdma() {
	for _, m := range w.members(classRDMA, map[string]bool{}) {
		lower, err := w.host.ReadFile(path.Join(m.own, "parent"))
		if name := string(bytes.TrimSpace(lower)); err == nil && w.now.hidden[name] {
			delete(w.now.entries, path.Join(classRDMA, m.name))
			continue
		} else if err == nil {
			w.now.lower[name] = true
		}
		w.now.rdma = append(w.now.rdma, m.name)
		w.ask(m.own, w.plan.rdma, false)
		w.gids(path.Join(m.own, "ports"))
		w.netlink(m)
	}
}

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
		if m.device == "" {
			w.now.lower[p.Netdev()] = true // also soft-iWARP's, of which sysfs tells nothing
		}
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
