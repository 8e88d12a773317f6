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

	"github.com/fabricd/fabricd/dashboards/node"
)

// A board is a dashboard and the file it is kept in.
type board struct {
	file  string
	build func() (dashboard.Dashboard, error)
}

// boards lists all boards.
func boards() []board {
	return []board{
		{"fabricd-node.json", node.Board},
	}
}

func main() {
	out := flag.String("o", ".", "the directory to write to")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	for _, b := range boards() {
		raw, err := b.encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, b.file), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (b board) encode() ([]byte, error) {
	d, err := b.build()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file, err)
	}
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file, err)
	}
	return append(raw, '\n'), nil
}
