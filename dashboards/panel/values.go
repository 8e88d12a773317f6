// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"strconv"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Colours, by what they say. Everything coloured on a board uses these.
const (
	Good    = "green"
	Note    = "blue"
	Warning = "orange"
	Bad     = "red"
	Hidden  = "purple" // not known: never the colour of health
	Quiet   = "text"
	None    = "transparent"
)

// Much colours numbers that are neither good nor bad, the darker the more.
const Much = string(dashboard.FieldColorModeIdContinuousBlues)

// Values of a verdict: those of fabricd_check_status, and two that boards add
// for findings that have no status.
const (
	Muted   = -2
	Unknown = -1
	OK      = 0
	Info    = 1
	Warn    = 2
	Fail    = 3
)

// A Value is how one number is shown.
type Value struct {
	Number int
	Text   string
	Color  string
}

// Verdicts shows the values of a verdict.
func Verdicts() []Value {
	return []Value{
		{Fail, "fail", Bad},
		{Warn, "warn", Warning},
		{Info, "info", Note},
		{OK, "ok", Good},
		{Unknown, "unknown", Hidden},
		{Muted, "muted", Quiet},
	}
}

// Mapping turns values into a Grafana value mapping.
func Mapping(values []Value) []dashboard.ValueMapping {
	m := dashboard.NewValueMap()
	for i, v := range values {
		m.Options[strconv.Itoa(v.Number)] = dashboard.ValueMappingResult{
			Text: &v.Text, Color: &v.Color, Index: new(int32(i)),
		}
	}
	return []dashboard.ValueMapping{{ValueMap: m}}
}

// A Step is a colour and the value from which on it holds.
type Step struct {
	From  float64
	Color string
}

// Thresholds are absolute thresholds: base below the first step.
func Thresholds(base string, steps ...Step) cog.Builder[dashboard.ThresholdsConfig] {
	list := []dashboard.Threshold{{Value: nil, Color: base}}
	for _, s := range steps {
		list = append(list, dashboard.Threshold{Value: &s.From, Color: s.Color})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(list)
}

func colorBy(mode dashboard.FieldColorModeId) cog.Builder[dashboard.FieldColor] {
	return dashboard.NewFieldColorBuilder().Mode(mode)
}

// PortActive is the state of an RDMA port that carries traffic.
const PortActive = 4

// PortStates shows the values of fabricd_rdma_port_state.
func PortStates() []Value {
	return []Value{
		{1, "down", Bad},
		{2, "init", Warning},
		{3, "armed", Warning},
		{PortActive, "active", Good},
		{5, "active, deferred", Note},
	}
}
