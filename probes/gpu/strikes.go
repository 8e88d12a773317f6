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
	until time.Time // remembered until then
	why   string    // the last one
}

const maxStrikes = 2

// blame notes the part in which a child died or hung. What happened twice is
// left out for a while: a driver can recover from a hang in minutes, and from
// what kills its callers when it is replaced. A child that somebody else
// killed did nothing wrong.
func (c *Client) blame(err error) {
	var died errDied
	var hung errHung
	part, patience := "", c.pace.forgive
	switch {
	case errors.As(err, &died):
		if !died.foreign() {
			part, patience = died.doing, c.pace.pardon
		}
	case errors.As(err, &hung):
		part = hung.doing
	}
	if part == "" {
		return
	}
	s := c.without[part]
	if s == nil {
		s = &strikes{}
		c.without[part] = s
	}
	s.count, s.why = s.count+1, err.Error()
	if until := time.Now().Add(patience); until.After(s.until) {
		s.until = until
	}
}

// avoided lists the parts to leave out, sorted.
func (c *Client) avoided(now time.Time) []string {
	maps.DeleteFunc(c.without, func(_ string, s *strikes) bool { return now.After(s.until) })
	var list []string
	for part, s := range c.without {
		if s.count >= maxStrikes {
			list = append(list, part)
		}
	}
	slices.Sort(list)
	return list
}

// explain writes into an answer why parts of it were not asked for.
func (c *Client) explain(s *Snapshot) {
	s.LeftOutWhy = nil // it is not the child's to say
	for _, part := range s.LeftOut {
		if bad := c.without[part]; bad != nil && bad.count >= maxStrikes {
			if s.LeftOutWhy == nil {
				s.LeftOutWhy = map[string]string{}
			}
			s.LeftOutWhy[part] = bad.why
		}
	}
}
