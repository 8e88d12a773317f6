// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// Of the generic netlink family ethtool (include/uapi/linux/ethtool_netlink.h).
const (
	msgFEC = 29

	attrHeader     = 1
	headerName     = 2
	headerFlags    = 3
	flagStatistics = 4

	fecActive        = 4
	fecStatistics    = 5
	fecCorrected     = 2
	fecUncorrectable = 3
)

// fec asks by netlink: the older call has no statistics.
func (l *live) fec() (FEC, error) {
	c, err := genetlink.Dial(nil)
	if err != nil {
		return FEC{}, err
	}
	defer c.Close()
	family, err := c.GetFamily("ethtool")
	if errors.Is(err, fs.ErrNotExist) {
		return FEC{}, errUnsupported
	} else if err != nil {
		return FEC{}, err
	}
	e := netlink.NewAttributeEncoder()
	e.Nested(attrHeader, func(e *netlink.AttributeEncoder) error {
		e.String(headerName, strings.TrimRight(string(l.name[:]), "\x00"))
		e.Uint32(headerFlags, flagStatistics)
		return nil
	})
	b, err := e.Encode()
	if err != nil {
		return FEC{}, err
	}
	m := genetlink.Message{Header: genetlink.Header{Command: msgFEC, Version: family.Version}, Data: b}
	replies, err := c.Execute(m, family.ID, netlink.Request)
	if err != nil {
		return FEC{}, err
	}
	for _, r := range replies {
		return parseFEC(r.Data)
	}
	return FEC{}, errUnsupported
}

// parseFEC reads the attributes of an answer.
func parseFEC(b []byte) (FEC, error) {
	var f FEC
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return f, err
	}
	for d.Next() {
		switch d.Type() {
		case fecActive:
			if len(d.Bytes()) == 4 {
				f.Active = fecName(d.Uint32())
			}
		case fecStatistics:
			d.Nested(func(d *netlink.AttributeDecoder) error {
				for d.Next() {
					switch d.Type() {
					case fecCorrected:
						f.Corrected = total(d.Bytes())
					case fecUncorrectable:
						f.Uncorrectable = total(d.Bytes())
					}
				}
				return nil
			})
		}
	}
	return f, d.Err()
}

// total gives the first of a counter's numbers; those of the lanes follow it.
func total(b []byte) probes.Value[uint64] {
	if len(b) < 8 {
		return probes.Value[uint64]{}
	}
	return probes.Some(binary.NativeEndian.Uint64(b))
}

// fecName spells a link mode's number as ethtool does.
func fecName(bit uint32) string {
	switch bit {
	case 49:
		return "Off"
	case 50:
		return "RS"
	case 51:
		return "BaseR"
	case 74:
		return "LLRS"
	}
	return ""
}
