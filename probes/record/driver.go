// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/fabricd/fabricd/probes/dcb"
	"github.com/fabricd/fabricd/probes/ethtool"
	"github.com/fabricd/fabricd/probes/qdisc"
)

// A question is something that a live interface's driver is asked, written
// down as a recording has it. All take the lock of the network's configuration.
type question struct {
	name  string
	floor time.Duration
	ask   func(p *ethtool.Port) ([]byte, error)
}

func questions() []question {
	return []question{
		{"driver", 30 * time.Second, func(p *ethtool.Port) ([]byte, error) { return spell(p.Driver()) }},
		{"stats", time.Second, func(p *ethtool.Port) ([]byte, error) { return spell(p.Statistics()) }},
		{"pause", 30 * time.Second, func(p *ethtool.Port) ([]byte, error) { return spell(p.Pause()) }},
		{"rings", 30 * time.Second, func(p *ethtool.Port) ([]byte, error) { return spell(p.Rings()) }},
		{"pfc-prevention-tout", 30 * time.Second, func(p *ethtool.Port) ([]byte, error) { return spell(p.Prevention()) }},
		{"fec", 10 * time.Second, func(p *ethtool.Port) ([]byte, error) { return spell(p.FEC()) }},
		{"private-flags", 30 * time.Second, func(p *ethtool.Port) ([]byte, error) {
			flags, err := p.Flags()
			return ethtool.AppendFlags(nil, flags), err
		}},
	}
}

func spell(v encoding.TextAppender, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return v.AppendText(nil)
}

// dcbFloor is how often dcbnl is asked at most.
const dcbFloor = 10 * time.Second

// driver asks the driver of a live interface. What it does not answer is left
// out: a recording answers the same.
func (w *walk) driver(netdev string) {
	if w.host.Recorded() || w.ctx.Err() != nil {
		return
	}
	p, err := ethtool.Open(w.host, netdev, false)
	if err != nil {
		w.now.unasked = err
		return
	}
	defer p.Close()
	w.now.drivers++
	for _, q := range questions() {
		w.answer(path.Join("ethtool", netdev, q.name), q.floor, func() ([]byte, error) { return q.ask(p) })
	}
	w.answer(path.Join("dcb", netdev+".json"), dcbFloor, func() ([]byte, error) {
		c, err := dcb.Get(w.host, netdev)
		if err != nil {
			return nil, err
		}
		b, err := json.MarshalIndent(c, "", " ")
		return append(b, '\n'), err
	})
}

// answer writes an answer down, or the one before if it is too early to ask again.
func (w *walk) answer(name string, floor time.Duration, ask func() ([]byte, error)) {
	if w.last != nil {
		readAt, read := w.last.readAt[name]
		if e, ok := w.last.entries[name]; read && w.at-readAt < floor {
			if ok {
				w.now.entries[name] = e
			}
			w.now.readAt[name] = readAt
			return
		}
	}
	w.now.readAt[name] = w.at
	b, err := ask()
	switch {
	case err == nil:
		w.now.entries[name] = entry{data: b}
	case !errors.Is(err, errors.ErrUnsupported):
		w.cutf("%s: %v", name, err)
	}
}

// disciplines asks a live host for the queueing disciplines of the interfaces
// that are taken.
func (w *walk) disciplines() {
	if w.host.Recorded() || w.ctx.Err() != nil || len(w.now.netdevs) == 0 {
		return
	}
	w.answer("qdisc.json", time.Second, func() ([]byte, error) {
		list, err := qdisc.Get(w.host)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(q qdisc.Qdisc) bool { return !slices.Contains(w.now.netdevs, q.Dev) })
		if w.now.qdiscs = len(list); len(list) == 0 { // none, or those of another network namespace
			return nil, errors.ErrUnsupported
		}
		b, err := json.MarshalIndent(list, "", " ")
		return append(b, '\n'), err
	})
}
