// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v3"
)

// Limits are the thresholds of the daemon's checks, by check and name, with the
// defaults that its reference configuration states. A board asks here, so that
// no number is typed twice.
type Limits map[string]map[string]float64

// ReadLimits reads the reference configuration.
func ReadLimits(path string) (Limits, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reference struct{ Thresholds Limits }
	if err := yaml.Unmarshal(raw, &reference); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(reference.Thresholds) == 0 {
		return nil, fmt.Errorf("%s states no threshold", path)
	}
	return reference.Thresholds, nil
}

// Of gives a threshold. A board that asks for one that does not exist is a
// mistake in this module, which its tests show.
func (l Limits) Of(check, name string) float64 {
	value, ok := l[check][name]
	if !ok {
		panic("no threshold " + name + " of " + check)
	}
	return value
}

// Share gives a threshold in percent as a fraction.
func (l Limits) Share(check, name string) float64 { return l.Of(check, name) / 100 }
