// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// makeFleet writes the recordings: some healthy nodes, and a node for each of
// deploy/demo's faults.
func makeFleet(root, dir string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for i := range healthy {
		base := []string{"meta-8hca-good", "hgx-h100-8gpu"}[i%2]
		if err := os.Symlink(recording(root, base), filepath.Join(dir, fmt.Sprintf("node-%02d.txtar", i+1))); err != nil {
			return err
		}
	}
	faults, err := filepath.Glob(filepath.Join(root, "deploy/demo/*.txtar"))
	if err != nil || len(faults) == 0 {
		return fmt.Errorf("%s/deploy/demo holds no faults: is this the repository's root?", root)
	}
	for _, name := range faults {
		film, err := compose(root, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), film, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func recording(root, name string) string {
	return filepath.Join(root, "collectors/testdata/hosts", name+".txtar")
}

// compose makes a film of two minutes, with a mark every ten seconds, of a
// recorded host and what happens to it.
func compose(root, fault string) ([]byte, error) {
	text, err := os.ReadFile(fault)
	if err != nil {
		return nil, err
	}
	comment, changes, _ := bytes.Cut(text, []byte("\n-- "))
	base, _, _ := strings.Cut(strings.TrimPrefix(string(comment), "base: "), "\n")
	film, err := os.ReadFile(recording(root, base))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fault, err)
	}
	film = append(append(film, "-- "...), changes...)
	for at := 10; at < 120; at += 10 {
		film = fmt.Appendf(film, "-- at/%ds/proc/loadavg --\n0.%02d 0.20 0.20 1/900 %d\n", at, at%100, at)
	}
	return film, nil
}

// configure writes Prometheus' configuration and fabricd's rules, whose
// minutes of patience become seconds.
func configure(root, dir, fleet string) error {
	rules, err := filepath.Glob(filepath.Join(root, "deploy/prometheus/fabricd-*.yml"))
	if err != nil {
		return err
	}
	minutes := regexp.MustCompile(`(?m)^( +(?:for|keep_firing_for): \d+)m$`)
	for _, name := range rules {
		if strings.HasSuffix(name, "_test.yml") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), minutes.ReplaceAll(b, []byte("${1}s")), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "prometheus.yml"), fmt.Appendf(nil, `
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [fabricd-*.yml]
scrape_configs:
- job_name: fabricd
  http_sd_configs: [{url: 'http://%s/targets', refresh_interval: 2s}]
`, fleet), 0o644)
}
