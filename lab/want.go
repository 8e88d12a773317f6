// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
)

// Statuses of a want besides those of findings.
const (
	ended   = "ended"   // the daemon still shows it though its condition is over
	nothing = "nothing" // no such finding
)

// A Want is a finding that has to be there.
type Want struct {
	what string // "STATUS[|STATUS] CHECK SUBJECT"; the subject is a glob over any of its values
	says []string
}

// Say wants a finding, with words of its reason or remedy. Of what there may be several, one has to say all of them.
func Say(what string, words ...string) Want { return Want{what, words} }

// String writes it as recorded hosts have it.
func (w Want) String() string { return strings.Join(append([]string{w.what}, w.says...), "; ") }

func (w Want) fields() (statuses []string, check, subject string) {
	f := strings.SplitN(w.what, " ", 3)
	if len(f) != 3 {
		panic("lab: a want is STATUS CHECK SUBJECT, not " + w.what)
	}
	return strings.Split(f[0], "|"), f[1], f[2]
}

// about tells whether a finding is the one meant, whatever its status.
func (w Want) about(f *collectors.Finding) bool {
	_, check, subject := w.fields()
	named := func(p collectors.Pair) bool { ok, _ := path.Match(subject, p.Value); return ok }
	return f.Check == check && (subject == "*" || slices.ContainsFunc(f.Subject, named))
}

// matches tells whether a finding is what is wanted.
func (w Want) matches(f *collectors.Finding) bool {
	statuses, _, _ := w.fields()
	silent := func(words string) bool { return !strings.Contains(f.Reason+"\n"+f.Remedy, words) }
	return w.about(f) && slices.Contains(statuses, status(f)) && !slices.ContainsFunc(w.says, silent)
}

func status(f *collectors.Finding) string {
	if f.Ended {
		return ended
	}
	return f.Status.String()
}

// compare lists what is missing among the findings, and what is too much.
func compare(wants []Want, findings []collectors.Finding) []string {
	var wrong []string
	for _, w := range wants {
		about := slices.ContainsFunc(findings, func(f collectors.Finding) bool { return w.about(&f) })
		statuses, _, _ := w.fields()
		if slices.ContainsFunc(findings, func(f collectors.Finding) bool { return w.matches(&f) }) || !about && slices.Contains(statuses, nothing) {
			continue
		}
		wrong = append(wrong, "wanted: "+w.String())
		for i := range findings {
			if w.about(&findings[i]) {
				wrong = append(wrong, "   but: "+line(&findings[i]))
			}
		}
	}
	for i := range findings {
		f := &findings[i]
		if f.Status.Bad() && !f.Ended && !slices.ContainsFunc(wants, func(w Want) bool { return w.matches(f) }) {
			wrong = append(wrong, "unwanted: "+line(f))
		}
	}
	return wrong
}

func line(f *collectors.Finding) string {
	return fmt.Sprintf("%s %s %s: %s", status(f), f.Check, f.Subject, f.Reason)
}

// unread lists the findings that say that something was not read, or not yet: those of a machine that is short of time.
func unread(findings []collectors.Finding) []string {
	var waiting []string
	for i := range findings {
		reason := findings[i].Reason
		if strings.HasPrefix(reason, "no fresh reading of ") || strings.HasPrefix(reason, "no reading of ") {
			waiting = append(waiting, line(&findings[i]))
		}
	}
	return waiting
}

// hindsight are the checks that judge by what went before: a still picture does not hold that.
var hindsight = []string{
	"pcie_aer", "pcie_flaps", "pcie_lost", "nic_irq", "rdma_errors", "rdma_flap", "rdma_loss", "rdma_port", "rdma_receiver", "roce_cnp",
	"nic_discards", "nic_fec", "nic_queue_full", "nic_queue_stuck", "roce_global_pause", "roce_pause", "roce_pfc", "roce_priority", "roce_ecn_silent",
}

// differ lists the verdicts in which a replayed recording and the machine it was made of differ; those of the checks with
// hindsight count if all that the machine remembers is in the recording. A daemon goes on showing what ended. What is
// not judged live may be anything that does not alarm: a device may have come, or a link up, before the recording was made.
func differ(live, replayed []collectors.Finding, all bool) []string {
	a, b := verdicts(live, all), verdicts(replayed, all)
	var wrong []string
	for what, status := range a {
		other := b[what]
		sampled := strings.HasPrefix(what, "nic_queue_") && other == "" // between a film's readings, in which the queue may be empty
		if same := other == status || status == ended && !alarms(other) || sampled && !alarms(status); !same {
			wrong = append(wrong, fmt.Sprintf("%s: live %s, replayed %s", what, orNothing(status), orNothing(other)))
		}
	}
	for what, status := range b {
		if _, ok := a[what]; !ok && alarms(status) {
			wrong = append(wrong, fmt.Sprintf("%s: live nothing, replayed %s", what, status))
		}
	}
	slices.Sort(wrong)
	return wrong
}

func alarms(status string) bool {
	return status == collectors.Warn.String() || status == collectors.Fail.String()
}

func verdicts(findings []collectors.Finding, all bool) map[string]string {
	list := map[string]string{}
	for _, f := range findings {
		if all || !slices.Contains(hindsight, f.Check) {
			list[f.Check+" "+f.Subject.String()] = status(&f)
		}
	}
	return list
}

func orNothing(status string) string {
	if status == "" {
		return "nothing"
	}
	return status
}
