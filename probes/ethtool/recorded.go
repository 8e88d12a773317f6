// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fabricd/fabricd/probes"
)

// recorded answers from ethtool/IF/… of a recording.
type recorded struct {
	h     *probes.Host
	dir   string
	open  *probes.Dir // of the statistics; nil if there are none
	stats *probes.Attr
	size  int
}

// firstSize is where the buffer for statistics begins; it grows as needed.
const firstSize = 1 << 16

// lineLen is more than a line's white space.
const lineLen = 64

func openRecorded(h *probes.Host, netdev string) *recorded {
	return &recorded{h: h, dir: path.Join("ethtool", netdev), size: firstSize}
}

func (r *recorded) close() {
	if r.open != nil {
		r.stats.Close()
		r.open.Close()
		r.open = nil
	}
}

// read reads one answer. What is not there was not answered, or not asked.
func (r *recorded) read(name string) ([]byte, error) {
	b, err := r.h.ReadFile(path.Join(r.dir, name))
	return b, r.missing(err)
}

func (r *recorded) missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if why := r.h.NotAsked("ethtool"); why != "" {
		return fmt.Errorf("%w: the recording says: %s", fs.ErrPermission, why)
	}
	return errUnsupported
}

func (r *recorded) driver() (Driver, error) {
	b, err := r.read("driver")
	if err != nil {
		return Driver{}, err
	}
	return parseDriver(b), nil
}

func (r *recorded) pause() (Pause, error) {
	b, err := r.read("pause")
	if err != nil {
		return Pause{}, err
	}
	return parsePause(b)
}

func (r *recorded) rings() (Rings, error) {
	b, err := r.read("rings")
	if err != nil {
		return Rings{}, err
	}
	return parseRings(b)
}

func (r *recorded) prevention() (Prevention, error) {
	b, err := r.read("pfc-prevention-tout")
	if err != nil {
		return Prevention{}, err
	}
	return parsePrevention(b)
}

func (r *recorded) flags() ([]Flag, error) {
	b, err := r.read("private-flags")
	if err != nil {
		return nil, err
	}
	return parseFlags(b), nil
}

func (r *recorded) fec() (FEC, error) {
	b, err := r.read("fec")
	if err != nil {
		return FEC{}, err
	}
	return parseFECText(b), nil
}

// statistics reads the statistics into a kept buffer.
func (r *recorded) statistics(s *Statistics) error {
	b, err := r.text()
	if errors.Is(err, fs.ErrNotExist) || probes.Gone(err) { // it went, or went and came back
		r.close()
		b, err = r.text()
	}
	if err != nil {
		return r.missing(err)
	}
	if !parseValues(b, s) {
		return parseStatistics(b, s)
	}
	return nil
}

func (r *recorded) text() ([]byte, error) {
	for {
		if r.open == nil {
			d, err := r.h.Dir(r.dir)
			if err != nil {
				return nil, err
			}
			r.open, r.stats = d, d.Attr("stats", r.size)
		}
		b, err := r.stats.Read()
		if err != nil || len(b) < r.size-lineLen { // less: white space at its end is taken off
			return b, err
		}
		r.close()
		r.size *= 2
	}
}
