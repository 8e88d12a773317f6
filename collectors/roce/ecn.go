// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
)

func ecnCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:   "roce_ecn_silent",
		Help:   "Fails when, under load in every interval of the window, pause of priorities or loss grew all the time while neither a mark of congestion nor a CNP was seen in either direction: the switch does not mark, or DCQCN is off.",
		Silent: "an idle port, and one without counters of marks or CNPs: unknown. Pause with marks is congestion that is told of.",
		Over:   time.Minute,
		For:    30 * time.Second,
		Uses:   []string{rdma.Name},
		Thresholds: []collectors.Threshold{
			{Name: "load_percent", Default: 1, Unit: "percent of the port's rate", Help: "less RDMA in any interval says nothing"},
			{Name: "loss_per_million", Default: 10, Unit: "events per million packets", Help: "more in an interval is loss"},
			{Name: "pause_percent", Default: 0.01, Unit: "percent of time", Help: "more in an interval is pause"},
		},
		Eval: lately(evalECN),
	}
}

// interval is the length of the daemon's intervals: several readings of even a
// costly driver.
const interval = 10 * time.Second

// intervals splits the window: in a recording at its marks, else every 10 s.
func intervals(e *env) [][]sample {
	var list [][]sample
	from := 0
	for i := 1; i < len(e.Past); i++ {
		if e.View.Recorded || e.Past[i].At-e.Past[from].At >= interval {
			list = append(list, e.Past[from:i+1])
			from = i
		}
	}
	return list
}

// marks are the families that tell of marked packets.
var marks = []rdma.Family{rdma.ECNMarked, rdma.CNPSent, rdma.CNPHandled, rdma.CNPIgnored}

func evalECN(p *port, e *env) verdict {
	if !p.roce() {
		return p.notRoCE()
	}
	told, seen := false, uint64(0)
	for _, f := range marks {
		n, ok := risenFamily(e.Past, f)
		told, seen = told || ok, seen+n
	}
	list := intervals(e)
	switch {
	case !told:
		return collectors.Verdictf(collectors.Unknown, "the driver of %s counts neither marks nor CNPs", p.device())
	case len(list) == 0:
		return collectors.Verdictf(collectors.Unknown, "not long enough yet: marks are compared with pause and loss over intervals of %s", interval)
	case p.bytesPerSecond() == 0:
		return collectors.Verdictf(collectors.Unknown, "the port's rate is not known")
	}
	all := e.Past
	pause, loss, bytes := true, true, uint64(0)
	for _, past := range list {
		n, ok := loaded(past, e.Threshold("load_percent"))
		if !ok {
			return collectors.Verdictf(collectors.Unknown, "not under load all the time (%s of RDMA in %s): silence says nothing", amount(traffic(all)), span(e))
		}
		bytes += n
		pause = pause && p.paused(past, e.Threshold("pause_percent"))
		loss = loss && lost(past, e.Threshold("loss_per_million"))
	}
	why := p.pressure(all, pause, loss)
	switch {
	case seen > 0:
		return collectors.Verdictf(collectors.OK, "%d marks and CNPs in %s", seen, span(e))
	case why == "":
		return collectors.Verdictf(collectors.OK, "no marks, and neither pause nor loss that lasted, with %s of RDMA in %s", amount(bytes), span(e))
	}
	return collectors.Verdictf(collectors.Fail, "%s all the time in %s, with %s of RDMA, and not one mark or CNP in either direction: the switch does not mark, or DCQCN is off", why, span(e), amount(bytes)).
		Remedyf("look at ECN (WRED) of the switch's queue for RDMA's priority, and at the adapters' notification and reaction points (roce_dcqcn); whether marks arrive, ethtool and rdma statistic show at the receiver (np_ecn_marked_roce_packets and its like; fabricd read roce)").
		With("RDMA bytes", bytes).With("marks and CNPs", seen).With("pressure", why)
}

// loaded says whether one direction of an interval carried that share of the
// port's rate.
func loaded(past []sample, percent float64) (bytes uint64, ok bool) {
	in, _ := rdmaBytesOf(past, rx)
	out, _ := rdmaBytesOf(past, tx)
	last := &past[len(past)-1]
	could := last.Row.bytesPerSecond() * (last.At - past[0].At).Seconds()
	return in + out, float64(max(in, out)) >= could*percent/100
}

// paused says whether priorities were paused in an interval. Where time is
// counted, frames alone do not tell: they may only let go.
func (p *port) paused(past []sample, percent float64) bool {
	most := collectors.Span(past).Seconds() * percent / 100
	for n := range priorityCount {
		for d := range direction(directions) {
			if micros, ok := counted(past, pfcTime, d, n); ok {
				if float64(micros)/1e6 > most {
					return true
				}
				continue
			}
			if frames, _ := counted(past, pfcFrames, d, n); frames > 0 {
				return true
			}
		}
	}
	return false
}

// lost says whether packets were lost in an interval.
func lost(past []sample, perMillion float64) bool {
	events, packets := losses(past)
	if packets == 0 {
		return events > 0
	}
	return float64(events)*1e6/float64(packets) > perMillion
}

func losses(past []sample) (events, packets uint64) {
	for f := rdma.AckTimeout; f.Lossy(); f++ {
		n, _ := family(past, f)
		events += n
	}
	in, _ := family(past, rdma.ReceivedPackets)
	out, _ := family(past, rdma.TransmittedPackets)
	return events, in + out
}

// pressure words what grew all the time; "" if nothing did.
func (p *port) pressure(past []sample, pause, loss bool) string {
	text := ""
	if pause {
		text = "pause of priorities grew"
		for n := range priorityCount {
			for d := range direction(directions) {
				for _, k := range []kind{pfcTime, pfcFrames} {
					if by, _ := counted(past, k, d, n); by > 0 {
						text = fmt.Sprintf("pause of priority %d (%s +%d) grew", n, p.Counters.name(k, d, n), by)
						break
					}
				}
			}
		}
	}
	if loss {
		events, packets := losses(past)
		if text != "" {
			text += " and "
		}
		text += fmt.Sprintf("loss (%d events in %d packets) grew", events, packets)
	}
	return text
}
