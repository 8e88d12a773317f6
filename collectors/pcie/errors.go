// SPDX-License-Identifier: Apache-2.0

package pcie

import "github.com/fabricd/fabricd/collectors"

// An errorRow is one counter of one function.
type errorRow struct {
	address, severity, name string
	metric                  errorMetric
	n                       uint64
}

type errorMetric uint8

const (
	byName errorMetric = iota
	messages
	rootMessages
)

// errorRows lists counters. Those by name are left out while they are zero: a
// host has thousands of them.
func errorRows(_ *collectors.View, list []collectors.Unit[Reading]) []errorRow {
	var rows []errorRow
	for _, u := range list {
		a := u.Reading.AER
		if a == nil {
			continue
		}
		for s := range Fatal + 1 {
			add := func(m errorMetric, name string, n uint64) {
				rows = append(rows, errorRow{u.Name, s.String(), name, m, n})
			}
			if a.Total[s].OK || len(a.Errors[s]) > 0 {
				add(messages, "", a.Sum(s))
			}
			if a.Root[s].OK {
				add(rootMessages, "", a.Root[s].V)
			}
			for _, c := range a.Errors[s] {
				if c.N > 0 {
					add(byName, c.Name, c.N)
				}
			}
		}
	}
	return rows
}

func errorColumns() collectors.Columns[errorRow] {
	address := collectors.Label[errorRow]{Name: "address", Get: func(r *errorRow) string { return r.address }}
	severity := collectors.Label[errorRow]{Name: "severity", Get: func(r *errorRow) string { return r.severity }}
	name := collectors.Label[errorRow]{Name: "error", Get: func(r *errorRow) string { return r.name }}
	get := func(m errorMetric) func(*errorRow) (float64, bool) {
		return func(r *errorRow) (float64, bool) { return float64(r.n), r.metric == m }
	}
	return collectors.Columns[errorRow]{
		Labels: []collectors.Label[errorRow]{address, severity, name},
		Metrics: []collectors.Metric[errorRow]{
			{Name: "pcie_aer_errors_total", Kind: collectors.Counter, Source: "sysfs aer_dev_correctable, aer_dev_nonfatal, aer_dev_fatal",
				Help: "Errors that the function detected, by severity (correctable, nonfatal, fatal) and the kernel's name. A name has a series once it was counted.", Get: get(byName)},
			{Name: "pcie_aer_messages_total", Kind: collectors.Counter, Source: "sysfs aer_dev_*, line TOTAL_ERR_*",
				Help: "Error messages that the function sent, by severity; one may name several errors.", Labels: []collectors.Label[errorRow]{address, severity}, Get: get(messages)},
			{Name: "pcie_aer_rootport_errors_total", Kind: collectors.Counter, Source: "sysfs aer_rootport_total_err_*",
				Help: "Error messages that a root port received from itself and from all below it, by severity.", Labels: []collectors.Label[errorRow]{address, severity}, Get: get(rootMessages)},
		},
	}
}
