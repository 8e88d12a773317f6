// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// reference holds every key, as the manual explains them.
const reference = `# What the machine should look like.
plan:
  # Where each port should lead: the port by its interface or its PCI address.
  cabling:
    - {port: enp25s0np0, switch: leaf-01, switch_port: Ethernet12}
    - address: "0000:18:00.0"
      switch: leaf-01
      switch_port: Ethernet12
      rail: 0
  # How many compute ports there are, and the rate of each.
  ports: {count: 8, rate_gbps: 400}
  # compute, storage or management; by interface, RDMA device or PCI address.
  roles:
    enp1s0f0: management
    mlx5_4: storage
    "0000:5e:00.0": compute

# Numbers that differ from a check's defaults: a plain number in the check's
# unit, or a duration.
thresholds:
  pcie_flaps: {changes: 20, within: 15m}
  pcie_speed: {busy: 12.5}

# Known findings that shall not alarm.
mute:
  - check: pcie_width
    subject: "0000:8d:00.0"
    reason: x8 riser, replacement ordered (OPS-4711)
    until: 2026-12-31
  - {check: pcie_*, reason: bench machine}

collectors:
  pcie: {interval: 2s}
  gpu: {enabled: false}

devices:
  # Globs over PCI addresses: what matches is never opened.
  exclude:
    - "0000:c1:*"
    - "10000:*"

# Percent.
budget: {device: 0.5, all: 10, judge: 100}
`

func everything() Known {
	return Known{
		Thresholds: map[string]map[string]string{"pcie_flaps": {"changes": "changes", "within": "seconds"}, "pcie_speed": {"busy": "percent of time"}, "pcie_width": nil},
		Collectors: []string{"pcie", "gpu"},
		Slowest:    map[string]time.Duration{"gpu": time.Second},
	}
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	zero, off := 0, false
	want := &Config{
		Plan: Plan{
			Cabling: []Cable{
				{Port: "enp25s0np0", Switch: "leaf-01", SwitchPort: "Ethernet12"},
				{Address: "0000:18:00.0", Switch: "leaf-01", SwitchPort: "Ethernet12", Rail: &zero},
			},
			Ports: Ports{Count: 8, RateGbps: 400},
			Roles: map[string]string{"enp1s0f0": RoleManagement, "mlx5_4": RoleStorage, "0000:5e:00.0": RoleCompute},
		},
		Thresholds: map[string]map[string]Number{"pcie_flaps": {"changes": 20, "within": 900}, "pcie_speed": {"busy": 12.5}},
		Mute: []Mute{
			{Check: "pcie_width", Subject: "0000:8d:00.0", Reason: "x8 riser, replacement ordered (OPS-4711)", Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)},
			{Check: "pcie_*", Reason: "bench machine"},
		},
		Collectors: map[string]Collector{"pcie": {Interval: 2 * time.Second}, "gpu": {Enabled: &off}},
		Devices:    Devices{Exclude: []string{"0000:c1:*", "10000:*"}},
		Budget:     Budget{Device: 0.5, All: 10, Judge: 100},
	}
	got, err := Parse("fabricd.yaml", []byte(reference), everything())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// The documented file is valid and changes nothing, and its examples are valid.
func TestParseDocumented(t *testing.T) {
	t.Parallel()
	c, err := Load("../docs/fabricd.yaml", Known{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Plan.Cabling)+len(c.Plan.Roles)+len(c.Mute)+len(c.Devices.Exclude) > 0 || c.Plan.Ports != (Ports{}) || len(c.Thresholds) == 0 || len(c.Collectors) == 0 {
		t.Errorf("%+v", c)
	}
	b, err := os.ReadFile("../docs/fabricd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for line := range strings.Lines(string(b)) {
		example, ok := strings.CutPrefix(strings.TrimSpace(line), "# - ")
		if !ok {
			continue
		}
		examples++
		text := "plan: {cabling: [" + example + "]}"
		if strings.Contains(example, "check:") {
			text = "mute: [" + example + "]"
		}
		if _, err := Parse("example", []byte(text), Known{}); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
	if examples < 3 {
		t.Errorf("only %d examples", examples)
	}
}

// What a section holds may be left out, and so may the sections.
func TestParseEmpty(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "\n\n", "# nothing yet\n", "---\n", "{}", "null", "---\n...\n", "\xef\xbb\xbf", "\xef\xbb\xbf# with a byte order mark\n",
		"plan:\nthresholds:\nmute:\ncollectors:\ndevices:\nbudget:\n",
		"plan: {cabling: [], ports: {}, roles: {}}\nthresholds: {}\nmute: []\ncollectors: {}\ndevices: {exclude: []}\n",
		"plan: {cabling: , ports: , roles: }\ndevices: {exclude: }\n",
	} {
		got, err := Parse("f", []byte(in), everything())
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got.Plan.Names("eth0") || got.Threshold("pcie_speed", "busy", 10) != 10 || len(got.Mute)+len(got.Collectors)+len(got.Devices.Exclude)+len(got.Plan.Cabling) > 0 {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		check    func(*Config) bool
	}{
		{"byte order mark", "\xef\xbb\xbfplan: {ports: {count: 8}}\n", func(c *Config) bool { return c.Plan.Ports.Count == 8 }},
		{"windows line ends", "plan:\r\n  ports:\r\n    count: 8\r\n", func(c *Config) bool { return c.Plan.Ports.Count == 8 }},
		{"JSON", `{"plan": {"ports": {"count": 8, "rate_gbps": 0.5}}}`, func(c *Config) bool { return c.Plan.Ports == Ports{8, 0.5} }},
		{"anchors", "plan:\n  cabling:\n  - &a {port: eth0, switch: s}\n  - {<<: *a, port: eth1}\n", func(c *Config) bool { return c.Plan.Cabling[1] == Cable{Port: "eth1", Switch: "s"} }},
		{"anchors of anchors", "plan:\n  cabling:\n  - &a {port: eth0, switch: s, rail: 1}\n  - &b {<<: *a, port: eth1, rail: 2}\n  - {port: eth2, <<: [*b, *a]}\n", func(c *Config) bool {
			return c.Plan.Cabling[2].Port == "eth2" && c.Plan.Cabling[2].Switch == "s" && *c.Plan.Cabling[2].Rail == 2
		}},
		{"merged with itself", "plan: {ports: &a {count: 8, <<: [*a, *a]}}\n", func(c *Config) bool { return c.Plan.Ports.Count == 8 }},
		{"until with a time", "mute: [{check: pcie_width, reason: r, until: 2026-12-31T18:00:00+01:00}]", func(c *Config) bool {
			return c.Mute[0].Until.Equal(time.Date(2026, 12, 31, 17, 0, 0, 0, time.UTC))
		}},
		{"until as a quoted time", `mute: [{check: pcie_width, reason: r, until: "2026-12-31T18:00:00Z"}]`, func(c *Config) bool {
			return c.Mute[0].Until.Equal(time.Date(2026, 12, 31, 18, 0, 0, 0, time.UTC))
		}},
		{"without until", "mute: [{check: pcie_width, reason: r}]", func(c *Config) bool { return c.Mute[0].Until.IsZero() }},
		{"smallest interval", "collectors: {pcie: {interval: 1ms, enabled: true}}", func(c *Config) bool {
			return c.Collectors["pcie"].Interval == time.Millisecond && *c.Collectors["pcie"].Enabled
		}},
		{"rail", "plan: {cabling: [{port: a, rail: 7}]}", func(c *Config) bool { return *c.Plan.Cabling[0].Rail == 7 }},
	}
	for _, test := range tests {
		c, err := Parse("f", []byte(test.in), everything())
		if err != nil || !test.check(c) {
			t.Errorf("%s: %+v, %v", test.name, c, err)
		}
	}
}

// Nil lists of what is known are not checked.
func TestParseUnknowing(t *testing.T) {
	t.Parallel()
	const in = "thresholds: {any: {thing: 1}}\ncollectors: {any: {interval: 1s}}\nmute: [{check: any, reason: r}]\n"
	if _, err := Parse("f", []byte(in), Known{}); err != nil {
		t.Error(err)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Number // negative: an error
	}{
		{"0", 0}, {"1", 1}, {"2.5", 2.5}, {"1e3", 1000}, {".5", .5}, {"1e18", 1e18}, {`"3"`, 3}, {"0s", 0},
		{"10s", 10}, {"5m", 300}, {"1h30m", 5400}, {"250ms", .25}, {"1µs", 1e-6}, {`"10s"`, 10},
		{"-1", -1}, {"-10s", -1}, {".nan", -1}, {"NaN", -1}, {".inf", -1}, {"Inf", -1}, {"-.inf", -1}, {"1e19", -1}, {"1e999", -1},
		{"10 s", -1}, {"ten", -1}, {"10%", -1}, {"1,5", -1}, {"true", -1}, {`""`, -1}, {"[1]", -1}, {"{a: 1}", -1}, {"99999999999h", -1},
		{"", -1}, {"~", -1}, {"null", -1}, // a number that was forgotten is not zero
	}
	for _, test := range tests {
		c, err := Parse("f", []byte("thresholds:\n  pcie_flaps:\n    within: "+test.in+"\n"), everything())
		switch {
		case test.want < 0 && err == nil:
			t.Errorf("%q is taken for %v", test.in, c.Thresholds["pcie_flaps"]["within"])
		case test.want >= 0 && err != nil:
			t.Errorf("%q: %v", test.in, err)
		case test.want >= 0 && c.Threshold("pcie_flaps", "within", -1) != float64(test.want):
			t.Errorf("%q is %v, want %v", test.in, c.Thresholds["pcie_flaps"]["within"], test.want)
		}
	}
}
