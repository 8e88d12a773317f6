// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/fabricd/fabricd/collectors"
)

func TestFolds(t *testing.T) {
	f := NewFolds()
	for i := range 6 {
		address := fmt.Sprintf("0000:%02x:00.0", i)
		f.Add(collectors.Finding{Check: "a", Status: collectors.Unknown, Subject: collectors.Subject{{Name: "address", Value: address}}, Reason: "port " + address + " is not visible"})
	}
	f.Add(collectors.Finding{Check: "a", Status: collectors.Info, Reason: "port 0000:00:00.0 is not visible"})
	f.Add(collectors.Finding{Check: "a", Status: collectors.Unknown, Subject: collectors.Subject{{Name: "address", Value: "0000:00:00.0"}}, Reason: "something else"})
	var got string
	for _, x := range f.List() {
		got += fmt.Sprintf("%d %s|%s|%s\n", x.Count, x.First.Status, x.Reason(), x.Where(4))
	}
	want := `6 unknown|port … is not visible|0000:00:00.0 0000:01:00.0 0000:02:00.0 0000:03:00.0 and 2 more
1 info|port 0000:00:00.0 is not visible|
1 unknown|something else|0000:00:00.0
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
