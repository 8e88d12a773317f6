// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// A NIC whose link loses half its width at 20 s, and counts errors from a
// high total on; the film is over at 40 s.
const film = `-- proc/cpuinfo --
physical id	: 0
flags		: fpu
-- sys/bus/pci/devices/0000:15:01.0 -> ../../../devices/pci0000:15/0000:15:01.0 --
-- sys/bus/pci/devices/0000:16:00.0 -> ../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0 --
-- sys/devices/pci0000:15/0000:15:01.0/class --
0x060400
-- sys/devices/pci0000:15/0000:15:01.0/max_link_width --
16
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/class --
0x020000
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/current_link_width --
16
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/max_link_width --
16
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/aer_dev_correctable --
BadTLP 1000
TOTAL_ERR_COR 1000
`

const fault = `-- at/10s/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/aer_dev_correctable --
BadTLP 1040
TOTAL_ERR_COR 1040
-- at/20s/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/current_link_width --
8
-- at/30s/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/current_link_width --
16
`

// node makes a node of a recording and plays it until the test's end.
func node(t *testing.T, text string) *Node {
	t.Helper()
	n := started(t, text)
	play(t, n)
	return n
}

// started makes a node that answers, as yet without readings.
func started(t *testing.T, text string) *Node {
	t.Helper()
	h, err := probes.Recorded([]byte(text), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Name: "n1", Version: "test", Host: h, Config: &config.Config{}, Collectors: all.List(), Log: log.New(io.Discard, "", 0)}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	return n
}

// play plays the node's recording until the test's end.
func play(t *testing.T, n *Node) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// sample gives a series' value, "" if it is not there.
func sample(t *testing.T, h http.Handler, series string) string {
	t.Helper()
	_, text := get(h, "/metrics")
	_, rest, _ := strings.Cut("\n"+text, "\n"+series+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// A film begins anew when it is over; its counters go on growing, and what it
// shows is judged as the daemon does.
func TestFilm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node(t, film+fault)
		const (
			width   = `fabricd_pcie_link_width_lanes{address="0000:16:00.0"}`
			errors  = `fabricd_pcie_aer_errors_total{address="0000:16:00.0",error="BadTLP",severity="correctable"}`
			verdict = `fabricd_check_status{check="pcie_width",subject="0000:16:00.0/0000:15:01.0/0000:16:00.0"}`
		)
		now := time.Duration(0)
		for _, step := range []struct {
			at                     time.Duration
			width, errors, verdict string
		}{
			{5 * time.Second, "16", "1000", "0"},
			{15 * time.Second, "16", "1040", "0"},
			{25 * time.Second, "8", "1040", "3"},
			{35 * time.Second, "16", "1040", "3"}, // it ended, and is shown for a minute
			{45 * time.Second, "16", "1040", "0"}, // anew
			{55 * time.Second, "16", "1080", "0"},
			{65 * time.Second, "8", "1080", "3"},
			{95 * time.Second, "16", "1120", "0"},
		} {
			time.Sleep(step.at - now)
			now = step.at
			if got := sample(t, n, width); got != step.width {
				t.Errorf("at %s: %s lanes, want %s", step.at, got, step.width)
			}
			if got := sample(t, n, errors); got != step.errors {
				t.Errorf("at %s: %s errors, want %s", step.at, got, step.errors)
			}
			if got := sample(t, n, verdict); got != step.verdict {
				t.Errorf("at %s: pcie_width says %s, want %s", step.at, got, step.verdict)
			}
		}
	})
}

// A still picture stays fresh, and what needs a rate stays unknown.
func TestStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node(t, film)
		begin := time.Now()
		time.Sleep(time.Minute + time.Second)
		read := n.State().View
		if age := time.Since(begin) - read.At; age > stillAge {
			t.Errorf("read %s ago", age)
		}
		if got := sample(t, n, `fabricd_check_unknown{check="pcie_aer",subject="0000:16:00.0"}`); got != "1" {
			t.Errorf("pcie_aer is not unknown (%q)", got)
		}
		if got := sample(t, n, `fabricd_collector_up{collector="pcie"}`); got != "1" {
			t.Errorf("up is %q", got)
		}
		_, findings := get(n, "/api/v1/findings")
		if want := time.Now().UTC().Format("2006-01-02T15:04"); !strings.Contains(findings, want) {
			t.Errorf("the findings are not of %s: %.200s", want, findings)
		}
	})
}

// A picture's ports fall no more silent the longer it is shown: nobody listens
// on them, and who was heard is heard no more.
func TestStillPortsAreNotSilent(t *testing.T) {
	const port = film + `-- sys/class/net/eth0 -> ../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/eth0 --
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/eth0/type --
1
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/eth0/carrier --
1
`
	const frame = "-- lldp/eth0.hex --\n0180c200000e020000000001 88cc 0205 07 6c656166 0403 07 7031 0602 0078 0a04 6c656166 0000\n"
	for name, test := range map[string]struct{ text, first, later string }{
		"nobody listened":   {port, "unknown", "unknown"},
		"listened for long": {port + "-- manifest.json --\n" + `{"sources": {"lldp": "listened 150s"}}` + "\n", "warn", "warn"},
		"a neighbour":       {port + frame, "ok", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := node(t, test.text)
				for _, step := range []struct {
					wait time.Duration
					want string
				}{{time.Second, test.first}, {10 * time.Minute, test.later}} {
					time.Sleep(step.wait)
					if got := verdict(n, "lldp_silent"); got != step.want {
						t.Errorf("after %s: %s, want %s", step.wait, got, step.want)
					}
				}
				for _, f := range n.State().Findings {
					if strings.HasPrefix(f.Check, "lldp") && f.Status.Bad() && test.first != "warn" {
						t.Errorf("%s: %s", f.Check, f.Reason)
					}
				}
			})
		})
	}
}

// verdict gives the status of a check's only finding.
func verdict(n *Node, check string) string {
	for _, f := range n.State().Findings {
		if f.Check == check {
			return f.Status.String()
		}
	}
	return ""
}

const stillAge = 10 * time.Second

func TestFleet(t *testing.T) {
	n := &Node{}
	for _, name := range []string{"", "-", "a b", "a/b", "..", "ä", strings.Repeat("a", 64)} {
		if _, err := NewFleet(map[string]*Node{name: n}); err == nil {
			t.Errorf("a node may be called %q", name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		good, bad := started(t, film), node(t, strings.Replace(film, "current_link_width --\n16", "current_link_width --\n8", 1))
		f, err := NewFleet(map[string]*Node{"b.1": bad, "a": good, "targets": good})
		if err != nil {
			t.Fatal(err)
		}
		h := f.Handler()
		if code, _ := get(h, "/-/ready"); code != http.StatusServiceUnavailable {
			t.Errorf("ready before the first readings: %d", code)
		}
		play(t, good)
		synctest.Wait()
		for path, want := range map[string]int{"/-/ready": 200, "/-/healthy": 200, "/a/": 200, "/a": 307, "/a/metrics": 200, "/b.1/api/v1/findings": 200, "/c/": 404, "/c/metrics": 404, "/a/x": 404, "/targets/": 200, "/assets/style.css": 200} {
			if code, _ := get(h, path); code != want {
				t.Errorf("%s: %d, want %d", path, code, want)
			}
		}
		if _, list := get(h, "/"); !strings.Contains(list, `<a href="b.1/">`) || !strings.Contains(list, "pcie_width: ") {
			t.Errorf("the list: %s", list)
		}
		var targets []struct {
			Targets []string
			Labels  map[string]string
		}
		_, text := get(h, "/targets")
		if err := json.Unmarshal([]byte(text), &targets); err != nil || len(targets) != 3 {
			t.Fatalf("%v: %s", err, text)
		}
		if b := targets[1]; b.Targets[0] != "example.com" || b.Labels["__metrics_path__"] != "/b.1/metrics" || b.Labels["instance"] != "b.1" {
			t.Errorf("target %+v", b)
		}
	})
}
