// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"errors"
	"path"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/probes"
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

// gids asks for the tables of GIDs. Of a live device's only the slots that are
// read and hold something are taken, and the first one, so that there is a
// table: soft-RoCE has a thousand slots, and one that is not there is as empty.
func (w *walk) gids(ports string) {
	d, err := w.host.Dir(ports)
	if err != nil {
		return
	}
	defer d.Close()
	for _, port := range w.list(d, ports) {
		w.table(path.Join(ports, port))
	}
}

func (w *walk) table(port string) {
	dirs := map[string]*probes.Dir{}
	for _, name := range []string{"gids", "gid_attrs/types", "gid_attrs/ndevs"} {
		dir := path.Join(port, name)
		d, err := w.host.Dir(dir)
		if err != nil {
			continue
		}
		defer d.Close()
		if id, err := d.Identity(); err == nil {
			w.now.dirs[dir] = id
		}
		dirs[dir] = d
	}
	gids := path.Join(port, "gids")
	if dirs[gids] == nil || w.ctx.Err() != nil {
		return
	}
	for _, slot := range w.list(dirs[gids], gids) {
		if n, err := strconv.Atoi(slot); err != nil || n >= rdma.MaxGIDs && !w.host.Recorded() {
			continue
		}
		w.file(dirs[gids], gids, slot, false)
		e := w.now.entries[path.Join(gids, slot)]
		if empty := e.errno == "" && len(bytes.Trim(e.data, "0:\n")) == 0; empty && slot != "0" && !w.host.Recorded() {
			delete(w.now.entries, path.Join(gids, slot))
			continue
		}
		for dir, d := range dirs {
			if dir != gids {
				w.file(d, dir, slot, false)
			}
		}
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
