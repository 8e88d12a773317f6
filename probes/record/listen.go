// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/hex"
	"path"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
)

// maxListen bounds the wait for neighbours: most send every 30 s.
const maxListen = 10 * time.Minute

// ears listen for LLDP on the ports of a live machine.
type ears struct {
	ports []ear
	err   error // why there are none
}

type ear struct {
	name string
	*lldp.Ear
}

// listen begins to listen; in a recording there is nobody to be heard.
func listen(h *probes.Host) ears {
	var e ears
	if h.Recorded() {
		return e
	}
	for _, n := range lldp.Ports(h.Inventory()) {
		one, err := lldp.NewEar(h, n)
		if err != nil {
			e.err = err
			continue
		}
		e.ports = append(e.ports, ear{path.Base(n.Path), one})
	}
	return e
}

// result says what came of listening before the first moment.
func (e *ears) result(d time.Duration) string {
	if len(e.ports) == 0 && e.err != nil {
		return "refused: " + e.err.Error()
	}
	return "listened " + d.Round(time.Second).String()
}

// heard gives the frames since the last call, as a recording holds them.
func (e *ears) heard() []probes.Extra {
	var list []probes.Extra
	for _, p := range e.ports {
		var text []byte
		// A port that is gone is not there in the next reading either.
		_ = p.Receive(func(frame []byte) { text = append(hex.AppendEncode(text, frame), '\n') })
		if len(text) > 0 {
			list = append(list, probes.Extra{Name: "lldp/" + p.name + ".hex", Data: text})
		}
	}
	return list
}

func (e *ears) close() {
	for _, p := range e.ports {
		p.Close()
	}
}
