// SPDX-License-Identifier: Apache-2.0

// Command dashboards writes fabricd's Grafana boards as JSON files, which
// Grafana imports or provisions. The same source gives the same bytes.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/cabling"
	"github.com/fabricd/fabricd/dashboards/fleet"
	"github.com/fabricd/fabricd/dashboards/health"
	"github.com/fabricd/fabricd/dashboards/node"
	"github.com/fabricd/fabricd/dashboards/panel"
)

// A board is a dashboard and the file it is kept in.
type board struct {
	file  string
	build func(panel.Limits) (dashboard.Dashboard, error)
}

// boards lists all boards.
func boards() []board {
	return []board{
		{"fabricd-fleet.json", fleet.Board},
		{"fabricd-node.json", node.Board},
		{"fabricd-cabling.json", cabling.Board},
		{"fabricd-health.json", health.Board},
	}
}

// reference is the daemon's reference configuration, which is generated too: the
// boards take the checks' thresholds from there.
const reference = "../docs/fabricd.yaml"

func main() {
	out := flag.String("o", ".", "the directory to write to")
	config := flag.String("config", reference, "the daemon's reference configuration")
	flag.Parse()
	if err := write(*out, *config); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func write(dir, config string) error {
	limits, err := panel.ReadLimits(config)
	if err != nil {
		return err
	}
	for _, b := range boards() {
		raw, err := b.encode(limits)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, b.file), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (b board) encode(limits panel.Limits) ([]byte, error) {
	d, err := b.build(limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file, err)
	}
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file, err)
	}
	return append(raw, '\n'), nil
}
