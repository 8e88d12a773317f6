// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

// A recording that lost its end is refused wherever it was cut, within an entry as well;
// one whose manifest does not count its bytes is judged by its entries as before.
func TestCutRecordings(t *testing.T) {
	whole := text(t, newMachine(t).host(), Options{})
	if _, err := probes.Recorded([]byte(whole), probes.Options{}); err != nil {
		t.Fatal(err)
	}
	begin := strings.Index(whole, "\n}\n") + len("\n}\n") // of what follows the manifest
	step := max((len(whole)-begin)/200, 1)
	for n := len(whole) - 1; n > begin; n -= step {
		if _, err := probes.Recorded([]byte(whole[:n]), probes.Options{}); err == nil || !strings.Contains(err.Error(), "is truncated") {
			t.Fatalf("cut at %d of %d bytes: %v", n, len(whole), err)
		}
	}
	var m manifest
	if err := json.Unmarshal([]byte(strings.TrimPrefix(whole[:begin], "-- manifest.json --\n")), &m); err != nil || m.Bytes != len(whole)-begin {
		t.Fatalf("%v, %d bytes", err, m.Bytes)
	}
	m.Bytes = 0
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probes.Recorded([]byte("-- manifest.json --\n"+string(b)+"\n"+whole[begin:len(whole)-1]), probes.Options{}); err != nil {
		t.Errorf("without the number of bytes: %v", err)
	}
}
