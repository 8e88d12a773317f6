// SPDX-License-Identifier: Apache-2.0

package dcb

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
)

// answer is one of an mlx5 port whose firmware speaks DCBX, as the kernel lays it out.
func answer() []byte {
	order := binary.NativeEndian
	etsBytes, pfcBytes, bufferBytes := make([]byte, lenETS), make([]byte, lenPFC), make([]byte, lenBuffer)
	etsBytes[1] = 8
	for i := range Priorities {
		etsBytes[27+i] = byte(i)
	}
	etsBytes[3+3], etsBytes[19+3], etsBytes[19+4] = 50, 2, 255
	pfcBytes[0], pfcBytes[1] = 8, 1<<3|1<<5
	order.PutUint16(pfcBytes[4:], 7)
	order.PutUint64(pfcBytes[8+8*3:], 11)
	order.PutUint64(pfcBytes[72+8*3:], 12)
	bufferBytes[3] = 1
	order.PutUint32(bufferBytes[8:], 262016)
	order.PutUint32(bufferBytes[40:], 524032)
	app := func(selector, priority byte, protocol uint16) []byte {
		return order.AppendUint16([]byte{selector, priority}, protocol)
	}
	e := netlink.NewAttributeEncoder()
	e.String(attrName, "eth0")
	e.Nested(attrIEEE, func(e *netlink.AttributeEncoder) error {
		e.Bytes(ieeeETS, etsBytes)
		e.Bytes(ieeePFC, pfcBytes)
		e.Nested(ieeeApp, func(e *netlink.AttributeEncoder) error {
			e.Bytes(1, app(5, 3, 26))
			e.Bytes(2, app(255, 5, 5))
			e.Bytes(1, app(5, 9, 27)) // no priority
			return nil
		})
		e.Bytes(ieeePeerPFC, pfcBytes)
		e.Bytes(ieeeBuffer, bufferBytes)
		e.Nested(ieeeTrust, func(e *netlink.AttributeEncoder) error { e.Uint8(13, 5); return nil })
		return nil
	})
	e.Uint8(attrDCBX, 1|8)
	b, err := e.Encode()
	if err != nil {
		panic(err)
	}
	return append([]byte{0, cmdIEEEGet, 0, 0}, b...)
}

const want = `{"dcbx": ["host", "ieee"],
 "pfc": {"cap": 8, "enabled": [3, 5], "mbc": false, "delay": 7, "requests": [0,0,0,11,0,0,0,0], "indications": [0,0,0,12,0,0,0,0]},
 "ets": {"cap": 8, "willing": false, "tc_bandwidth": [0,0,0,50,0,0,0,0], "tc_algorithm": ["strict","strict","strict","ets","vendor","strict","strict","strict"], "priority_tc": [0,1,2,3,4,5,6,7]},
 "app": [{"selector": "dscp", "protocol": 26, "priority": 3}, {"selector": "pcp", "protocol": 5, "priority": 5}],
 "trust": ["dscp"],
 "buffer": {"priority_buffer": [0,0,0,1,0,0,0,0], "size_bytes": [262016,0,0,0,0,0,0,0], "total_bytes": 524032},
 "peer": {"pfc": {"cap": 8, "enabled": [3, 5]}}}`

// What the kernel answers, and what a recording of it holds, is the same.
func TestParse(t *testing.T) {
	got, err := parse(answer())
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Parse([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recorded, got); diff != "" {
		t.Errorf("- recorded, + kernel's:\n%s", diff)
	}
	if !got.PFC.On(3) || got.PFC.On(0) || !got.TrustsDSCP() {
		t.Errorf("%+v", got)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Errorf("%v - kernel's, + written and read:\n%s", err, diff)
	}
}

// What a driver does not answer stays absent; an empty map is one.
func TestAbsent(t *testing.T) {
	c, err := Parse([]byte(`{"pfc": {"cap": 4, "enabled": []}, "app": []}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.ETS != nil || c.Peer != nil || c.Buffer != nil || c.App == nil || c.TrustsDSCP() || c.PFC.On(0) {
		t.Errorf("%+v", c)
	}
	if c, err = Parse([]byte(`{}`)); err != nil || c.PFC != nil || c.App != nil {
		t.Errorf("%+v %v", c, err)
	}
	for _, bad := range []string{``, `[]`, `{"pfc": {"enabled": [8]}}`, `{"ets": {"priority_tc": [0, 9]}}`, `{"app": [{"priority": -1}]}`, `{"peer": {"pfc": {"enabled": [77]}}}`, `{"peer": {"app": [{"priority": 8}]}}`} {
		if c, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s is taken for %+v", bad, c)
		}
	}
}

func TestRecorded(t *testing.T) {
	for _, test := range []struct {
		recording string
		want      error
	}{
		{"-- dcb/eth0.json --\n{}\n", nil},
		{"-- sys/x --\n", errors.ErrUnsupported},
		{"-- manifest.json --\n{\"sources\": {\"dcb\": \"not asked\"}}\n-- sys/x --\n", fs.ErrPermission},
	} {
		h, err := probes.Recorded([]byte(test.recording), probes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Get(h, "eth0"); !errors.Is(err, test.want) {
			t.Errorf("%q: %v", test.recording, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(answer())
	f.Add(answer()[:40])
	f.Add([]byte(want))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parse(b); err == nil && c.check() != nil {
			t.Errorf("out of range: %+v", c)
		}
		_, _ = Parse(b)
	})
}

func TestParseMakesTextPrintable(t *testing.T) {
	c, err := Parse([]byte(`{"dcbx":["\u001b[2J"],"trust":["\u202e"],"app":[{"selector":"\n"}],"ets":{"tc_algorithm":["\u0000"]},"peer":{"app":[{"selector":"\r"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{c.DCBX[0], c.Trust[0], c.App[0].Selector, c.ETS.Algorithm[0], c.Peer.App[0].Selector}; !cmp.Equal(got, []string{"?[2J", "?", "?", "?", "?"}) {
		t.Errorf("%q", got)
	}
}
