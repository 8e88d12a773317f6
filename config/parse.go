// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// maxSize bounds a configuration file: a plan of 10,000 cables is below 1 MiB.
const maxSize = 16 << 20

// Known lists what a configuration may name. Nil parts are not checked.
type Known struct {
	Thresholds map[string]map[string]string // check to its thresholds and their units
	Collectors []string
	Slowest    map[string]time.Duration // the longest interval of a collector that has one
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

// Parse reads and validates a configuration. Errors are one line and name the
// first mistake: the file, the line wherever one can be known, and the key.
func Parse(name string, b []byte, known Known) (*Config, error) {
	if len(b) > maxSize {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxSize>>20)
	}
	root, err := nodes(b)
	if errors.Is(err, errDocuments) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return nil, syntaxError(name, b, err)
	}
	c, doc := &Config{}, &document{name: name, known: known}
	err = c.read(value{node: root, doc: doc, line: root.Line})
	// Reading ends at the first other mistake, so that unknown keys precede it.
	if len(doc.unknown) > 0 {
		return nil, fmt.Errorf("%s:%s", name, strings.Join(doc.unknown, "; "))
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

var errDocuments = errors.New("holds more than one YAML document")

// nodes reads the one document of b; an empty file is null.
func nodes(b []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(b))
	root := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	var doc, more yaml.Node
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(doc.Content) > 0 {
		root = *doc.Content[0]
	}
	switch err := d.Decode(&more); {
	case errors.Is(err, io.EOF):
		return &root, nil
	case err != nil && strings.Contains(err.Error(), "<document start>"): // the first did not end here
		return nil, err
	}
	return nil, errDocuments
}

// syntaxError turns the library's message into one that leads to the mistake.
// The library names no line at all, or that on which the list or mapping
// around the mistake began, sometimes counted from zero. So the line is the
// one, from there on, which ends the shortest part of the file with the same
// mistake.
func syntaxError(name string, b []byte, err error) error {
	from, text := libraryError(err)
	lines := slices.Collect(bytes.Lines(b))
	line := from + sort.Search(len(lines)-from, func(i int) bool {
		_, err := nodes(bytes.Join(lines[:from+i], nil))
		if err == nil {
			return false
		}
		_, got := libraryError(err)
		return got == text
	})
	switch {
	case strings.Contains(text, "character that cannot start any token") && line <= len(lines) && bytes.Contains(lines[line-1], []byte("\t")):
		text += " (a tab? YAML wants spaces)"
	case strings.Contains(text, "<document start>"):
		text += " (indented less than the first line?)"
	}
	return fmt.Errorf("%s:%d: %s", name, line, text)
}

// libraryError takes the library's message apart: its line, or 1, and the rest.
func libraryError(err error) (line int, text string) {
	m := regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`).FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	return max(line, 1), strings.Join(strings.Fields(m[2]), " ")
}
