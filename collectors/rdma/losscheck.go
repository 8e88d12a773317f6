// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

func lossCheck() portCheck {
	return portCheck{
		Name:    "rdma_loss",
		Help:    "Fails when connections broke because all retries were in vain. Warns when events that tell of lost or late packets (acknowledgement timeouts, sequence errors, packets out of sequence, adaptive retransmissions) grow and are more than 10 for a million packets, sent and received, of the window; and when EFA finds connections impaired or peers unresponsive.",
		Silent:  "totals that stand still; flush errors, which rise whenever a program ends. A host without losses does not clear the fabric.",
		Over:    time.Minute,
		Subject: portSubject(false),
		Thresholds: []collectors.Threshold{
			{Name: "per_million", Default: 10, Unit: "events for a million packets", Help: "more warn"},
		},
		Eval: evalLoss,
	}
}

func evalLoss(r *portRow, e *portEnv) verdict {
	span := since(e.Newest())
	if list, _ := r.grown(e.Newest(), func(f Family) bool { return f == RetriesExceeded }); list != nil {
		return r.lossVerdict(collectors.Fail, "connections broke in the newest %s: %s: all retries were in vain", span, strings.Join(list, ", "))
	}
	if list, _ := r.grown(e.Newest(), func(f Family) bool { return f == RemoteImpaired || f == RemoteUnresponsive }); list != nil {
		return r.lossVerdict(collectors.Warn, "peers do not answer as they should in the newest %s: %s", span, strings.Join(list, ", "))
	}
	list, sum := r.grown(e.Past, Family.Lossy)
	_, fresh := r.grown(e.Newest(), Family.Lossy)
	switch {
	case sum > 0:
	case !r.counts(Family.tellsLoss):
		return collectors.Verdictf(collectors.Unknown, "%s", r.noLossCounters())
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "one reading does not tell whether losses grow")
	default:
		return collectors.Verdictf(collectors.OK, "no loss seen by this host in %s; that does not clear the fabric", since(e.Past))
	}
	text := fmt.Sprintf("%s in %s", strings.Join(list, ", "), since(e.Past))
	packets, how := r.packets(e.Past)
	share := float64(sum) / packets * 1e6
	switch {
	case math.IsNaN(packets):
		return collectors.Verdictf(collectors.Unknown, "%s; the driver counts no packets to compare that with", text)
	case fresh > 0 && share > e.Threshold("per_million"):
		return r.lossVerdict(collectors.Warn, "packets are lost or late: %s: %s", text, ppm(share, packets, how))
	}
	return collectors.Verdictf(collectors.Info, "%s: %s", text, ppm(share, packets, how))
}

func ppm(share, packets float64, how string) string {
	if packets == 0 {
		return "and no packet was sent or received"
	}
	return fmt.Sprintf("%.3g for a million of %.3g packets%s", share, packets, how)
}

func (r *portRow) lossVerdict(s collectors.Status, format string, args ...any) verdict {
	v := collectors.Verdictf(s, format, args...).
		Remedyf("look for the place where packets are dropped: nic_discards and roce_pause on this host and on the peers, then the counters of the switches on the way; zero there at this host does not clear the fabric")
	for i, f := range r.HW.Families {
		if c := r.HW.Values[i]; c.OK && c.V > 0 && (f.Lossy() || f == RetriesExceeded || f == RemoteImpaired || f == RemoteUnresponsive) {
			v = v.With("hw_counters/"+r.HW.Names[i], c.V)
		}
	}
	return v
}

// mostPayload is the largest that a packet carries.
const mostPayload = 4096

// packets counts those sent and received in the window. Where only bytes are
// counted, there were at least as many as full packets would be; NaN is not known.
func (r *portRow) packets(past portPast) (n float64, how string) {
	sum := func(a, b Family) (float64, bool) {
		n := r.rise(past, func(p *Port) Count { return p.Get(a) }) + r.rise(past, func(p *Port) Count { return p.Get(b) })
		return float64(n), r.Get(a).OK || r.Get(b).OK
	}
	if n, ok := sum(TransmittedPackets, ReceivedPackets); ok {
		return n, ""
	}
	if n, ok := sum(TransmittedBytes, ReceivedBytes); ok {
		return math.Ceil(n / mostPayload), fmt.Sprintf(" (bytes, as packets of %d)", mostPayload)
	}
	return math.NaN(), ""
}

func (r *portRow) noLossCounters() string {
	if r.HW.Names == nil {
		return r.noCounters()
	}
	return "the driver does not count that of this port, or it cannot be read"
}

// tellsLoss says whether a counter of the family that stands still means that
// nothing is lost. Adaptive retransmissions are off at most sites, and
// connections break long after the first loss.
func (f Family) tellsLoss() bool {
	return f.Lossy() && f != Adaptive || f == RemoteImpaired || f == RemoteUnresponsive
}

func receiverCheck() portCheck {
	return portCheck{
		Name:    "rdma_receiver",
		Help:    "Warns when packets find no receive buffer, or receiver-not-ready answers grow: the receiving application or its host is too slow, not the network.",
		Silent:  "totals that stand still.",
		Over:    time.Minute,
		Subject: portSubject(false),
		Thresholds: []collectors.Threshold{
			{Name: "least", Default: 1, Unit: "events", Help: "fewer in 10 s do not warn"},
		},
		Eval: evalReceiver,
	}
}

func evalReceiver(r *portRow, e *portEnv) verdict {
	here := func(f Family) bool { return f == OutOfBuffer || f == RNRSent }
	there := func(f Family) bool { return f == RNRReceived || f == RNRExceeded }
	span := since(e.Newest())
	if list, sum := r.grown(e.Newest(), here); list != nil && float64(sum) >= e.Threshold("least") {
		return collectors.Verdictf(collectors.Warn, "this host had no receive buffer ready, in the newest %s: %s: the application or the host, not the network", span, strings.Join(list, ", ")).
			Remedyf("let the application post more receives or answer faster; look at its processors (gpu_process, nic_irq) and memory")
	}
	if list, sum := r.grown(e.Newest(), there); list != nil && float64(sum) >= e.Threshold("least") {
		return collectors.Verdictf(collectors.Warn, "peers had no receive buffer ready, in the newest %s: %s: the application or the host at the other end, not the network", span, strings.Join(list, ", ")).
			Remedyf("find the peer whose out_of_buffer grows, and look at its processors and memory")
	}
	switch {
	case !r.counts(here):
		return collectors.Verdictf(collectors.Unknown, "%s", r.noLossCounters())
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "one reading does not tell whether it grows")
	}
	return collectors.Verdictf(collectors.OK, "receive buffers were there in the newest %s", span)
}
