// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"errors"
	"path"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/dcb"
	"github.com/fabricd/fabricd/probes/dcqcn"
	"github.com/fabricd/fabricd/probes/ethtool"
)

// Settings are what changes by an operator's hand. Nil is not told.
type Settings struct {
	Pause  *ethtool.Pause
	Rings  *ethtool.Rings
	Duplex string
	// DCB is nil where there is no dcbnl, or where it could not be read; DCBErr says why.
	DCB    *dcb.Config
	DCBErr error
	// Prevention is nil where nobody tells when a NIC stops pausing its peer.
	Prevention *ethtool.Prevention
	// Trust and Buffer are of NVIDIA's own driver package; "" and nil elsewhere.
	Trust    string
	Buffer   *dcb.Buffer
	DCQCN    *dcqcn.Settings
	DCQCNErr error
}

// readSettings reads what is set and rarely changed.
func (r *reader) readSettings(set *Settings) error {
	set.Duplex, set.Trust = r.text("duplex"), r.text("qos/trust")
	set.Prevention, set.Buffer = ofedPrevention(r.text("settings/pfc_stall_prevention")), nil
	if set.DCB == nil || set.DCB.Buffer == nil {
		set.Buffer, _ = dcb.OFEDBuffer(r.h, r.dir)
	}
	set.Pause, set.Rings = nil, nil
	if r.portErr != nil {
		return nil
	}
	p, errPause := r.port.Pause()
	if errPause == nil {
		set.Pause = &p
	}
	g, errRings := r.port.Rings()
	if errRings == nil {
		set.Rings = &g
	}
	s, errPrevention := r.port.Prevention()
	if errPrevention == nil {
		set.Prevention = &s
	}
	return errors.Join(worth(errPause), worth(errRings), worth(errPrevention))
}

// ofedPrevention reads the word that NVIDIA's own driver package has for it.
func ofedPrevention(word string) *ethtool.Prevention {
	switch word {
	case "default":
		return &ethtool.Prevention{After: 8 * time.Second}
	case "auto":
		return &ethtool.Prevention{After: 100 * time.Millisecond}
	}
	return nil
}

// text reads a short file of the interface; "" if there is none.
func (r *reader) text(name string) string {
	b, err := r.h.ReadFile(path.Join(r.dir, name))
	if err != nil || len(b) > 64 {
		return ""
	}
	return probes.Printable(strings.TrimSpace(string(b)))
}
