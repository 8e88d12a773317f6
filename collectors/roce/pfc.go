// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
)

func pfcCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:       "roce_pfc",
		Help:       "Warns when a RoCE port with RDMA traffic has PFC on no priority, or on others than the majority of its sisters; fails when more priorities are on than the adapter says it can (pfc_cap).",
		Silent:     "drivers without dcbnl, and bnxt_en's answer of no PFC while it counts pause: unknown.",
		Over:       time.Minute,
		Uses:       []string{rdma.Name},
		Thresholds: []collectors.Threshold{leastBytes()},
		Eval:       lately(evalPFC),
	}
}

// leastBytes is how much RDMA there has to be before anything follows from it:
// connections alone, and what management says to each other, take less.
func leastBytes() collectors.Threshold {
	return collectors.Threshold{Name: "least_bytes", Default: 1e6, Unit: "bytes", Help: "less RDMA in the window says nothing"}
}

func evalPFC(p *port, e *env) verdict {
	if !p.roce() {
		return p.notRoCE()
	}
	on, told := p.pfc()
	if why := p.untold(); !told {
		return collectors.Verdictf(collectors.Unknown, "%s", why)
	}
	if capable := p.DCB.PFC.Cap; capable > 0 && len(on) > capable {
		return collectors.Verdictf(collectors.Fail, "PFC is on for %d priorities (%s), and the adapter can %d (dcbnl pfc_cap): what the driver says cannot be", len(on), list(on), capable).
			Remedyf("update driver and firmware; set PFC anew: dcb pfc set dev %s prio-pfc all:off, then the lossless one on", p.Netdev).
			With("pfc_en", list(on)).With("pfc_cap", capable)
	}
	if p.lies(e.Past) {
		return collectors.Verdictf(collectors.Unknown, "stale: dcbnl says that PFC is on no priority, but pause of priorities is counted: the driver answers what was set through it, not what its firmware does").
			Remedyf("ask the firmware (niccli or bnxtqos); set PFC through dcb(8), so that the answer is its own")
	}
	bytes := traffic(e.Past)
	if len(on) == 0 && len(e.Past) < 2 {
		return collectors.Verdictf(collectors.Unknown, "PFC is on no priority; one reading does not tell whether RDMA runs here")
	}
	if len(on) == 0 && bytes > 0 && float64(bytes) >= e.Threshold("least_bytes") {
		return collectors.Verdictf(collectors.Warn, "PFC is on no priority, and RDMA runs here (%s in %s): packets are dropped when a queue is full", amount(bytes), span(e)).
			Remedyf("switch PFC on for RDMA's priority here and on the switch, such as dcb pfc set dev %s prio-pfc 3:on, with the DSCP map and trust for it; or make sure that the fabric is meant to be lossy", p.Netdev).
			With("pfc_en", "none").With("RDMA bytes", bytes)
	}
	if usual, n, ok := usualPFC(p, e); ok && !slices.Equal(usual, on) {
		return collectors.Verdictf(collectors.Warn, "PFC is on for %s; %d ports of its kind have it on for %s", list(on), n, list(usual)).
			Remedyf("set them alike: dcb pfc set dev %s prio-pfc all:off and %s on", p.Netdev, list(usual)).With("pfc_en", list(on))
	}
	return collectors.Verdictf(collectors.OK, "PFC is on for %s", list(on))
}

// untold says why it is not known where PFC is on.
func (p *port) untold() string {
	switch {
	case errors.Is(p.DCBErr, errors.ErrUnsupported):
		return "driver " + p.Driver + " has no dcbnl: how PFC is set is only known to its own tool"
	case p.DCBErr != nil:
		return p.DCBErr.Error()
	}
	return "the driver does not answer how PFC is set"
}

// usualPFC finds what the majority of the port's sisters with link have on.
func usualPFC(p *port, e *env) (usual []int, n int, ok bool) {
	if !p.net.Carrier.V {
		return nil, 0, false
	}
	var all [][]int
	for i := range e.Rows {
		o := &e.Rows[i]
		if on, told := o.pfc(); told && o.sisters == p.sisters && o.net.Carrier.V && o.roce() && !o.stale() {
			all = append(all, on)
		}
	}
	usual, n, _ = collectors.Majority(all, slices.Equal[[]int])
	return usual, n, collectors.Most(n, len(all))
}

// list writes priorities; "none" for none.
func list(priorities []int) string {
	if len(priorities) == 0 {
		return "none"
	}
	var text []string
	for _, n := range priorities {
		text = append(text, strconv.Itoa(n))
	}
	return "priority " + strings.Join(text, ", ")
}

// amount writes bytes for people.
func amount(bytes uint64) string {
	for _, unit := range []struct {
		size uint64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if bytes >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return decimal(bytes) + " bytes"
}

// traffic sums the RDMA bytes of both directions over samples, of a bond those
// of all its legs.
func traffic(past []sample) uint64 {
	var bytes uint64
	for _, d := range []direction{rx, tx} {
		n, ok := rdmaBytesOf(past, d)
		if !ok {
			n, _ = risenFamily(past, bytesOf(d))
		}
		bytes += n
	}
	return bytes
}

func bytesOf(d direction) rdma.Family {
	if d == rx {
		return rdma.ReceivedBytes
	}
	return rdma.TransmittedBytes
}

// rdmaBytesOf gives the RDMA bytes of a direction: RDMA's own count, else the
// driver's, else packets of the path's size. Not ok: nobody counts those of
// this port alone.
func rdmaBytesOf(past []sample, d direction) (uint64, bool) {
	packets := rdma.ReceivedPackets
	if d == tx {
		packets = rdma.TransmittedPackets
	}
	if n, ok := family(past, bytesOf(d)); ok {
		return n, true
	}
	if n, ok := counted(past, rdmaBytes, d, anyPriority); ok {
		return n, true
	}
	n, ok := family(past, packets)
	if !ok {
		return 0, false
	}
	return n * past[len(past)-1].Row.pathMTU(), true
}

// family gives the rise of RDMA counters of a family, unless other ports share them.
func family(past []sample, f rdma.Family) (uint64, bool) {
	if len(past) == 0 || past[len(past)-1].Row.shared {
		return 0, false
	}
	return risenFamily(past, f)
}

func risenFamily(past []sample, f rdma.Family) (uint64, bool) {
	get := func(p *port) (uint64, bool) {
		if p.rdma == nil {
			return 0, false
		}
		c := p.rdma.Get(f)
		return c.V, c.OK
	}
	if len(past) == 0 {
		return 0, false
	}
	if _, ok := get(&past[len(past)-1].Row); !ok {
		return 0, false
	}
	return collectors.Growth(past, get), true
}

// pathMTU is the largest packet of RDMA that the interface's MTU lets through.
func (p *port) pathMTU() uint64 {
	const headers = 60 // IPv6, UDP, the transport's and the checksum
	for _, mtu := range []uint64{4096, 2048, 1024, 512} {
		if uint64(max(p.net.MTU, 0)) >= mtu+headers {
			return mtu
		}
	}
	return 256
}
