// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/hex"
	"strings"
	"testing"
)

// Frames are what IEEE 802.1AB, 802.1Q (PFC of DCBX) and 802.1Qbb have them be.
func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"LLDP", LLDP("s", "p1", PFCTLV(true, 1<<3)), "0180c200000e 020000005a01 88cc" +
			" 0202 0773 0403 057031 0602 0078 0a01 73 fe06 0080c20b 88 08 0000" + strings.Repeat("00", 20)},
		{"tagged", Tagged(7, 9, LLDP("s", "p1"))[:20], "0180c200000e 020000005a01 8100 e009 88cc 0202"},
		{"PFC", PFC(1<<3|1, 0xffff), "0180c2000001 020000005a01 8808 0101 0009 ffff 0000 0000 ffff 0000 0000 0000 0000" + strings.Repeat("00", 26)},
	} {
		if got, want := hex.EncodeToString(test.frame), strings.ReplaceAll(test.want, " ", ""); got != want {
			t.Errorf("%s: %s, want %s", test.name, got, want)
		}
	}
}
