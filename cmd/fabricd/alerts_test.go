// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// need finds a program that the test cannot do without: the one that an
// environment variable names, or one in PATH. On CI it has to be there.
func need(t *testing.T, variable, name string) string {
	t.Helper()
	if p := os.Getenv(variable); p != "" {
		return p
	}
	p, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: scripts/deps installs it", name)
	}
	if err != nil {
		t.Skipf("%s is missing: scripts/deps installs it", name)
	}
	return p
}

// background starts a program that ends with the test.
func background(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd, output := exec.Command(name, args...), &buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", name, output)
		}
	})
}

// A server is a program that answers with JSON.
type server string

func (s server) get(path string, to any) error {
	resp, err := http.Get("http://" + string(s) + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(to)
}

// series are the label sets that a query answers with.
func (s server) series(expr string) []map[string]string {
	var r struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := s.get("/api/v1/query?query="+url.QueryEscape(expr), &r); err != nil {
		return nil
	}
	var list []map[string]string
	for _, one := range r.Data.Result {
		list = append(list, one.Metric)
	}
	return list
}

// active are the label sets of the alerts that an Alertmanager has.
func (s server) active() []map[string]string {
	var r []struct{ Labels map[string]string }
	if err := s.get("/api/v2/alerts?active=true", &r); err != nil {
		return nil
	}
	var list []map[string]string
	for _, one := range r {
		list = append(list, one.Labels)
	}
	return list
}

// told says of each alert what it is about: the node and the check, or the
// alert's name where it is about none. That the recorded hosts differ is no
// fault: they are from all over the world.
func told(alerts []map[string]string) []string {
	var list []string
	for _, labels := range alerts {
		if strings.HasSuffix(labels["alertname"], "Differs") {
			continue
		}
		about := labels["check"]
		if about == "" {
			about = labels["alertname"]
		}
		list = append(list, labels["instance"]+" "+about)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// quick writes the shipped rules into a directory, with two seconds for each
// minute of their patience.
func quick(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/prometheus/fabricd-*.yml")
	if err != nil {
		t.Fatal(err)
	}
	patience := regexp.MustCompile(`(?m)^ +(?:for|keep_firing_for): \d+m$`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.yml") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b = patience.ReplaceAllFunc(b, func(line []byte) []byte {
			key, value, _ := strings.Cut(string(line), ": ")
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			return []byte(key + ": " + (d / 30).String())
		})
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// nativeFirst says that the Prometheus with the rules keeps native histograms
// in the place of classic ones, which only newer ones can by configuration.
func nativeFirst() bool { return os.Getenv("NATIVE_HISTOGRAMS") != "" }

// native starts a second Prometheus, which keeps native histograms: with the
// flag that Debian's has for it. It has no rules.
func native(t *testing.T, live, fleet string) server {
	t.Helper()
	dir, address := t.TempDir(), server(freePort(t))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte("global: {scrape_interval: 10s}\n"+scrapes(live, fleet)), 0o644); err != nil {
		t.Fatal(err)
	}
	background(t, need(t, "PROMETHEUS", "prometheus"), "--enable-feature=native-histograms", "--config.file="+dir+"/prometheus.yml",
		"--storage.tsdb.path="+dir+"/data", "--web.listen-address="+string(address), "--log.level=error")
	return address
}

// scrapes is the part of a configuration that says what is scraped.
func scrapes(live, fleet string) string {
	return fmt.Sprintf(`scrape_configs:
- job_name: fabricd
  static_configs: [{targets: ['%s'], labels: {instance: live}}]
  http_sd_configs: [{url: 'http://%s/targets', refresh_interval: 2s}]
`, live, fleet)
}

// monitoring starts a Prometheus with the shipped rules, and its Alertmanager.
func monitoring(t *testing.T, live, fleet string) (prometheus, alertmanager server) {
	t.Helper()
	programs := [2]string{need(t, "PROMETHEUS", "prometheus"), need(t, "ALERTMANAGER", "prometheus-alertmanager")}
	dir := t.TempDir()
	quick(t, dir)
	prometheus, alertmanager = server(freePort(t)), server(freePort(t))
	global := ""
	if nativeFirst() {
		global = ", scrape_native_histograms: true"
	}
	conf := fmt.Sprintf(`
global: {scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 1s%s}
rule_files: [fabricd-*.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ['%s']}]}]}
%s`, global, alertmanager, scrapes(live, fleet))
	for name, text := range map[string]string{"prometheus.yml": conf, "alertmanager.yml": "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	background(t, programs[1], "--config.file="+dir+"/alertmanager.yml", "--storage.path="+dir+"/alerts", "--web.listen-address="+string(alertmanager), "--cluster.listen-address=", "--log.level=error")
	background(t, programs[0], "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+string(prometheus), "--log.level=error")
	return prometheus, alertmanager
}

// healthyFilms are films of which nothing is to be warned, with what no still
// picture has: frames of switches, flow control at both ends, a plan, errors of old.
func healthyFilms() []string {
	return []string{
		"139-dcbx-agrees.txtar", "152-one-leaf-a-rail.txtar", "152-front-nics-as-planned.txtar",
		"137-e810-hears-its-switch.txtar", "025c-old-correctable-errors-stand-still.txtar",
	}
}

// recordedFleet links into a directory the recorded hosts that are still pictures
// and of which all is known that is to be warned of, and gives this as alerts;
// and some healthy films.
func recordedFleet(t *testing.T) (dir string, want []string) {
	t.Helper()
	dir = t.TempDir()
	files, _ := filepath.Glob(hosts + "*.txtar")
	cases, _ := filepath.Glob(hosts + "cases/*.txtar")
	nodes, expect := 0, regexp.MustCompile(`(?m)^expect: (\S*)(?:warn|fail)\S* (\S+)`)
	for _, name := range append(files, cases...) {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		expected := expect.FindAllStringSubmatch(string(a.Comment), -1)
		film := slices.ContainsFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "at/") })
		perhaps := slices.ContainsFunc(expected, func(m []string) bool { return strings.Contains(m[1], "info") || strings.Contains(m[1], "ok") })
		if slices.Contains(healthyFilms(), filepath.Base(name)) {
			film, expected = false, nil
		}
		if film || perhaps || !strings.Contains(string(a.Comment), "\nonly: yes") {
			continue
		}
		nodes++
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
		for _, m := range expected {
			if _, exists := known().Thresholds[m[2]]; exists {
				want = append(want, nodeName(name)+" "+m[2])
			}
		}
	}
	if nodes < 50 {
		t.Fatalf("%d nodes are no fleet", nodes)
	}
	return dir, want
}

var e2e = flag.Bool("e2e", os.Getenv("E2E") == "1", "watch a fleet of recorded nodes with a real Prometheus (or E2E=1)")

// A real Prometheus scrapes a daemon and a fleet of recorded nodes. What is
// wrong with them raises the alerts that it should and no other, until it is
// repaired; and a daemon that ends is missed.
func TestAlerts(t *testing.T) {
	if !*e2e {
		t.Skip("takes a minute and the whole machine: make e2e, or go test ./cmd/fabricd -run TestAlerts -e2e")
	}
	fabricd, root := program(t), unpack(t, hosts+"meta-8hca-downgraded.txtar")
	dir, want := recordedFleet(t)
	want = append(want, "live pcie_speed", "live pcie_budget")
	// The tree's interfaces are not this machine's: it has no counters of theirs.
	live, fleet := startDaemon(t, fabricd, "--path.rootfs="+root, "--no-collector.roce"), startDaemon(t, fabricd, "--fleet="+dir)
	prometheus, alertmanager := monitoring(t, live.address(), fleet.address())
	second := prometheus // that with native histograms
	if !nativeFirst() {
		second = native(t, live.address(), fleet.address())
	}

	settled := func(what string, want []string) {
		t.Helper()
		want = slices.Compact(slices.Sorted(slices.Values(want)))
		var diff string
		for stop, same := time.Now().Add(5*time.Minute), 0; same < 6; time.Sleep(500 * time.Millisecond) {
			fire, sent := told(prometheus.series(`ALERTS{alertstate="firing"}`)), told(alertmanager.active())
			if diff = cmp.Diff(want, fire) + cmp.Diff(want, sent); diff == "" {
				same++
				continue
			}
			if same = 0; time.Now().After(stop) {
				t.Fatalf("%s: the alerts that should be and are, in Prometheus and in its Alertmanager:\n%s", what, diff)
			}
		}
	}
	settled("faults", want)
	if n := len(prometheus.series(`up{job="fabricd"} == 1`)); n < 50 {
		t.Errorf("%d nodes are scraped", n)
	}
	everyPanelAnswers(t, prometheus, second)

	// All is repaired, which takes a restart, but for one node.
	rest := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasPrefix(s, "038-") })
	if len(rest) == 0 {
		t.Fatal("nothing is left broken")
	}
	good, err := filepath.Abs(hosts + "meta-8hca-good.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range want {
		name, _, _ := strings.Cut(alert, " ")
		if link := filepath.Join(dir, name+".txtar"); name != "live" && !slices.Contains(rest, alert) {
			os.Remove(link)
			if err := os.Symlink(good, link); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, "sys/bus/pci/devices/0000:8d:00.0/current_link_speed"), []byte("16 GT/s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	fleet.restart(t)
	live.restart(t)
	settled("repaired", rest)

	live.stop()
	settled("gone", append(rest, "live FabricdAbsent"))
}
