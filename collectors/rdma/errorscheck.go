// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

func errorsCheck() portCheck {
	return portCheck{
		Name:    "rdma_errors",
		Help:    "Warns when symbol errors, receive errors, errors at the far end, integrity errors or recoveries of the link grow, and when a narrow counter stands at its maximum, where it sticks: it has to be reset before it can tell anything.",
		Silent:  "totals that stand still; port_xmit_wait at its maximum is info; counters that a driver does not have or that answer EINVAL or N/A: the rest counts. Devices that software makes have no link.",
		Over:    time.Minute,
		Subject: portSubject(false),
		Thresholds: []collectors.Threshold{
			{Name: "least", Default: 1, Unit: "errors", Help: "fewer in 10 s do not warn"},
		},
		Eval: evalErrors,
	}
}

// linkErrors are those that tell of a bad link. Others are normal (dropped
// packets of the management class, switch relay errors) or judged elsewhere.
func linkErrors() []string {
	return []string{"symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors", "local_link_integrity_errors", "link_error_recovery"}
}

func evalErrors(r *portRow, e *portEnv) verdict {
	if r.software() {
		return verdict{} // it has no link of its own
	}
	full, _ := r.saturated()
	stuck := r.stuck(full)
	var grown []string
	sum := uint64(0)
	for _, name := range linkErrors() {
		if n := r.rise(e.Newest(), func(p *Port) Count { return p.PMA.Find(name) }); n > 0 {
			grown = append(grown, fmt.Sprintf("%s %d", name, n))
			sum += n
		}
	}
	if sum > 0 && float64(sum) >= e.Threshold("least") {
		return collectors.Verdictf(collectors.Warn, "growing in the newest %s: %s%s", since(e.Newest()), strings.Join(grown, ", "), r.full(full)).
			Remedyf("clean and reseat the cable at both ends, exchange it or the transceiver; the other end's counters tell which direction is bad (perfquery, ibqueryerrors)")
	}
	switch {
	case stuck.Status == collectors.Warn:
		return stuck
	case !slices.ContainsFunc(linkErrors(), func(name string) bool { return r.PMA.Find(name).OK }):
		return collectors.Verdictf(collectors.Unknown, "%s", r.noCounters())
	case stuck.Status != collectors.None:
		return stuck
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "one reading does not tell whether errors grow; %s", r.totals())
	}
	return collectors.Verdictf(collectors.OK, "no errors of the link in %s; %s", since(e.Past), r.totals())
}

// stuck judges counters that stand at their maximum. The one of waiting, with its
// 32 bits, gets there on any busy fabric.
func (r *portRow) stuck(full []string) verdict {
	status := collectors.None
	for _, name := range full {
		if status = max(status, collectors.Info); name != waitCounter {
			status = collectors.Warn
		}
	}
	if status == collectors.None {
		return verdict{}
	}
	v := collectors.Verdictf(status, "%s: at least that many happened, and no more can be seen", strings.TrimPrefix(r.full(full), "; ")).
		Remedyf("reset it: perfquery -R on the port's LID, or through the subnet manager's host; then see whether it grows")
	for _, name := range full {
		v = v.With("counters/"+name, r.PMA.Find(name).V)
	}
	return v
}

// full names counters that stand at their maximum, as the end of a sentence; "" without any.
func (r *portRow) full(list []string) string {
	if list == nil {
		return ""
	}
	texts := make([]string, len(list))
	for i, name := range list {
		texts[i] = fmt.Sprintf("%s %d", name, r.PMA.Find(name).V)
	}
	return "; saturated: " + strings.Join(texts, ", ")
}

// totals says what the link's error counters stand at.
func (r *portRow) totals() string {
	var list, unread []string
	for _, name := range linkErrors() {
		c := r.PMA.Find(name)
		switch {
		case c.OK && c.V > 0:
			list = append(list, fmt.Sprintf("%s %d", name, c.V))
		case !c.OK && slices.Contains(r.PMA.Names, name):
			unread = append(unread, name)
		}
	}
	text := "all stand at 0"
	if list != nil {
		text = "totals: " + strings.Join(list, ", ")
	}
	if unread != nil {
		text += "; cannot be read: " + strings.Join(unread, ", ")
	}
	return text
}

// noCounters says why there are no error counters.
func (r *portRow) noCounters() string {
	switch {
	case r.Err == errStale:
		return "no fresh reading of " + r.Device
	case r.Unread != "":
		return r.Unread
	case r.PMA.Names == nil && r.HW.Names == nil:
		return "the port shows no counters; see counters_hidden"
	case r.PMA.Names == nil:
		return "the driver has no counters/ (no performance management agent)"
	}
	return "no error counter of the link can be read: the driver has none, or answers N/A or an error"
}

// since writes how long samples span.
func since[S any](past []collectors.Sample[S]) time.Duration {
	return collectors.Span(past).Round(time.Second)
}

// grown lists by how much the counters of some families rose, by the driver's
// names, and their sum.
func (r *portRow) grown(past portPast, want func(Family) bool) (list []string, sum uint64) {
	for i, f := range r.HW.Families {
		if !want(f) {
			continue
		}
		n := r.rise(past, func(p *Port) Count {
			if i < len(p.HW.Values) {
				return p.HW.Values[i]
			}
			return Count{}
		})
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %d", r.HW.Names[i], n))
			sum += n
		}
	}
	return list, sum
}

// counts says whether a counter of some families can be read.
func (r *portRow) counts(want func(Family) bool) bool {
	for i, f := range r.HW.Families {
		if r.HW.Values[i].OK && want(f) {
			return true
		}
	}
	return false
}
