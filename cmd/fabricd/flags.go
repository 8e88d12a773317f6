// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
)

// Values that name themselves when they are refused: kingpin's own say what
// is wrong, but not with which flag.

type enumValue struct {
	flag    string
	options []string
	to      *string
}

// enumVar makes a flag or argument one of options; the first is the default.
func enumVar(s kingpin.Settings, flag string, to *string, options ...string) {
	*to = options[0]
	s.SetValue(&enumValue{flag, options, to})
}

func (e *enumValue) String() string { return *e.to }

func (e *enumValue) Set(s string) error {
	if !slices.Contains(e.options, s) {
		return fmt.Errorf("%s %q: want %s", e.flag, s, strings.Join(e.options, ", "))
	}
	*e.to = s
	return nil
}

type durationValue struct {
	flag        string
	least, most time.Duration
	to          *time.Duration
}

// durationVar makes a flag a duration between least and most.
func durationVar(s kingpin.Settings, flag string, to *time.Duration, otherwise, least, most time.Duration) {
	*to = otherwise
	s.SetValue(&durationValue{flag, least, most, to})
}

func (d *durationValue) String() string { return d.to.String() }

func (d *durationValue) Set(s string) error {
	v, err := duration(s)
	if err != nil || v < d.least || v > d.most {
		return fmt.Errorf("%s %q: want a duration from %s to %s, such as %s", d.flag, s, d.least, d.most, d.example())
	}
	*d.to = v
	return nil
}

// example is a duration that is taken.
func (d *durationValue) example() time.Duration {
	if usual := 3 * time.Second; usual >= d.least && usual <= d.most {
		return usual
	}
	return min(10*max(d.least, time.Millisecond), d.most)
}

type numberValue struct {
	flag        string
	least, most int
	to          *int
}

// numberVar makes a flag a whole number between least and most.
func numberVar(s kingpin.Settings, flag string, to *int, otherwise, least, most int) {
	*to = otherwise
	s.SetValue(&numberValue{flag, least, most, to})
}

func (n *numberValue) String() string { return strconv.Itoa(*n.to) }

func (n *numberValue) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < n.least || v > n.most {
		return fmt.Errorf("%s %q: want a whole number from %d to %d", n.flag, s, n.least, n.most)
	}
	*n.to = v
	return nil
}

// duration reads one as Go writes it (1m30s, 0.5s) or Prometheus does (1d, 2w).
func duration(s string) (time.Duration, error) {
	v, err := time.ParseDuration(s)
	if err == nil {
		return v, nil
	}
	if p, other := model.ParseDuration(s); other == nil {
		return time.Duration(p), nil
	}
	return 0, err
}
