// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"cmp"
	"fmt"

	"github.com/fabricd/fabricd/collectors/pcie"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// linkText says how the link whose lower end f is stands.
func (m *Machine) linkText(c *canvas, t *grown, f *probes.Function) line {
	l := m.tree.LinkOf(f)
	switch {
	case m.lost(f):
		t.used.defect = true
		return line{{"LOST: does not answer", strong}}
	case l == nil && !m.tree.IsDevice(f):
		return nil
	case l == nil && m.inventory.Facts.Guest:
		return line{{"no link visible", faint}}
	case l == nil && f.ParentAddress == "":
		return line{{"integrated, no link", faint}}
	case l == nil:
		return line{{"link not shown", faint}}
	case f != l.Lower:
		return line{{"same link", faint}}
	}
	return append(m.stateText(t, l), m.limitText(c, t, l)...)
}

func (m *Machine) stateText(t *grown, l *topo.Link) line {
	now := m.now(l)
	text := pad(now.String(), 12)
	most := "of " + l.Max.String()
	switch m.status(l) {
	case StatusInner:
		return line{{text, faint}}.add(faint, "(internal)")
	case StatusDefect:
		t.used.defect = true
		return line{{text, strong}}.add(strong, most)
	case StatusMuted:
		return line{{text, plain}}.add(mild, most+" (muted)")
	case StatusIdle:
		t.used.idle = true
		return line{{text, plain}}.add(faint, most+" (idle)")
	case StatusSlot:
		t.used.slot = true
		wanted := ""
		if b := m.limits[l]; b.wanted > 0 {
			wanted = fmt.Sprintf(" of %.0f", b.wanted/1e9)
		}
		return line{{text, plain}}.add(mild, fmt.Sprintf("of %s (slot limit, %.0f%s Gb/s)", l.Lower.Max, now.BitsPerSecond()/1e9, wanted))
	case StatusBelow:
		return line{{text, plain}}.add(mild, most+m.unjudged(l))
	case StatusUnknown:
		return line{{text, mild}}.add(faint, trouble(m.readings[l.Lower.Address]))
	}
	return line{{text, plain}}
}

// unjudged says why nobody can tell whether a link below its maximum is a defect.
func (m *Machine) unjudged(l *topo.Link) string {
	switch {
	case len(l.Devices) == 0:
		return ""
	case l.Upper == nil || m.inventory.Facts.Guest:
		return " (port not visible)"
	}
	return " (not judged)"
}

func trouble(r *pcie.Reading) string {
	switch {
	case r == nil:
		return "not read"
	case r.Asleep:
		return "suspended"
	}
	return cmp.Or(narrow(r.Trouble), "not known")
}

// limitText marks a bottleneck.
func (m *Machine) limitText(c *canvas, t *grown, l *topo.Link) line {
	b, ok := m.limits[l]
	if !ok || m.status(l) == StatusSlot { // which is marked as that
		return nil
	}
	text, s := "bottleneck", mild
	switch b.grade {
	case gradeDefect:
		s = strong
	case gradePlatform:
		text = "limits to"
	}
	t.used.limit = t.used.limit || s == mild
	text = fmt.Sprintf(" %s %s %.0f Gb/s", c.glyphs().mark, text, b.bits/1e9)
	if b.wanted > 0 {
		text += fmt.Sprintf(", ports want %.0f", b.wanted/1e9)
	}
	return line{{text, s}}
}
