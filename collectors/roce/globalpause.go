// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"time"

	"github.com/fabricd/fabricd/collectors"
)

func globalPauseCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:   "roce_global_pause",
		Help:   "Warns when 802.3x pause frames, which stop all priorities, grow on a port with PFC or RDMA; says whether the peer pauses us or we pause the peer.",
		Silent: "totals that stand still; a count of all flow control (rx_pause_ctrl_phy) that grows as the priorities' PFC frames do.",
		Over:   time.Minute,
		Eval:   lately(evalGlobalPause),
	}
}

func evalGlobalPause(p *port, e *env) verdict {
	on, told := p.pfc()
	if p.rdma == nil && len(on) == 0 {
		return p.notRoCE() // ordinary Ethernet may pause
	}
	why := p.unasked()
	_, control := p.Counters.get(pauseControl, rx, anyPriority)
	_, frames := p.Counters.get(pauseFrames, rx, anyPriority)
	switch {
	case why != "" && !control && !frames:
		return collectors.Verdictf(collectors.Unknown, "%s", why)
	case !control && !frames:
		return collectors.Verdictf(collectors.Unknown, "driver %s counts no 802.3x pause frames", p.Driver)
	case covers(e.Past) == 0:
		return collectors.Verdictf(collectors.Unknown, "one reading only: growth needs a second")
	}
	past := e.Newest()
	received, receivedName := globalPause(past, rx)
	sent, sentName := globalPause(past, tx)
	v := verdict{}
	switch {
	case received > 0 && sent > 0:
		v = collectors.Verdictf(collectors.Warn, "the peer pauses us and we pause the peer, all priorities at once: %s +%d, %s +%d", receivedName, received, sentName, sent)
	case received > 0:
		v = collectors.Verdictf(collectors.Warn, "the peer pauses us, all priorities at once: %s +%d", receivedName, received)
	case sent > 0:
		v = collectors.Verdictf(collectors.Warn, "we pause the peer, all priorities at once: %s +%d", sentName, sent)
	default:
		return collectors.Verdictf(collectors.OK, "no 802.3x pause frames in the newest readings")
	}
	if told && len(on) > 0 {
		return v.Remedyf("switch 802.3x pause off at both ends of the cable (ethtool -A %s rx off tx off): PFC does its work", p.Netdev).With(receivedName, received).With(sentName, sent)
	}
	return v.Remedyf("switch 802.3x pause off at both ends (ethtool -A %s rx off tx off) and PFC on for RDMA's priority", p.Netdev).With(receivedName, received).With(sentName, sent)
}

// globalPause gives the frames by which 802.3x pause grew: the driver's own
// count of those or, where it counts all flow control, what PFC does not
// explain. A PFC frame may hold several priorities, and is then counted by each.
func globalPause(past []sample, d direction) (uint64, string) {
	last := &past[len(past)-1].Row
	if n, ok := counted(past, pauseFrames, d, anyPriority); ok {
		return n, last.Counters.name(pauseFrames, d, anyPriority)
	}
	name := last.Counters.name(pauseControl, d, anyPriority)
	n, ok := counted(past, pauseControl, d, anyPriority)
	if !ok || n == 0 {
		return 0, name
	}
	var sum, most uint64
	for i := range priorityCount {
		frames, _ := counted(past, pfcFrames, d, i)
		sum, most = sum+frames, max(most, frames)
	}
	// The counters are read one after the other: a tenth is no difference.
	if sum > 0 && n <= sum+sum/10+1 && n+n/10+1 >= most {
		return 0, name
	}
	return n, name
}
