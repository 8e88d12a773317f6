// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// A Panel is a panel of any kind, not yet placed.
type Panel = cog.Builder[dashboard.Panel]

// A Row is a titled row of the board and the panels below it, left to right;
// a line of the grid is full at 24.
type Row struct {
	Title  string
	Panels []Panel
}

// AddRows puts rows on the board and numbers rows and panels from 1, in order.
func AddRows(board *dashboard.DashboardBuilder, rows []Row) {
	var id uint32
	for _, row := range rows {
		id++
		board.WithRow(dashboard.NewRowBuilder(row.Title).Id(id))
		for _, p := range row.Panels {
			id++
			board.WithPanel(numbered{p, id})
		}
	}
}

// numbered gives a panel its id when it is built.
type numbered struct {
	Panel
	id uint32
}

func (n numbered) Build() (dashboard.Panel, error) {
	p, err := n.Panel.Build()
	p.Id = &n.id
	return p, err
}
