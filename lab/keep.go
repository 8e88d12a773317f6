// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"golang.org/x/tools/txtar"
)

// keep writes a recording below a folder, unless it has no name, as collectors/testdata/hosts has them: with all that fabricd
// said but for what is well, which the machine itself was found to deserve. What the files leave out may not matter.
func (r *run) keep(ctx context.Context, dir, name, recording string, findings []collectors.Finding) error {
	if dir == "" {
		return nil
	}
	slim, err := slimmed(recording)
	if err != nil {
		return err
	}
	again, err := r.judge(ctx, string(slim))
	if err != nil {
		return err
	}
	if wrong := differ(findings, again.Findings, true); len(wrong) > 0 {
		return fmt.Errorf("a recording that is kept leaves out too much: %w", mismatch(wrong))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "source: lab, scenario %s, after its step %s, on Debian's %s\nsymptom: %s\n", r.scenario.Name, r.Name, r.Release(), r.scenario.About)
	for _, line := range r.expectations(again.Findings) {
		b.WriteString(line)
	}
	b.WriteString("only: yes\n")
	b.Write(slim)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "lab-"+strings.ReplaceAll(name, " ", "-")+".txtar"), b.Bytes(), 0o644)
}

// expectations are what was wanted of the machine, as far as it is true at the end, and all findings that are not well.
func (r *run) expectations(findings []collectors.Finding) []string {
	var list []string
	for i := range findings {
		f := &findings[i]
		wanted := slices.IndexFunc(r.Want, func(w Want) bool { return w.matches(f) })
		if wanted < 0 && f.Status == collectors.OK || len(f.Subject) == 0 {
			continue
		}
		line := fmt.Sprintf("expect: %s %s %s\n", f.Status, f.Check, subject(f))
		if wanted >= 0 {
			for _, words := range r.Want[wanted].says {
				line += "says: " + words + "\n"
			}
		}
		if !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}

// subject is the value of a finding's subject that names it best: the last that is an address, or the first.
func subject(f *collectors.Finding) string {
	value := f.Subject[0].Value
	for _, p := range f.Subject {
		if p.Value != "" && p.Name == "address" {
			value = p.Value
		}
	}
	return value
}

// slimmed leaves out what changes all the time and matters to nothing that the lab breaks, and the zeros at the end of config
// spaces: they are what makes recordings large.
func slimmed(recording string) ([]byte, error) {
	archive := txtar.Parse([]byte(recording))
	var kept []txtar.File
	marks := map[string]bool{}
	for _, f := range archive.Files {
		mark := markOf(f.Name)
		switch {
		case f.Name == "manifest.json":
			data, err := slimManifest(f.Data)
			if err != nil {
				return nil, err
			}
			f.Data = data
		case path.Base(f.Name) == "config.hex":
			f.Data = cutZeros(f.Data)
		case mark != "" && restless(f.Name):
			if marks[mark] {
				continue
			}
			f = txtar.File{Name: mark + "rm"} // the machine was looked at then
		}
		marks[mark] = true
		kept = append(kept, f)
	}
	archive.Files = kept
	return txtar.Format(archive), nil
}

// markOf is the beginning of the names of a moment's entries, or empty.
func markOf(name string) string {
	if f := strings.SplitN(name, "/", 3); f[0] == "at" && len(f) == 3 {
		return f[0] + "/" + f[1] + "/"
	}
	return ""
}

// restless tells of files that are others at each mark.
func restless(name string) bool {
	base := path.Base(name)
	return base == "meminfo" || base == "numastat" || base == "interrupts" || base == "softnet_stat" || base == "modules" || strings.Contains(name, "/statistics/")
}

// slimManifest takes out what says how much follows, and what was refused to nobody.
func slimManifest(text []byte) ([]byte, error) {
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	for _, key := range []string{"files", "bytes", "capabilities", "left_out"} {
		delete(m, key)
	}
	slim, err := json.MarshalIndent(m, "", "  ")
	return append(slim, '\n'), err
}

// cutZeros cuts lines of zeros at the end, of hex digits.
func cutZeros(hex []byte) []byte {
	lines := bytes.SplitAfter(hex, []byte("\n"))
	for n := len(lines); n > 0 && len(bytes.Trim(lines[n-1], "0\n")) == 0; n-- {
		lines = lines[:n-1]
	}
	return bytes.Join(lines, nil)
}
