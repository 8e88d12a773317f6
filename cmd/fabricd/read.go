// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

func (a *app) readCommand() {
	var names []string
	c := a.command("read", "Take one reading and print it as /metrics would. Exit status with collectors named: 3 if not all of what they read could be read.", func() error { return a.read(names) })
	c.Arg("collector", "Collectors to read; all of them if none is named.").StringsVar(&names)
}

func (a *app) read(names []string) error {
	h, c, err := a.open()
	if err != nil {
		return err
	}
	var list []collectors.Collector
	for _, k := range a.enabled(c) {
		if len(names) == 0 || slices.Contains(names, k.Doc().Name) {
			list = append(list, k)
		}
	}
	for _, name := range names {
		if !slices.Contains(known().Collectors, name) {
			return usage("%s: there is no collector of this name", name)
		}
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: list, Config: c, Skip: []string{"*"}, Window: time.Second})
	if err := observe(e, h, list, 500*time.Millisecond); err != nil {
		return err
	}
	r := prometheus.NewRegistry()
	if err := e.Register(r); err != nil {
		return err
	}
	families, err := r.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(a.stdout, f); err != nil {
			return err
		}
	}
	if troubles := e.State().Troubles(); len(names) > 0 && len(troubles) > 0 {
		return exitError{exitUnknown, errors.New("not read: " + strings.Join(troubles, "; "))}
	}
	return nil
}
