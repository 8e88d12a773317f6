// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/collectors/roce"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

func (a *app) readCommand() {
	var names []string
	var format string
	c := a.command("read", "Take one reading and print it as /metrics would; of roce alone, a table for each port. Exit status with collectors named: 3 if not all of what they read could be read.", func() error { return a.read(names, format) })
	c.Flag("format", "metrics, or table (of roce: the default there).").Default("").EnumVar(&format, "", "metrics", "table")
	c.Arg("collector", "Collectors to read; all of them if none is named.").StringsVar(&names)
}

func (a *app) read(names []string, format string) error {
	named := names
	table := format == "table" || format == "" && slices.Equal(names, []string{roce.Name})
	if table && !slices.Equal(names, []string{roce.Name}) {
		return usage("--format table: only roce has one (fabricd read roce)")
	}
	if table { // which shows what rdma counts as well
		names = append(names, rdma.Name)
	}
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
	for _, name := range named {
		switch {
		case !slices.Contains(known().Collectors, name):
			return usage("%s: there is no collector of this name", name)
		case table && !slices.ContainsFunc(list, func(k collectors.Collector) bool { return k.Doc().Name == name }):
			return usage("%s: this collector is switched off (--no-collector.%s, or the configuration)", name, name)
		}
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: list, Config: c, Skip: []string{"*"}, Window: time.Second})
	if err := observe(e, h, list, 500*time.Millisecond); err != nil {
		return err
	}
	if table {
		err = roce.Show(a.stdout, h, e.State().View)
	} else {
		err = a.writeMetrics(e)
	}
	if err != nil {
		return err
	}
	if troubles := e.State().Troubles(); len(names) > 0 && len(troubles) > 0 {
		return exitError{exitUnknown, errors.New("not read: " + strings.Join(troubles, "; "))}
	}
	return nil
}

func (a *app) writeMetrics(e *collectors.Engine) error {
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
	return nil
}
