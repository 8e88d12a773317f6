// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// Checks are the names of all checks there are.
func Checks() map[string]map[string]string { return collectors.Thresholds(all.List()) }

// Play plays a recording through all collectors, with the configuration that
// it holds, as fabricd check --host does.
func Play(recording []byte) (*collectors.Engine, error) {
	h, err := probes.Recorded(recording, probes.Options{})
	if err != nil {
		return nil, err
	}
	c := &config.Config{}
	if b, err := h.ReadFile("fabricd.yaml"); err == nil {
		if c, err = config.Parse("fabricd.yaml", b, config.Known{Thresholds: Checks()}); err != nil {
			return nil, err
		}
		h.SetExclude(c.Devices.Exclude)
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: all.List(), Config: c})
	return e, e.Play()
}

// Findings plays the host and gives what is found.
func (h *Host) Findings() []collectors.Finding {
	h.tb.Helper()
	return h.State().Findings
}

// State plays the host and gives all that is known at its last mark.
func (h *Host) State() *collectors.State {
	h.tb.Helper()
	e, err := Play(h.Text())
	if err != nil {
		h.tb.Fatal(err)
	}
	return e.State()
}

// Expect plays the host and holds it to a case, written as in a recording's
// comment.
func (h *Host) Expect(comment string) {
	h.tb.Helper()
	c, err := ParseCase(comment)
	if err != nil {
		h.tb.Fatal(err)
	}
	findings := h.Findings()
	for _, wrong := range append(c.Judge(findings), sound(findings)...) {
		h.tb.Error(wrong)
	}
	if h.tb.Failed() && testing.Verbose() {
		h.tb.Logf("the recording:\n%s", h.Text())
	}
}

// sound says what is wrong with findings whatever the host: each has a reason
// and names its subject once.
func sound(findings []collectors.Finding) []string {
	var wrong []string
	seen := map[string]bool{}
	for i := range findings {
		f := &findings[i]
		key := f.Check + " " + f.Subject.String()
		switch {
		case f.Status == collectors.None:
			wrong = append(wrong, "a finding without a status: "+describe(f))
		case f.Reason == "":
			wrong = append(wrong, "a finding without a reason: "+describe(f))
		case seen[key]:
			wrong = append(wrong, "two findings of one subject: "+describe(f))
		}
		seen[key] = true
	}
	return wrong
}

// Sound fails the test where findings have no status, no reason or a subject
// that another has too.
func Sound(tb testing.TB, findings []collectors.Finding) {
	tb.Helper()
	for _, wrong := range sound(findings) {
		tb.Error(wrong)
	}
}
