// SPDX-License-Identifier: Apache-2.0

package qdisc

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The machine's own disciplines are what tc says.
func TestLive(t *testing.T) {
	out, err := exec.Command("tc", "-j", "-s", "qdisc", "show").Output()
	if err != nil {
		t.Skip("needs tc (Debian: iproute2): ", err)
	}
	var want []Qdisc
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Get(h)
	if err != nil {
		t.Fatal(err)
	}
	moving := cmpopts.IgnoreFields(Qdisc{}, "Bytes", "Packets", "Requeues", "Backlog", "Qlen", "Drops", "Overlimits")
	if diff := cmp.Diff(want, got, moving, cmpopts.SortSlices(func(a, b Qdisc) bool { return a.Dev+a.Parent < b.Dev+b.Parent })); diff != "" {
		t.Error(diff)
	}
}

func TestRecorded(t *testing.T) {
	h, err := probes.Recorded([]byte("-- qdisc.json --\n"+`[{"kind":"mq","handle":"0:","dev":"eth0","root":true,"options":{},"bytes":5,"packets":1,"drops":2,"overlimits":0,"requeues":3,"backlog":0,"qlen":0},`+
		`{"kind":"fq_codel","handle":"0:","dev":"eth0","parent":":a","options":{"limit":10240},"drops":2,"requeues":3}]`+"\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Get(h)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := got[1].Queue(); !ok || n != 9 || got[0].Drops != 2 || got[1].Requeues != 3 || !got[0].Root {
		t.Errorf("%+v", got)
	}
	if _, ok := got[0].Queue(); ok {
		t.Error("the root is taken for a queue's")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(make([]byte, lenHeader))
	f.Add(append(make([]byte, lenHeader), 7, 0, 1, 0, 'm', 'q', 0, 0, 8, 0, 7, 0, 4, 0, 3, 0))
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b) }) //nolint:errcheck // it must not panic
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`[{"kind":"mq","parent":":1"}]`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		list, _ := parseJSON(b) //nolint:errcheck // it must not panic
		for i := range list {
			list[i].Queue()
		}
	})
}
