// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/queue"
	probe "github.com/fabricd/fabricd/probes/queue"
)

// Bounds of the strips: five minutes of the interfaces whose queues were
// occupied most.
const (
	maxStrips    = 8
	stripSeconds = 5 // of a cell
	stripCells   = 60
	stripRows    = 8  // of depths, each four times the one below
	stripLevels  = 4  // of darkness
	lowestRow    = 10 // bits: up to 1 KiB
)

// A strip is the last minutes of an interface's transmit queues as a picture of
// time and depth: the darker, the more samples found so many bytes in flight.
type strip struct {
	Netdev, Text string
	Levels       [stripLevels]string // the path of each darkness, the palest first
	busy         uint64
}

// A cell is how many samples of a few seconds found which depth.
type cell struct {
	rows [stripRows]uint64
	all  uint64
}

// strips draws the interfaces whose queues had something in flight.
func strips(v *collectors.View) []strip {
	reading := collectors.Reading[queue.Reading](v, "queue")
	if reading == nil {
		return nil
	}
	var list []strip
	for i := range reading.Netdevs {
		if s := newStrip(reading.Netdevs[i].Name, reading.Netdevs[i].Heat); s.busy > 0 {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b strip) int { return cmp.Compare(b.busy, a.busy) })
	return list[:min(len(list), maxStrips)]
}

func newStrip(name string, columns []probe.Column) strip {
	s := strip{Netdev: name}
	if len(columns) == 0 {
		return s
	}
	// A cell that is not over yet is left out: it would change each second.
	end := columns[len(columns)-1].Time.Unix() / stripSeconds
	var cells [stripCells]cell
	var all uint64
	deepest := -1
	for i := range columns {
		at := stripCells - int(end-columns[i].Time.Unix()/stripSeconds)
		if at < 0 || at >= stripCells {
			continue
		}
		for bucket, n := range columns[i].Counts {
			cells[at].all += uint64(n)
			all += uint64(n)
			if bucket > 0 && n > 0 {
				cells[at].rows[rowOf(bucket)] += uint64(n)
				s.busy += uint64(n)
				deepest = max(deepest, bucket)
			}
		}
	}
	if s.busy > 0 {
		s.Text = fmt.Sprintf("bytes in flight in %.2g %% of samples, up to %s", 100*float64(s.busy)/float64(all), size(deepest))
		s.draw(&cells)
	}
	return s
}

// rowOf gives the row of a bucket, which holds what is at most 2^(bucket-1) bytes.
func rowOf(bucket int) int { return min(max(0, bucket-lowestRow)/2, stripRows-1) }

func size(bucket int) string {
	n := bucket - 1
	return fmt.Sprintf("%d %s", 1<<(n%10), [...]string{"bytes", "KiB", "MiB", "GiB", "TiB"}[min(n/10, 4)])
}

// level says how dark a share is.
func level(n, all uint64) int {
	switch {
	case n == 0:
		return -1
	case 2*n >= all:
		return 3
	case 10*n >= all:
		return 2
	case 100*n >= all:
		return 1
	}
	return 0
}

// draw makes a path of all cells of a level: equal neighbours are one rectangle.
func (s *strip) draw(cells *[stripCells]cell) {
	var paths [stripLevels]strings.Builder
	for row := range stripRows {
		for x := 0; x < stripCells; {
			from, l := x, level(cells[x].rows[row], cells[x].all)
			for x < stripCells && level(cells[x].rows[row], cells[x].all) == l {
				x++
			}
			if l >= 0 {
				fmt.Fprintf(&paths[l], "M%d %dh%dv1h-%dz", from, stripRows-1-row, x-from, x-from)
			}
		}
	}
	for l := range paths {
		s.Levels[l] = paths[l].String()
	}
}
