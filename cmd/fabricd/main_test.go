// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/config"
)

const hosts = "../../collectors/testdata/hosts/"

// fabricd runs the program.
func fabricd(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

// file writes a file for a test.
func file(t testing.TB, name, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// A small host: one NIC on a link of half its width.
const halfWidth = `-- proc/cpuinfo --
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
8
-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/max_link_width --
16
`

func TestExitCodes(t *testing.T) {
	half := file(t, "half.txtar", halfWidth)
	nothing := file(t, "nothing.txtar", "-- proc/version --\nLinux\n")
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"check", "--host", hosts + "meta-8hca-good.txtar"}, exitOK},
		{[]string{"check", "--host", hosts + "meta-8hca-good.txtar", "--strict"}, exitUnknown},
		{[]string{"check", "--host", hosts + "meta-8hca-downgraded.txtar"}, exitFail},
		{[]string{"check", "--host", hosts + "meta-8hca-downgraded.txtar", "--only", "pcie_budget"}, exitWarn},
		{[]string{"check", "--host", hosts + "meta-8hca-downgraded.txtar", "--skip", "pcie_speed,pcie_budget"}, exitOK},
		{[]string{"check", "--host", half}, exitFail},
		{[]string{"check", "--host", nothing}, exitUnknown},
		{[]string{"version"}, exitOK},
		{[]string{"--version"}, exitOK},
		{[]string{"--help"}, exitOK},
		{[]string{"check", "--help"}, exitOK},
	} {
		if code, _, stderr := fabricd(test.args...); code != test.want {
			t.Errorf("%q: exit status %d, want %d (%s)", test.args, code, test.want, stderr)
		}
	}
}

// Whatever is wrong with what the user gave: one line, exit status 64.
func TestBadInput(t *testing.T) {
	half, pipe := file(t, "half.txtar", halfWidth), filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"chek"}, "chek"},
		{[]string{"check", "--formt", "json"}, "--formt"},
		{[]string{"check", "--format", "xml"}, "text, json"},
		{[]string{"check", "--only", "pcie_wdth"}, "no check has this name"},
		{[]string{"check", "--only", "[a"}, "[a"},
		{[]string{"check", "--window", "3"}, "--window"},
		{[]string{"check", "--window", "-1s"}, "--window"},
		{[]string{"check", "--from", "localhost"}, "--from"},
		{[]string{"check", "--from", "http://localhost:1", "--host", half}, "--host"},
		{[]string{"check", "--host", pipe}, "--host " + pipe + ": is a named pipe"},
		{[]string{"check", "--host", half, "--config.file", pipe}, "--config.file " + pipe + ": is a named pipe"},
		{[]string{"lldp", "diff", "--host", half, pipe}, "is a named pipe"},
		{[]string{"check", "--host", "/nowhere.txtar"}, "/nowhere.txtar"},
		{[]string{"check", "--host", "/proc"}, "directory"},
		{[]string{"check", "--host", "../../go.mod"}, "holds no files"},
		{[]string{"check", "--path.rootfs", "/nowhere"}, "/nowhere"},
		{[]string{"check", "--path.rootfs", t.TempDir()}, "holds no sys"},
		{[]string{"check", "--device-exclude", "[", "--host", half}, "glob"},
		{[]string{"check", "--host", half, "--config.file", file(t, "a.yaml", "plan:\n\tports: 1\n")}, "a.yaml:2"},
		{[]string{"check", "--host", half, "--config.file", file(t, "b.yaml", "thresholds:\n  pcie_speed: {bussy_percent: 3}\n")}, "b.yaml:2"},
		{[]string{"check", "--host", half, "--config.file", file(t, "c.yaml", "mute: [{check: pcie_width}]\n")}, "reason"},
		{[]string{"check", "--host", file(t, "d.txtar", halfWidth+"-- fabricd.yaml --\nplann: 1\n")}, "plann"},
		{[]string{"check", "--host", file(t, "e.txtar", halfWidth+"-- sys/x -> /etc/passwd --\n")}, "leads out"},
		{[]string{"check", "--host", file(t, "f.txtar", halfWidth+"-- sys/../../x --\n")}, "clean relative"},
		{[]string{"check", "--host", file(t, "g.txtar", halfWidth+halfWidth)}, "twice"},
		{[]string{"check", "--host", file(t, "h.txtar", halfWidth+"-- sys/a\x00b --\n")}, "NUL"},
		{[]string{"check", "--host", file(t, "i.txtar", `-- manifest.json --`+"\n"+`{"files": 99}`+"\n"+halfWidth)}, "truncated"},
		{[]string{"run", "--config.check"}, "--config.file"},
		{[]string{"run", "--config.check", "--config.file", "/nowhere.yaml"}, "/nowhere.yaml"},
		{[]string{"run", "--host", "/nowhere.txtar"}, "/nowhere.txtar"},
		{[]string{"run", "--host", half, "--fleet", t.TempDir()}, "--fleet"},
		{[]string{"run", "--fleet", t.TempDir()}, "no recordings"},
		{[]string{"run", "--fleet", filepath.Dir(file(t, "a b.txtar", halfWidth))}, "a b"},
		{[]string{"run", "--fleet", filepath.Dir(file(t, "bad.txtar", "nothing"))}, "bad.txtar"},
		{[]string{"run", "--log.level", "loud"}, "--log.level"},
		{[]string{"read", "pci"}, "pci"},
		{[]string{"topo", "--format", "yaml"}, `--format "yaml": want text, json, csv, dot, nccl`},
		{[]string{"manual", "pages"}, "metrics, checks, config"},
	} {
		code, stdout, stderr := fabricd(test.args...)
		if code != exitUsage || !strings.Contains(stderr, test.says) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%q: exit status %d, standard output %q, standard error %q", test.args, code, stdout, stderr)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	good := file(t, "good.yaml", "plan:\n  ports: {count: 8, rate_gbps: 400}\n")
	if code, stdout, stderr := fabricd("run", "--config.check", "--config.file", good); code != exitOK || !strings.Contains(stdout, "is valid") {
		t.Error(code, stdout, stderr)
	}
}

func TestJSON(t *testing.T) {
	_, stdout, _ := fabricd("check", "--host", hosts+"meta-8hca-downgraded.txtar", "--format", "json")
	var r struct {
		Host, Status string
		Findings     []struct {
			Check, Status, Reason, Remedy, Since string
			Subject                              map[string]string
			Evidence                             []struct{ Source, Value string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	f := r.Findings[0]
	if r.Status != "fail" || f.Check != "pcie_speed" || f.Status != "fail" || f.Remedy == "" || f.Since == "" || len(f.Evidence) == 0 {
		t.Errorf("%+v", f)
	}
	if f.Subject["address"] != "0000:8d:00.0" || f.Subject["device"] != "mlx5_6" || f.Subject["netdev"] != "ib4" {
		t.Errorf("subject %v", f.Subject)
	}
	states := map[string]bool{}
	for _, f := range r.Findings {
		states[f.Status] = true
	}
	if !states["ok"] || !states["unknown"] {
		t.Errorf("statuses %v: ok and unknown belong to it as well", states)
	}
}

func TestThresholdsAndMutes(t *testing.T) {
	host := hosts + "meta-8hca-downgraded.txtar"
	muted := file(t, "muted.yaml", "mute:\n- {check: 'pcie_*', subject: '0000:8d:00.0', reason: card is on order, until: 2999-01-01}\n")
	code, stdout, _ := fabricd("check", "--host", host, "--config.file", muted)
	if code != exitOK || !strings.Contains(stdout, "muted until 2999") || !strings.Contains(stdout, "card is on order") {
		t.Error(code, stdout)
	}
	excluded := file(t, "excluded.yaml", "devices: {exclude: ['0000:8d:*']}\n")
	if code, stdout, _ := fabricd("check", "--host", host, "--config.file", excluded); code != exitOK {
		t.Error(code, stdout)
	}
}

func TestText(t *testing.T) {
	_, stdout, _ := fabricd("check", "--host", file(t, "half.txtar", halfWidth), "--all")
	for _, want := range []string{"fail    pcie_width", "x8 of x16", "→", "ok"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "\x1b") {
		t.Error("colours without a terminal")
	}
}

// check --from takes the findings of a daemon.
func TestFrom(t *testing.T) {
	answer := `{"host":"n1","status":"fail","findings":[
		{"check":"pcie_width","status":"fail","subject":{"address":"0000:16:00.0"},"reason":"x8 of x16"},
		{"check":"guest","status":"ok","subject":{},"reason":"bare metal"}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/findings" {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	if code, stdout, _ := fabricd("check", "--from", s.URL); code != exitFail || !strings.Contains(stdout, "x8 of x16") {
		t.Error(code, stdout)
	}
	if code, _, _ := fabricd("check", "--from", s.URL, "--only", "guest"); code != exitOK {
		t.Error(code)
	}
	for _, url := range []string{s.URL + "/elsewhere", "http://127.0.0.1:1"} {
		if code, _, stderr := fabricd("check", "--from", url); code != exitUnknown || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: %d %s", url, code, stderr)
		}
	}
	answer = "hello"
	if code, _, stderr := fabricd("check", "--from", s.URL); code != exitUnknown || !strings.Contains(stderr, "does not answer as fabricd does") {
		t.Error(code, stderr)
	}
}

func TestReadAndManual(t *testing.T) {
	_, stdout, _ := fabricd("read", "numa", "--host", hosts+"meta-8hca-good.txtar")
	if !strings.Contains(stdout, `fabricd_numa_node{address="0000:07:00.0"}`) || strings.Contains(stdout, "fabricd_pcie_link") {
		t.Error("read numa prints the wrong families")
	}
	for part, file := range map[string]string{"metrics": "../../docs/metrics.md", "checks": "../../docs/checks.md", "config": "../../docs/fabricd.yaml"} {
		_, stdout, _ := fabricd("manual", part)
		b, err := os.ReadFile(file)
		if err != nil || string(b) != stdout {
			t.Errorf("%s is not what 'fabricd manual %s' prints: run make generate (%v)", file, part, err)
		}
	}
}

// read roce prints what a network engineer knows from other programs; the
// metrics can be had as well.
func TestReadRoCE(t *testing.T) {
	b, err := os.ReadFile(hosts + "cases/217-dcqcn-reaction-point-off-on-the-lossless-priority.txtar")
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(t.TempDir(), "host.txtar")
	b = append(b, "\n-- ethtool/enp153s0np0/pfc-prevention-tout --\npfc-prevention-tout: 8000\n"...)
	for i := range 15 { // addresses of containers' VLANs
		b = fmt.Appendf(b, "-- sys/devices/pci0000:98/0000:98:01.0/0000:99:00.0/infiniband/mlx5_2/ports/1/gids/%d --\n0000:0000:0000:0000:0000:ffff:0a18:04%02x\n", 10+i, i)
	}
	if err := os.WriteFile(host, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := fabricd("read", "roce", "--host", host)
	for _, want := range []string{
		"enp153s0np0  0000:99:00.0  mlx5_core  100 Gb/s", "PFC", "DSCP", "425.6 TB", "pause received for", "90ms", "prevention: after 8s", "rx 1024 of 8192", "GID 3 (RoCE v2) 10.24.3.11",
		"CNPs handled", "rpg_time_reset 0.0003", "reaction 0-2,4-7",
		"GID 0   IB/RoCE v1  fe80::966d:aeff:fe00:3  enp153s0np0", "GID 3   RoCE v2     10.24.3.11              enp153s0np0", "GID 21  unknown     10.24.4.11              -\n    and 3 more\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s%s", want, stdout, stderr)
		}
	}
	if _, stdout, _ := fabricd("read", "roce", "--format", "metrics", "--host", host); !strings.Contains(stdout, `fabricd_roce_pfc_enabled{netdev="enp23s0np0",priority="3"} 1`) || strings.Contains(stdout, "fabricd_rdma") {
		t.Error("no metrics with --format metrics")
	}
	if code, stdout, stderr := fabricd("read", "roce", "--no-collector.roce", "--host", host); code != exitUsage || stdout != "" || !strings.Contains(stderr, "roce: this collector is switched off") {
		t.Error(code, stdout, stderr)
	}
	if code, stdout, _ := fabricd("read", "roce", "--no-collector.rdma", "--host", host); code != exitOK || !strings.Contains(stdout, "enp153s0np0") {
		t.Error("a table needs no rdma:", code, stdout)
	}
	none := filepath.Join(t.TempDir(), "none.txtar")
	if err := os.WriteFile(none, bytes.ReplaceAll(b, []byte(`"enabled": [3]`), []byte(`"enabled": []`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := fabricd("read", "roce", "--host", none); !strings.Contains(strings.Join(strings.Fields(stdout), " "), "PFC none traffic class") {
		t.Errorf("PFC is on nowhere, and that is not said in:\n%s", stdout)
	}
	if code, _, stderr := fabricd("read", "numa", "--format", "table", "--host", host); code != exitUsage || !strings.Contains(stderr, "only roce") {
		t.Error(code, stderr)
	}
}

// The reference configuration is valid and changes nothing.
func TestReference(t *testing.T) {
	c, err := config.Load("../../docs/fabricd.yaml", known())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all.List() {
		for _, check := range k.Doc().Checks {
			for _, th := range check.Thresholds {
				if got := c.Threshold(check.Name, th.Name, -1); got != th.Default {
					t.Errorf("%s.%s is %g, its default %g", check.Name, th.Name, got, th.Default)
				}
			}
		}
		if got := c.Collectors[k.Doc().Name]; got.Interval != k.Doc().Interval() || got.Enabled == nil || !*got.Enabled {
			t.Errorf("collector %s: %+v", k.Doc().Name, got)
		}
	}
	_, with, _ := fabricd("check", "--host", hosts+"meta-8hca-downgraded.txtar", "--config.file", "../../docs/fabricd.yaml")
	_, without, _ := fabricd("check", "--host", hosts+"meta-8hca-downgraded.txtar")
	if with != without {
		t.Error("the reference configuration changes verdicts")
	}
}

// The machine at hand, whatever it is: nothing cries, nothing panics.
func TestLive(t *testing.T) {
	code, stdout, stderr := fabricd("check", "--format", "json", "--window", "300ms")
	var r collectors.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v; %s", err, stderr)
	}
	if code >= exitUsage || len(r.Findings) == 0 {
		t.Errorf("exit status %d, %d findings", code, len(r.Findings))
	}
	for _, f := range r.Findings {
		if f.Reason == "" {
			t.Errorf("%s %s has no reason", f.Check, f.Subject)
		}
	}
}

func BenchmarkCheckRecording(b *testing.B) {
	for b.Loop() {
		if code, _, stderr := fabricd("check", "--host", hosts+"hgx-h100-8gpu.txtar", "--format", "json"); code != exitOK {
			b.Fatal(code, stderr)
		}
	}
}
