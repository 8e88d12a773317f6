// SPDX-License-Identifier: Apache-2.0

package dcb

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

const (
	ofedSizes = "Port buffer size = 524032\nSpare buffer size = 0\nBuffer\tSize\txoff_threshold\txon_threshold\n" +
		"0\t262016\t0\t\t0\n1\t262144\t111744\t\t50176\n2\t0\t0\t\t0\n"
	ofedPriorities = "Priority\tBuffer\n0\t\t0\n1\t\t0\n2\t\t0\n3\t\t1\n4\t\t0\n5\t\t0\n6\t\t0\n7\t\t0\n"
)

func TestOFEDBuffer(t *testing.T) {
	h, err := probes.Recorded([]byte("-- sys/class/net/eth0/qos/buffer_size --\n"+ofedSizes+"-- sys/class/net/eth0/qos/prio2buffer --\n"+ofedPriorities), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := OFEDBuffer(h, "sys/class/net/eth0")
	if want := (Buffer{Priority: [8]int{3: 1}, Size: [8]uint32{262016, 262144}, Total: 524032}); err != nil || *b != want {
		t.Errorf("%+v, %v, want %+v", b, err, want)
	}
	if _, err := OFEDBuffer(h, "sys/class/net/eth1"); err == nil {
		t.Error("no error without files")
	}
	for _, bad := range [][2]string{{"", ofedPriorities}, {ofedSizes, ""}, {ofedSizes, strings.Replace(ofedPriorities, "7\t\t0\n", "", 1)}, {"Port buffer size = 5e9\n", ofedPriorities}} {
		if b, err := parseOFED([]byte(bad[0]), []byte(bad[1])); err == nil {
			t.Errorf("%q: %+v", bad, b)
		}
	}
}

func FuzzOFEDBuffer(f *testing.F) {
	f.Add([]byte(ofedSizes), []byte(ofedPriorities))
	f.Fuzz(func(_ *testing.T, sizes, priorities []byte) { _, _ = parseOFED(sizes, priorities) })
}
