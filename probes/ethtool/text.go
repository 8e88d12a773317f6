// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// The text that the program ethtool prints, as recordings hold it: read here,
// written by the Append functions.

// fields calls each with the parts of every line "key: value".
func fields(b []byte, each func(key, value string)) {
	for line := range bytes.Lines(b) {
		if key, value, ok := strings.Cut(string(line), ":"); ok {
			each(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}

func parseDriver(b []byte) (d Driver) {
	fields(b, func(key, value string) {
		value = probes.Printable(value)
		switch key {
		case "driver":
			d.Name = value
		case "version":
			d.Version = value
		case "firmware-version":
			d.Firmware = value
		case "bus-info":
			d.Bus = value
		}
	})
	return d
}

// AppendText writes the driver as ethtool -i does.
func (d Driver) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "driver: %s\nversion: %s\nfirmware-version: %s\nbus-info: %s\n", d.Name, d.Version, d.Firmware, d.Bus), nil
}

var errForm = errors.New("not in ethtool's form")

func parsePause(b []byte) (p Pause, err error) {
	seen := 0
	fields(b, func(key, value string) {
		on := value == "on"
		switch key {
		case "Autonegotiate":
			p.Autonegotiate = on
		case "RX":
			p.RX = on
			seen++
		case "TX":
			p.TX = on
			seen++
		}
	})
	if seen < 2 {
		return p, errForm
	}
	return p, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// AppendText writes the parameters as ethtool -a does.
func (p Pause) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "Autonegotiate: %s\nRX: %s\nTX: %s\n", onOff(p.Autonegotiate), onOff(p.RX), onOff(p.TX)), nil
}

// preventionAuto is what stands for the driver's own choice.
const preventionAuto = 1<<16 - 1

func preventionOf(ms uint16) Prevention {
	if ms == preventionAuto {
		return Prevention{Auto: true}
	}
	return Prevention{After: time.Duration(ms) * time.Millisecond}
}

const preventionKey = "pfc-prevention-tout"

func parsePrevention(b []byte) (p Prevention, err error) {
	err = errForm
	fields(b, func(key, value string) {
		if ms, bad := strconv.ParseUint(value, 10, 16); bad == nil && key == preventionKey {
			p, err = preventionOf(uint16(ms)), nil
		}
	})
	return p, err
}

// AppendText writes it as ethtool --get-tunable does.
func (p Prevention) AppendText(b []byte) ([]byte, error) {
	ms := p.After.Milliseconds()
	if p.Auto {
		ms = preventionAuto
	}
	return fmt.Appendf(b, "%s: %d\n", preventionKey, ms), nil
}

// parseRings reads the maxima and, below them, what is set.
func parseRings(b []byte) (r Rings, err error) {
	maxima, seen := true, 0
	fields(b, func(key, value string) {
		n, err := strconv.Atoi(value)
		switch {
		case strings.HasPrefix(key, "Current"):
			maxima = false
		case err != nil || n < 0:
		case key == "RX" && maxima:
			r.RXMax = n
		case key == "TX" && maxima:
			r.TXMax = n
		case key == "RX":
			r.RX, seen = n, seen+1
		case key == "TX":
			r.TX, seen = n, seen+1
		}
	})
	if seen == 0 {
		return r, errForm
	}
	return r, nil
}

// AppendText writes the sizes as ethtool -g does.
func (r Rings) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "Pre-set maximums:\nRX: %d\nTX: %d\nCurrent hardware settings:\nRX: %d\nTX: %d\n", r.RXMax, r.TXMax, r.RX, r.TX), nil
}

func parseFlags(b []byte) []Flag {
	var list []Flag
	fields(b, func(key, value string) {
		if value == "on" || value == "off" {
			list = append(list, Flag{probes.Printable(key), value == "on"})
		}
	})
	return list
}

// AppendFlags writes private flags as ethtool --show-priv-flags does.
func AppendFlags(b []byte, flags []Flag) []byte {
	for _, f := range flags {
		b = fmt.Appendf(b, "%s: %s\n", f.Name, onOff(f.On))
	}
	return b
}

func parseFECText(b []byte) (f FEC) {
	fields(b, func(key, value string) {
		n, err := strconv.ParseUint(value, 10, 64)
		switch {
		case key == "Active FEC encoding" || key == "Active FEC encodings":
			f.Active = probes.Printable(value)
		case err != nil:
		case key == "corrected_blocks":
			f.Corrected = probes.Some(n)
		case key == "uncorrectable_blocks":
			f.Uncorrectable = probes.Some(n)
		}
	})
	return f
}

// AppendText writes it as ethtool --show-fec -I does.
func (f FEC) AppendText(b []byte) ([]byte, error) {
	b = fmt.Appendf(b, "Active FEC encoding: %s\n", f.Active)
	if f.Corrected.OK || f.Uncorrectable.OK {
		b = append(b, "Statistics:\n"...)
	}
	if f.Corrected.OK {
		b = fmt.Appendf(b, "  corrected_blocks: %d\n", f.Corrected.V)
	}
	if f.Uncorrectable.OK {
		b = fmt.Appendf(b, "  uncorrectable_blocks: %d\n", f.Uncorrectable.V)
	}
	return b, nil
}

// cutLine takes the next statistic off b: its name, which may hold colons and
// blanks, and its value. Lines that are none are passed over.
func cutLine(b []byte) (name []byte, value uint64, rest []byte, ok bool) {
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if name, value, ok = statistic(line); ok {
			return name, value, b, true
		}
	}
	return nil, 0, nil, false
}

// statistic reads a line "     name: 12".
func statistic(line []byte) (name []byte, value uint64, ok bool) {
	for len(line) > 0 && (line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	i := len(line)
	for i > 0 && line[i-1] >= '0' && line[i-1] <= '9' {
		i--
	}
	digits := line[i:]
	if len(digits) == 0 || len(digits) > 20 || i < 2 || line[i-1] != ' ' || line[i-2] != ':' {
		return nil, 0, false
	}
	for _, c := range digits {
		next := value*10 + uint64(c-'0')
		if value > (1<<64-1)/10 || next < value {
			return nil, 0, false
		}
		value = next
	}
	return bytes.TrimSpace(line[:i-2]), value, true
}

// parseValues reads the values alone. It gives up where a name is another one
// than s has.
func parseValues(b []byte, s *Statistics) bool {
	for i, known := range s.Names {
		value, rest, ok := knownLine(b, known)
		if !ok {
			var name []byte
			if name, value, rest, ok = cutLine(b); !ok || string(name) != known {
				return false
			}
		}
		s.Values[i], b = value, rest
	}
	_, _, _, more := cutLine(b)
	return !more && len(s.Names) > 0
}

// knownLine reads a line whose name is known: the quick way. Where it gives up,
// cutLine may not.
func knownLine(b []byte, known string) (value uint64, rest []byte, ok bool) {
	b = skipBlanks(b)
	if len(b) < len(known) || string(b[:len(known)]) != known {
		return 0, nil, false
	}
	if b = skipBlanks(b[len(known):]); len(b) < 3 || b[0] != ':' || b[1] != ' ' {
		return 0, nil, false
	}
	b = b[2:]
	n := 0
	for n < len(b) && n < 20 && b[n] >= '0' && b[n] <= '9' {
		value = value*10 + uint64(b[n]-'0')
		n++
	}
	switch {
	case n == 0 || n == 20: // 20 digits may be too many
		return 0, nil, false
	case n == len(b):
		return value, nil, true
	}
	return value, b[n+1:], b[n] == '\n'
}

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}

// parseStatistics reads names and values.
func parseStatistics(b []byte, s *Statistics) error {
	s.Names, s.Values = nil, s.Values[:0]
	s.Generation++
	for {
		name, value, rest, ok := cutLine(b)
		switch {
		case !ok && len(s.Names) == 0:
			return errUnsupported
		case !ok:
			return nil
		case len(s.Names) == maxStatistics:
			return fmt.Errorf("more than %d statistics", maxStatistics)
		}
		s.Names, s.Values, b = append(s.Names, probes.Printable(string(name))), append(s.Values, value), rest
	}
}

// AppendText writes the statistics as ethtool -S does.
func (s *Statistics) AppendText(b []byte) ([]byte, error) {
	b = append(b, "NIC statistics:\n"...)
	for i, name := range s.Names {
		b = append(append(append(b, "     "...), name...), ": "...)
		b = append(strconv.AppendUint(b, s.Values[i], 10), '\n')
	}
	return b, nil
}
