// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// columns is the width of Grafana's grid.
const columns = 24

// A box is something placed on the grid.
type box struct {
	name string
	pos  dashboard.GridPos
}

// grid reports panels outside of the grid, without size, or over each other.
func grid(d dashboard.Dashboard) error {
	var faults []error
	var boxes []box
	for _, p := range d.Panels {
		b, err := place(p)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, other := range boxes {
			if overlap(b.pos, other.pos) {
				faults = append(faults, fmt.Errorf("%s: lies over %s", b.name, other.name))
			}
		}
		boxes = append(boxes, b)
	}
	return errors.Join(faults...)
}

func place(p dashboard.PanelOrRowPanel) (box, error) {
	var name string
	var pos *dashboard.GridPos
	if p.RowPanel != nil {
		name, pos = rowTitle(*p.RowPanel), p.RowPanel.GridPos
	} else {
		name, pos = title(*p.Panel), p.Panel.GridPos
	}
	switch {
	case pos == nil:
		return box{}, fmt.Errorf("%s: not placed", name)
	case pos.W == 0 || pos.H == 0:
		return box{}, fmt.Errorf("%s: no size", name)
	case pos.X+pos.W > columns:
		return box{}, fmt.Errorf("%s: ends at column %d of %d", name, pos.X+pos.W, columns)
	}
	return box{name, *pos}, nil
}

func overlap(a, b dashboard.GridPos) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}
