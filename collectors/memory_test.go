// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabricd/fabricd/config"
)

// A condition alarms after For, and is shown for a minute after it ended.
func TestHoldAndKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &source{read: func(string) (float64, error) {
			if d := time.Since(begin); d >= 10*time.Second && d < 20*time.Second {
				return 50, nil
			}
			return 1, nil
		}}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "x")}})
		for _, step := range []struct {
			at   time.Duration
			want Status
			says string
		}{
			{9 * time.Second, OK, ""},
			{12 * time.Second, Info, "alarms after 3s"},
			{15 * time.Second, Warn, "50"},
			{22 * time.Second, Warn, "ended"},
			{75 * time.Second, Warn, "ended"},
			{85 * time.Second, OK, ""},
		} {
			time.Sleep(step.at + 500*time.Millisecond - time.Since(begin))
			f := finding(t, e, "a_check", "x")
			if f.Status != step.want || !strings.Contains(f.Reason, step.says) || f.Ended != (step.says == "ended") {
				t.Errorf("at %s: %s %q ended %t, want %s %q", step.at, f.Status, f.Reason, f.Ended, step.want, step.says)
			}
		}
	})
}

func TestMuteComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(string) (float64, error) { return 50, nil }}
		until := time.Now().Add(30 * time.Second)
		e := started(t, Options{Collectors: []Collector{s.spec("a", time.Second, "x", "y")}, Config: &config.Config{
			Mute: []config.Mute{{Check: "a_*", Subject: "x", Reason: "known", Until: until}},
		}})
		time.Sleep(10500 * time.Millisecond)
		if f := finding(t, e, "a_check", "x"); f.Status != Info || f.Muted == nil || f.Muted.Status != Warn || f.Muted.Reason != "known" {
			t.Errorf("muted: %+v", f)
		}
		if f := finding(t, e, "a_check", "y"); f.Status != Warn || f.Muted != nil {
			t.Errorf("not muted: %+v", f)
		}
		time.Sleep(25 * time.Second)
		if f := finding(t, e, "a_check", "x"); f.Status != Warn || f.Muted != nil {
			t.Errorf("after its date: %+v", f)
		}
	})
}

func TestSetConfigKeepsReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(string) (float64, error) { return 5, nil }}
		e := started(t, Options{Collectors: []Collector{s.spec("a", time.Second, "x")}})
		time.Sleep(10500 * time.Millisecond)
		opens := s.opens.Load()
		e.SetConfig(&config.Config{Thresholds: map[string]map[string]config.Number{"a_check": {"most": 5}}})
		time.Sleep(5 * time.Second)
		if f := finding(t, e, "a_check", "x"); f.Status != Warn {
			t.Errorf("with the new threshold: %s %s", f.Status, f.Reason)
		}
		if s.opens.Load() != opens {
			t.Error("readers were opened again")
		}
	})
}

// A pause of many judgements (a suspended machine) starts histories anew.
func TestGap(t *testing.T) {
	s := &source{}
	e := NewEngine(Options{Host: emptyHost(t), Collectors: []Collector{s.spec("a", time.Hour, "x")}})
	v := e.view(0)
	for _, r := range e.runners {
		r.reconcile(t.Context(), v, false, nil)
		r.readNow(0)
	}
	for _, step := range []struct {
		at   time.Duration
		want string
	}{
		{1 * time.Second, "1 over 1 samples"}, {2 * time.Second, "1 over 2 samples"}, {11 * time.Second, "1 over 3 samples"}, {40 * time.Second, "1 over 1 samples"},
	} {
		e.judge(step.at, live)
		if f := finding(t, e, "a_check", "x"); f.Reason != step.want {
			t.Errorf("at %s: %s, want %s", step.at, f.Reason, step.want)
		}
	}
}

func TestHistoryThins(t *testing.T) {
	h := &history[int]{}
	for at := range 3600 {
		h.add(Sample[int]{time.Duration(at) * time.Second, at}, 10*time.Minute, false)
	}
	if n := len(h.samples); n < 100 || n > 130+thinEvery {
		t.Errorf("%d samples of 10 minutes", n)
	}
	if n := len(within(h.samples, time.Minute)); n != 61 {
		t.Errorf("%d samples of the last minute", n)
	}
	old := h.samples[0]
	if age := 3599*time.Second - old.At; age > 10*time.Minute+thinEvery*time.Second || age < 9*time.Minute {
		t.Errorf("the oldest sample is %s old", age)
	}
	for i := 1; i < len(h.samples); i++ {
		if h.samples[i].At <= h.samples[i-1].At {
			t.Fatal("out of order")
		}
	}
}

func TestOnlyAndSkip(t *testing.T) {
	e := &Engine{options: Options{Only: []string{"pcie_*"}, Skip: []string{"pcie_aspm"}}}
	for check, want := range map[string]bool{"pcie_width": true, "pcie_aspm": false, "guest": false} {
		if e.wants(check) != want {
			t.Errorf("%s: %t", check, !want)
		}
	}
}
