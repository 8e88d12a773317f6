// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
)

func placeCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:   "roce_priority",
		Help:   "Fails when 5 % or more of a RoCE port's bytes are RDMA's and run on a priority without PFC while another has it, or when RDMA arrives on another priority than it is sent on. Names the DSCPs that lead to lossless priorities.",
		Silent: "acknowledgements and CNPs, which are small; traffic of other protocols: info where RDMA's bytes do not explain it.",
		Over:   time.Minute,
		Uses:   []string{rdma.Name},
		Thresholds: []collectors.Threshold{
			{Name: "lossy_percent", Default: 5, Unit: "percent of the port's bytes", Help: "as much RDMA on priorities without PFC fails"},
			leastBytes(),
		},
		Eval: lately(evalPlace),
	}
}

// A spread is where the bytes of one direction ran.
type spread struct {
	by       [priorityCount]uint64
	total    uint64
	lossless uint64 // on priorities with PFC
	rdma     uint64
	known    bool // rdma is
}

func evalPlace(p *port, e *env) verdict {
	if !p.roce() {
		return p.notRoCE()
	}
	on, told := p.pfc()
	switch {
	case !told:
		return collectors.Verdictf(collectors.Unknown, "%s", p.untold())
	case p.unasked() != "":
		return collectors.Verdictf(collectors.Unknown, "%s", p.unasked())
	case !p.countsBytes():
		return collectors.Verdictf(collectors.Unknown, "driver %s counts no bytes by priority", p.Driver)
	case covers(e.Past) == 0:
		return collectors.Verdictf(collectors.Unknown, "one reading only: shares of traffic need a second")
	case p.lies(e.Past):
		return collectors.Verdictf(collectors.Unknown, "stale: the driver says that PFC is on no priority, and counts pause")
	}
	in, out := p.spread(e.Past, rx), p.spread(e.Past, tx)
	ran := in.rdma + out.rdma
	if known := in.known && out.known; known && float64(ran) < e.Threshold("least_bytes") {
		return collectors.Verdictf(collectors.Unknown, "%s of RDMA in %s: too little traffic to tell", amount(ran), span(e))
	}
	if from, to, ok := mismatch(&out, &in); ok {
		return collectors.Verdictf(collectors.Fail, "RDMA is sent on priority %d and arrives on priority %d (%s, %s in %s); %s", from, to,
			amount(out.by[from]), amount(in.by[to]), span(e), p.maps()).
			Remedyf("something on the way rewrites the DSCP or the peer sends another one; compare traffic class and DSCP map of both ends (fabricd read roce) and the switch's").
			With(p.Counters.name(prioBytes, tx, from), out.by[from]).With(p.Counters.name(prioBytes, rx, to), in.by[to])
	}
	if len(on) == 0 {
		return collectors.Verdictf(collectors.OK, "no priority has PFC: roce_pfc judges that")
	}
	return lossy(p, e, &in, &out)
}

// lossy judges what ran on priorities without PFC.
func lossy(p *port, e *env, in, out *spread) verdict {
	total := in.total + out.total
	share := func(n uint64) float64 { return 100 * float64(n) / float64(max(total, 1)) }
	wrong := total - in.lossless - out.lossless
	rdma := in.outside() + out.outside()
	n, d := busiest(p, in, out)
	text := fmt.Sprintf("%.0f %% of %s in %s ran on priorities without PFC, most of it on priority %d (%s); %s", share(wrong), amount(total), span(e), n, d, p.maps())
	switch limit := e.Threshold("lossy_percent"); {
	case share(wrong) < limit:
		return collectors.Verdictf(collectors.OK, "%.1f %% of %s ran on priorities without PFC; %s", share(wrong), amount(total), p.maps())
	case in.known && out.known && share(rdma) >= limit:
		return collectors.Verdictf(collectors.Fail, "%s; at least %s of that is RDMA", text, amount(rdma)).
			Remedyf("give RDMA the traffic class of a lossless priority (NCCL_IB_TC, cma_roce_tos, the device's default traffic class: DSCP × 4), or map its DSCP there: dcb app add dev %s dscp-prio", p.Netdev).
			With("bytes without PFC", wrong).With("RDMA among them at least", rdma)
	case in.known && out.known:
		return collectors.Verdictf(collectors.Info, "%s; RDMA does not explain it: other protocols do", text)
	}
	return collectors.Verdictf(collectors.Info, "%s; whether that is RDMA nobody counts", text)
}

// countsBytes says whether the driver counts bytes by priority.
func (p *port) countsBytes() bool {
	for n := range priorityCount {
		if _, ok := p.Counters.get(prioBytes, rx, n); ok {
			return true
		}
	}
	return false
}

func (p *port) spread(past []sample, d direction) (s spread) {
	for n := range priorityCount {
		s.by[n], _ = counted(past, prioBytes, d, n)
		s.total += s.by[n]
		s.lossless += safe(past, d, n)
	}
	s.rdma, s.known = rdmaBytesOf(past, d)
	return s
}

// safe sums the bytes of a priority that ran while it was lossless: PFC may
// have been switched within the window.
func safe(past []sample, d direction, priority int) uint64 {
	var sum uint64
	for i := 1; i < len(past); i++ {
		if past[i].Row.lossless(priority) || past[i-1].Row.lossless(priority) {
			n, _ := counted(past[i-1:i+1], prioBytes, d, priority)
			sum += n
		}
	}
	return sum
}

// outside is RDMA that the lossless priorities cannot have carried.
func (s *spread) outside() uint64 {
	if s.rdma <= s.lossless {
		return 0
	}
	return min(s.rdma-s.lossless, s.total-s.lossless)
}

// main is the priority that carries nearly all RDMA of a direction.
func (s *spread) main() (priority int, ok bool) {
	for n, bytes := range s.by {
		if s.known && float64(bytes) >= 0.9*float64(s.rdma) && float64(bytes) >= 0.5*float64(s.total) && s.rdma > 0 && float64(s.rdma) >= 0.5*float64(bytes) {
			return n, true
		}
	}
	return 0, false
}

// mismatch says whether RDMA goes out on one priority and comes in on another:
// where both directions carry about as much, so that neither is mere answers.
func mismatch(out, in *spread) (from, to int, ok bool) {
	from, okOut := out.main()
	to, okIn := in.main()
	if !okOut || !okIn || from == to || out.rdma > 4*in.rdma || in.rdma > 4*out.rdma {
		return 0, 0, false
	}
	const answers = 20 // what comes back on the priority of the other direction is less than a twentieth
	return from, to, in.by[from]*answers < in.rdma && out.by[to]*answers < out.rdma
}

// busiest gives the priority without PFC that carried most.
func busiest(p *port, in, out *spread) (priority int, name string) {
	most := uint64(0)
	for n := range priorityCount {
		for _, s := range []struct {
			bytes uint64
			d     direction
		}{{in.by[n], rx}, {out.by[n], tx}} {
			if !p.lossless(n) && s.bytes > most {
				most, priority, name = s.bytes, n, fmt.Sprintf("%s +%s", p.Counters.name(prioBytes, s.d, n), amount(s.bytes))
			}
		}
	}
	return priority, name
}

// maps says by which DSCPs a lossless priority is reached.
func (p *port) maps() string {
	on, _ := p.pfc()
	var text []string
	for _, n := range on {
		var dscps []int
		for _, a := range p.DCB.App {
			if a.Selector == "dscp" && a.Priority == n {
				dscps = append(dscps, a.Protocol)
			}
		}
		if len(dscps) > 0 {
			text = append(text, fmt.Sprintf("DSCP %s leads to priority %d", ranges(dscps), n))
		}
	}
	switch {
	case len(text) > 0:
		return "by the map, " + strings.Join(text, "; ")
	case p.DCB == nil || p.DCB.App == nil:
		return "the driver tells no DSCP map"
	case len(on) == 0:
		return "no priority is lossless"
	}
	return "the DSCP map leads to none of the lossless priorities (" + list(on) + ")"
}

// ranges writes numbers, runs of them as 24-31.
func ranges(all []int) string {
	var b strings.Builder
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(all[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(all[j]))
		}
		i = j + 1
	}
	return b.String()
}
