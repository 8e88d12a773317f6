// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What holds for every machine holds for every recorded one.
func TestEveryHost(t *testing.T) {
	for _, name := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			m := load(t, name)
			checkText(t, m)
			checkCounts(t, m)
			checkJSON(t, m)
			checkCSV(t, m)
			checkDOT(t, m)
			checkNCCL(t, m)
		})
	}
}

func looks() []Look {
	return []Look{
		{}, {Unicode: true}, {All: true}, {Unicode: true, All: true},
		{Width: 80}, {Unicode: true, Width: 80}, {Width: 1000},
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

func checkText(t *testing.T, m *Machine) {
	t.Helper()
	for _, look := range looks() {
		width := min(MaxWidth, max(look.Width, 80))
		if look.Width == 0 {
			width = MaxWidth
		}
		plain := text(t, m, look)
		for line := range strings.Lines(plain) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%+v: %d columns: %q", look, n, line)
			}
			if strings.ContainsFunc(line, unicode.IsControl) || strings.HasSuffix(line, " ") {
				t.Errorf("%+v: control characters or spaces at the end: %q", look, line)
			}
			if !look.Unicode && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
				t.Errorf("%+v: more than ASCII: %q", look, line)
			}
		}
		for _, f := range slices.Concat(m.gpus, m.nics, m.switches) {
			if !strings.Contains(plain, f.Address+" "+m.labels[f]) {
				t.Errorf("%+v: %s %s is missing", look, f.Address, m.labels[f])
			}
		}
		look.Colour = true
		bare := strings.Split(sgr.ReplaceAllString(text(t, m, look), ""), "\n")
		for i := range bare { // the end of a line is trimmed before its last colour ends
			bare[i] = strings.TrimRight(bare[i], " ")
		}
		if diff := cmp.Diff(plain, strings.Join(bare, "\n")); diff != "" {
			t.Errorf("%+v: colours change the text:\n%s", look, diff)
		}
	}
}

var (
	hidden = regexp.MustCompile(`[0-9]+`)
	shown  = regexp.MustCompile(`(?m)^ [ |` + "`" + `-]* ([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) `)
)

// checkCounts counts the functions that text shows and those that it counts.
func checkCounts(t *testing.T, m *Machine) {
	t.Helper()
	for _, all := range []bool{false, true} {
		tree := text(t, m, Look{All: all})
		n := len(shown.FindAllString(tree, -1))
		for line := range strings.Lines(tree) {
			_, counts, found := strings.Cut(line, "not shown: ")
			if found && all {
				t.Errorf("all, but for: %s", line)
			}
			for _, number := range hidden.FindAllString(counts, -1) {
				k, err := strconv.Atoi(number)
				if err != nil {
					t.Error(err)
				}
				n += k
			}
		}
		if n != len(m.inventory.Functions) {
			t.Errorf("all %v: %d functions are shown or counted, there are %d", all, n, len(m.inventory.Functions))
		}
	}
}

func checkJSON(t *testing.T, m *Machine) {
	t.Helper()
	first := written(t, m.WriteJSON)
	var d Document
	decoder := json.NewDecoder(strings.NewReader(first))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil || again.String() != first {
		t.Errorf("JSON changes when it is read and written again: %v", err)
	}
	known := map[string]bool{}
	for _, f := range d.Functions {
		known[f.Address] = true
	}
	for _, l := range d.Links {
		for _, address := range slices.Concat([]string{l.Lower}, l.Functions, l.Devices) {
			if !known[address] {
				t.Errorf("link %s names %s, which is no function", l.Lower, address)
			}
		}
	}
	if want := len(m.gpus) * len(m.nics); len(d.GPUNIC) != want || len(known) != len(m.inventory.Functions) {
		t.Errorf("%d pairs and %d functions, want %d and %d", len(d.GPUNIC), len(known), want, len(m.inventory.Functions))
	}
}

func checkCSV(t *testing.T, m *Machine) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(written(t, m.WriteCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	devices := slices.Concat(m.gpus, m.nics, m.switches)
	if len(rows) != len(devices)+1 || !slices.Equal(rows[0], csvHeader()) {
		t.Fatalf("%d rows for %d devices", len(rows), len(devices))
	}
	for i, f := range devices {
		if rows[i+1][0] != f.Address {
			t.Errorf("row %d is %s, want %s", i+1, rows[i+1][0], f.Address)
		}
	}
}

// render draws with Graphviz, which CI has to have.
func render(t *testing.T, dot string) string {
	t.Helper()
	program, err := exec.LookPath("dot")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI has to install graphviz")
		}
		t.Skip("graphviz is not installed")
	}
	c := exec.Command(program, "-Tsvg")
	var trouble bytes.Buffer
	c.Stdin, c.Stderr = strings.NewReader(dot), &trouble
	svg, err := c.Output()
	if err != nil || trouble.Len() > 0 {
		t.Fatalf("dot: %v: %s", err, trouble.String())
	}
	return string(svg)
}

func checkDOT(t *testing.T, m *Machine) {
	t.Helper()
	for _, all := range []bool{false, true} {
		svg := render(t, written(t, func(w io.Writer) error { return m.WriteDOT(w, all) }))
		for _, f := range slices.Concat(m.gpus, m.nics, m.switches) {
			if !strings.Contains(svg, f.Address) {
				t.Errorf("all %v: the drawing lacks %s", all, f.Address)
			}
		}
	}
}
