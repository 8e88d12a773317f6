// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

const (
	maxQueues = 1 << 14 // in all; those beyond are left out and counted
	overhead  = 14      // bytes of an Ethernet header, which the MTU leaves out
)

// A place is one interface and its queues, as they were found.
type place struct {
	name    string // printable
	path    string
	ifindex uint32 // 0: a recording without
	mtu     int
	rate    int // of its link in Mb/s; 0: not known
	queues  int
	left    int  // more queues, which are too many
	limits  bool // some queue has files of byte queue limits
}

// key names an interface as long as it lives under its name.
func (p place) key() string { return strconv.Itoa(int(p.ifindex)) + " " + p.path }

// gone says that the interface went or has another name.
func (p place) gone(h *probes.Host) bool {
	dir, err := h.Dir(p.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer dir.Close()
	n := number(dir, "ifindex")
	return n > 0 && uint32(n) != p.ifindex // another of the same name
}

// frames is the size of two frames.
func (p place) frames() uint32 { return uint32(min(max(2*(p.mtu+overhead), 0), 1<<20)) }

// find lists the interfaces to look at: those named, or else all that belong to
// hardware. left counts the queues beyond what is looked at.
func find(h *probes.Host, names []string) (list []place, left int, err error) {
	all, err := h.Interfaces()
	if err != nil {
		return nil, 0, err
	}
	total := 0
	for _, i := range all {
		if len(names) == 0 && !i.Hardware || len(names) > 0 && !slices.Contains(names, i.Name) {
			continue
		}
		p, ok := look(h, i)
		if !ok {
			continue
		}
		if over := total + p.queues - maxQueues; over > 0 {
			p.left = min(over, p.queues)
			left += p.left
			p.queues -= p.left
		}
		total += p.queues
		list = append(list, p)
	}
	addRates(h, list)
	return list, left, nil
}

// addRates takes the links' rates from the inventory, if there is one.
func addRates(h *probes.Host, list []place) {
	inv := h.Taken()
	if inv == nil {
		return
	}
	for _, n := range inv.Netdevs {
		if i := slices.IndexFunc(list, func(p place) bool { return p.path == n.Path }); i >= 0 {
			list[i].rate = n.SpeedMbps.V
		}
	}
}

// burst is the depth above which the interface is in a burst.
func (p place) burst(o Options) uint64 {
	const bits = 8
	sent := float64(p.rate) * 1e6 / bits * o.BurstTime.Seconds()
	return uint64(max(float64(o.Burst), sent))
}

// look reads what an interface consists of. It may be gone by now.
func look(h *probes.Host, i probes.Interface) (p place, ok bool) {
	dir, err := h.Dir(i.Path)
	if err != nil {
		return p, false
	}
	defer dir.Close()
	p = place{name: probes.Printable(i.Name), path: i.Path}
	p.mtu = cmp.Or(number(dir, "mtu"), 1500)
	p.ifindex = uint32(number(dir, "ifindex"))
	queues, err := h.Dir(path.Join(i.Path, "queues"))
	if err != nil {
		return p, true
	}
	defer queues.Close()
	names, _ := queues.List() //nolint:errcheck // none: nothing is listed
	for _, name := range names {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "tx-")); err == nil && strings.HasPrefix(name, "tx-") && n >= 0 && n < maxQueues {
			p.queues = max(p.queues, n+1)
		}
	}
	p.limits = hasLimits(h, path.Join(i.Path, "queues"), names)
	return p, true
}

// hasLimits says whether some queue has files of byte queue limits; a kernel has
// them for all of an interface or for none.
func hasLimits(h *probes.Host, dir string, names []string) bool {
	for _, name := range names {
		if !strings.HasPrefix(name, "tx-") {
			continue
		}
		if h.Exists(path.Join(dir, name, "byte_queue_limits")) {
			return true
		}
		if !h.Recorded() {
			break
		}
	}
	return false
}

func number(dir *probes.Dir, name string) int {
	b, err := dir.ReadFile(name)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b))) //nolint:errcheck // 0: not known
	return n
}
