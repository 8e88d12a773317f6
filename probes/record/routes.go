// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/route"
)

// routes gives how a live machine routes, as a recording holds it, and what
// came of asking. It is made of addresses: where they are replaced, no network
// has its members and no route its next hop any more, and it is left out.
func (r *recorder) routes() (list []probes.Extra, result string) {
	if r.names != nil {
		return nil, "left out: addresses are replaced"
	}
	s, err := route.Get(r.host)
	if err != nil {
		return nil, "refused: " + err.Error()
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, "refused: " + err.Error()
	}
	return []probes.Extra{{Name: route.Recorded, Data: append(b, '\n')}}, amount(len(s.Routes), "route")
}
