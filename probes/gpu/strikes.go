// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// strikes are a part's misdeeds.
type strikes struct {
	count int
	until time.Time // left out until then; zero: for good
}

const maxStrikes = 2

// blame notes the part in which a child died or hung. What happened twice is
// left out: what kills the child for good, what hangs for a while, since a
// driver can recover.
func (c *Client) blame(err error) {
	var died errDied
	var hung errHung
	var until time.Time
	part := ""
	switch {
	case errors.As(err, &died):
		part = died.doing
	case errors.As(err, &hung):
		part, until = hung.doing, time.Now().Add(c.pace.forgive)
	}
	if part == "" {
		return
	}
	s := c.without[part]
	if s == nil {
		s = &strikes{}
		c.without[part] = s
	}
	s.count, s.until = s.count+1, until
}

// avoided lists the parts to leave out, sorted.
func (c *Client) avoided(now time.Time) []string {
	maps.DeleteFunc(c.without, func(_ string, s *strikes) bool {
		return !s.until.IsZero() && now.After(s.until)
	})
	var list []string
	for part, s := range c.without {
		if s.count >= maxStrikes {
			list = append(list, part)
		}
	}
	slices.Sort(list)
	return list
}
