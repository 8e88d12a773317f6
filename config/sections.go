// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

func (c *Config) read(v value) error {
	return v.fields(map[string]reader{
		"plan":       c.Plan.read,
		"thresholds": table(&c.Thresholds, readThresholds),
		"mute":       list(&c.Mute, (*Mute).read),
		"collectors": table(&c.Collectors, (*Collector).read),
		"devices":    c.Devices.read,
		"budget":     c.Budget.read,
	})
}

func (p *Plan) read(v value) error {
	return v.fields(map[string]reader{
		"cabling":      p.readCabling,
		"cabling_file": text(&p.CablingFile),
		"ports":        p.Ports.read,
		"roles":        table(&p.Roles, readRole),
	})
}

// readCabling refuses two cables of one port. That a port goes by two names
// only the machine knows.
func (p *Plan) readCabling(v value) error {
	lines := map[[2]string]int{}
	return list(&p.Cabling, func(c *Cable, v value) error {
		if err := c.read(v); err != nil {
			return err
		}
		name := [2]string{c.Port, c.Address}
		if first, twice := lines[name]; twice {
			return v.errorf("port %q already has a cable at line %d", c.Port+c.Address, first)
		}
		lines[name] = v.line
		return nil
	})(v)
}

func (c *Cable) read(v value) error {
	err := v.fields(map[string]reader{
		"port":        text(&c.Port),
		"address":     text(&c.Address),
		"switch":      text(&c.Switch),
		"switch_port": text(&c.SwitchPort),
		"rail":        c.readRail,
	})
	switch {
	case err != nil:
		return err
	case (c.Port == "") == (c.Address == ""):
		return v.errorf("a cable names either a port or an address")
	case c.Address != "" && !isAddress(c.Address):
		return v.errorf("%q is no PCI address (want one such as 0000:18:00.0)", c.Address)
	case !c.Leads() && c.Rail == nil:
		return v.errorf("the cable of %q leads nowhere: it names its switch, the switch's port, or its rail", c.Port+c.Address)
	}
	return nil
}

// Leads says whether the plan knows where the cable leads; it may give the
// rail alone.
func (c *Cable) Leads() bool { return strings.TrimSpace(c.Switch+c.SwitchPort) != "" }

func (c *Cable) readRail(v value) error {
	c.Rail = new(int)
	if err := whole(c.Rail)(v); err != nil {
		return err
	}
	if *c.Rail < 0 {
		return v.errorf("a rail is not negative")
	}
	return nil
}

func (p *Ports) read(v value) error {
	positive := func(read reader) reader {
		return func(field value) error {
			if err := read(field); err != nil {
				return err
			}
			if p.Count < 0 || p.RateGbps < 0 {
				v.line = field.line
				return v.errorf("count and rate_gbps are not negative")
			}
			return nil
		}
	}
	return v.fields(map[string]reader{
		"count":     positive(whole(&p.Count)),
		"rate_gbps": positive(number(&p.RateGbps)),
	})
}

func readRole(to *string, v value) error {
	*to = v.node.Value
	switch *to {
	case RoleCompute, RoleStorage, RoleManagement:
		return nil
	}
	return v.errorf("%s is not a role (want %s, %s or %s)", v, RoleCompute, RoleStorage, RoleManagement)
}

func readThresholds(to *map[string]Number, check value) error {
	known := check.doc.known.Thresholds
	units, ok := known[check.key]
	if known != nil && !ok {
		return check.errorf("there is no check of this name")
	}
	return table(to, func(n *Number, v value) error {
		unit, ok := units[v.key]
		if known != nil && !ok {
			return v.errorf("the check has no such threshold (%s)", listOr(slices.Sorted(maps.Keys(units)), "it has none"))
		}
		if err := n.read(v); err != nil {
			return err
		}
		if strings.HasPrefix(unit, "percent") && *n > 100 {
			return v.errorf("%s is more than 100 %s", v, unit)
		}
		return nil
	})(check)
}

func (m *Mute) read(v value) error {
	err := v.fields(map[string]reader{
		"check":   text(&m.Check),
		"subject": text(&m.Subject),
		"reason":  text(&m.Reason),
		"until":   date(&m.Until),
	})
	if err != nil {
		return err
	}
	if err := m.validate(v.doc.known); err != nil {
		return v.errorf("%w", err)
	}
	return nil
}

func (m *Mute) validate(known Known) error {
	for _, glob := range []string{m.Check, m.Subject} {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is not a glob", glob)
		}
	}
	switch {
	case m.Check == "":
		return errors.New("a mute names a check")
	case m.Reason == "":
		return errors.New("a mute gives its reason: whoever is on call has to understand it")
	}
	if known.Thresholds == nil {
		return nil
	}
	for check := range known.Thresholds {
		if ok, _ := path.Match(m.Check, check); ok {
			return nil
		}
	}
	return fmt.Errorf("no check is named %q", m.Check)
}

func (c *Collector) read(v value) error {
	if known := v.doc.known.Collectors; known != nil && !slices.Contains(known, v.key) {
		return v.errorf("there is no collector of this name (%s)", listOr(known, "there are none"))
	}
	return v.fields(map[string]reader{
		"interval": interval(&c.Interval, v.doc.known.Slowest[v.key]),
		"enabled":  boolean(&c.Enabled),
	})
}

func (d *Devices) read(v value) error {
	return v.fields(map[string]reader{"exclude": list(&d.Exclude, readGlob)})
}

func (b *Budget) read(v value) error {
	return v.fields(map[string]reader{"device": percent(&b.Device), "all": percent(&b.All), "judge": percent(&b.Judge)})
}

func readGlob(to *string, v value) error {
	*to = v.node.Value
	if _, err := path.Match(*to, ""); err != nil || *to == "" || v.null() {
		return v.errorf("%s is not a glob over PCI addresses", v)
	}
	return nil
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}
