// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// maxSize bounds a configuration file: a plan of 10,000 cables is below 1 MiB.
const maxSize = 16 << 20

// A Number is a threshold: a plain number, or a duration such as 10s, which
// counts in seconds.
type Number float64

// UnmarshalYAML reads a number or a duration.
func (n *Number) UnmarshalYAML(node *yaml.Node) error {
	if f, err := strconv.ParseFloat(node.Value, 64); err == nil && node.Kind == yaml.ScalarNode && f >= 0 && f <= 1e18 {
		*n = Number(f)
		return nil
	}
	if d, err := time.ParseDuration(node.Value); err == nil && d >= 0 {
		*n = Number(d.Seconds())
		return nil
	}
	return fmt.Errorf("line %d: %q is neither a number nor a duration", node.Line, node.Value)
}

// Known lists what a configuration may name. Nil parts are not checked.
type Known struct {
	Thresholds map[string][]string // check to the names of its thresholds
	Collectors []string
}

// Load reads and validates the file at name.
func Load(name string, known Known) (*Config, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	return Parse(name, b, known)
}

// Parse reads and validates a configuration. Errors are one line and begin
// with name and, where there is one, the line number.
func Parse(name string, b []byte, known Known) (*Config, error) {
	if len(b) > maxSize {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxSize>>20)
	}
	c := &Config{}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, readable(name, b, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: holds more than one YAML document", name)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(b, &root); err != nil {
		return nil, readable(name, b, err)
	}
	if err := c.validate(&root, known); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return c, nil
}

// readable turns the library's message into one line that a person can use.
func readable(name string, b []byte, err error) error {
	goType := regexp.MustCompile(` (in type|into) [\w.\[\]*]+`)
	lineHead := regexp.MustCompile(`^line (\d+): `)
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	var parts []string
	for line := range strings.SplitSeq(text, "\n") {
		line = goType.ReplaceAllString(strings.TrimSpace(line), "")
		line = strings.Replace(line, "not found", "is not a known key", 1)
		if m := lineHead.FindStringSubmatch(line); m != nil {
			line = m[1] + ": " + strings.TrimPrefix(line, m[0])
		}
		parts = append(parts, line)
	}
	text = strings.Join(parts, "; ")
	if bytes.Contains(b, []byte("\t")) && strings.Contains(text, "character that cannot start any token") {
		text += " (a tab? YAML wants spaces)"
	}
	return fmt.Errorf("%s:%s", name, text)
}

// validate checks what the types alone do not say.
func (c *Config) validate(root *yaml.Node, known Known) error {
	at := func(keys ...string) string {
		return fmt.Sprintf("%d: %s", lineOf(root, keys...), strings.Join(keys, "."))
	}
	for dev, role := range c.Plan.Roles {
		switch role {
		case RoleCompute, RoleStorage, RoleManagement:
		default:
			return fmt.Errorf("%s: %q is not a role (want %s, %s or %s)", at("plan", "roles", dev), role, RoleCompute, RoleStorage, RoleManagement)
		}
	}
	for i, cable := range c.Plan.Cabling {
		if (cable.Port == "") == (cable.Address == "") {
			return fmt.Errorf("%s: a cable names either a port or an address", at("plan", "cabling", strconv.Itoa(i)))
		}
	}
	if p := c.Plan.Ports; p.Count < 0 || p.RateGbps < 0 {
		return fmt.Errorf("%s: count and rate_gbps are not negative", at("plan", "ports"))
	}
	for i, glob := range c.Devices.Exclude {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return fmt.Errorf("%s: %q is not a glob over PCI addresses", at("devices", "exclude", strconv.Itoa(i)), glob)
		}
	}
	for i, m := range c.Mute {
		if err := m.validate(known); err != nil {
			return fmt.Errorf("%s: %w", at("mute", strconv.Itoa(i)), err)
		}
	}
	return c.validateNames(at, known)
}

func (c *Config) validateNames(at func(...string) string, known Known) error {
	for check, numbers := range c.Thresholds {
		names, ok := known.Thresholds[check]
		if known.Thresholds != nil && !ok {
			return fmt.Errorf("%s: there is no check of this name", at("thresholds", check))
		}
		for name := range numbers {
			if known.Thresholds != nil && !slices.Contains(names, name) {
				return fmt.Errorf("%s: the check has no such threshold (%s)", at("thresholds", check, name), listOr(names, "it has none"))
			}
		}
	}
	for name, settings := range c.Collectors {
		if known.Collectors != nil && !slices.Contains(known.Collectors, name) {
			return fmt.Errorf("%s: there is no collector of this name (%s)", at("collectors", name), listOr(known.Collectors, "there are none"))
		}
		if settings.Interval < 0 || settings.Interval > 0 && settings.Interval < time.Millisecond {
			return fmt.Errorf("%s: an interval is at least 1ms", at("collectors", name, "interval"))
		}
	}
	return nil
}

func (m Mute) validate(known Known) error {
	for _, glob := range []string{m.Check, m.Subject} {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is not a glob", glob)
		}
	}
	switch {
	case m.Check == "":
		return errors.New("a mute names a check")
	case m.Reason == "":
		return errors.New("a mute gives its reason: whoever is on call has to understand it")
	}
	if known.Thresholds == nil {
		return nil
	}
	for check := range known.Thresholds {
		if ok, _ := path.Match(m.Check, check); ok {
			return nil
		}
	}
	return fmt.Errorf("no check is named %q", m.Check)
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

// lineOf finds the line of the value at keys; of its nearest parent if it is not there.
func lineOf(n *yaml.Node, keys ...string) int {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line := n.Line
	for _, key := range keys {
		next := child(n, key)
		if next == nil {
			break
		}
		n, line = next, next.Line
	}
	return line
}

func child(n *yaml.Node, key string) *yaml.Node {
	switch n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i < len(n.Content) {
			return n.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	}
	return nil
}
