// SPDX-License-Identifier: Apache-2.0

package record

import (
	"net/netip"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/record/standin"
	"github.com/fabricd/fabricd/probes/route"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What is written of a machine's routes is read again as it was.
func TestRoutes(t *testing.T) {
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := route.Get(h)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{host: h}
	list, result := r.routes()
	if len(list) != 1 || list[0].Name != route.Recorded {
		t.Fatal(list, result)
	}
	got, err := route.Parse(list[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Error(d)
	}
	r.names = standin.New()
	if list, result := r.routes(); list != nil || result != "left out: addresses are replaced" {
		t.Error(list, result)
	}
}
