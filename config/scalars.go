// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"
)

// A Number is a threshold: a plain number, or a duration such as 10s, which
// counts in seconds.
type Number float64

func (n *Number) read(v value) error {
	if f, err := strconv.ParseFloat(v.node.Value, 64); err == nil && f >= 0 && f <= 1e18 {
		*n = Number(f)
		return nil
	}
	if d, err := time.ParseDuration(v.node.Value); err == nil && d >= 0 {
		*n = Number(d.Seconds())
		return nil
	}
	return v.errorf("%s is neither a number nor a duration", v)
}

// text refuses null: a subject that was forgotten would otherwise mute all.
func text(to *string) reader {
	return func(v value) error {
		if v.null() {
			return v.errorf("has no value")
		}
		if v.node.Kind != yaml.ScalarNode {
			return v.errorf("%s is not text", v)
		}
		*to = v.node.Value
		return nil
	}
}

func whole(to *int) reader {
	return func(v value) (err error) {
		if *to, err = strconv.Atoi(v.node.Value); err != nil {
			return v.errorf("%s is not a whole number", v)
		}
		return nil
	}
}

func number(to *float64) reader {
	return func(v value) (err error) {
		if *to, err = strconv.ParseFloat(v.node.Value, 64); err != nil || math.IsNaN(*to) || math.IsInf(*to, 0) {
			return v.errorf("%s is not a number", v)
		}
		return nil
	}
}

func percent(to *float64) reader {
	return func(v value) error {
		if err := number(to)(v); err != nil {
			return err
		}
		if *to <= 0 || *to > 100 {
			return v.errorf("%s is not a percentage above 0", v)
		}
		return nil
	}
}

func boolean(to **bool) reader {
	return func(v value) error {
		*to = new(bool)
		if v.null() || v.node.Decode(*to) != nil {
			return v.errorf("%s is neither true nor false", v)
		}
		return nil
	}
}

// interval takes a duration of at most most, where that is not 0.
func interval(to *time.Duration, most time.Duration) reader {
	return func(v value) (err error) {
		if *to, err = time.ParseDuration(v.node.Value); err != nil {
			return v.errorf("%s is not a duration (such as 10s)", v)
		}
		if *to < time.Millisecond {
			return v.errorf("an interval is at least 1ms")
		}
		if most > 0 && *to > most {
			return v.errorf("an interval of this collector is at most %s", most)
		}
		return nil
	}
}

// date takes a date, which begins in UTC, or a time.
func date(to *time.Time) reader {
	return func(v value) error {
		for _, layout := range []string{time.DateOnly, time.RFC3339} {
			if t, err := time.Parse(layout, v.node.Value); err == nil {
				*to = t
				return nil
			}
		}
		return v.errorf("%s is neither a date (2027-01-31) nor a time of RFC 3339 (2027-01-31T18:00:00+01:00)", v)
	}
}
