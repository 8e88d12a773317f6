// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
)

// files are one of each kind that is treated in its own way.
func files() []string {
	return []string{
		"sys/devices/x/address", "sys/class/infiniband/mlx5_0/node_desc", "proc/cmdline", "proc/version", "proc/modules",
		"proc/42/numa_maps", "gpu.json", "fabricd.yaml", "ethtool/e/stats", "sys/x/phys_switch_id",
	}
}

// No address, GUID or host name of the original is left, whatever stands
// around it.
func FuzzNothingSurvives(f *testing.F) {
	f.Add([]byte("\x94\x6d\xae\xa1\xb2\xc3"), []byte("\x94\x6d\xae\x03\x00\xa1\xb2\xc3"), "node-17", "ip=", uint8(2))
	f.Add([]byte("\x02\xfc\x00\x00\x00\x01"), []byte("\x00\xfc\x00\xff\xfe\x00\x00\x01"), "a-b-c-d", "(root@", uint8(3))
	f.Add([]byte("\x10\x70\xfd\x00\x00\x01"), []byte("\x12\x70\xfd\xff\xfe\x00\x00\x01"), "dgx-h100", "switch: ", uint8(7))
	f.Fuzz(func(t *testing.T, address, id []byte, name, around string, which uint8) {
		if len(address) != 6 || len(id) != 8 || address[0]&groupBit != 0 {
			return
		}
		name = "h" + strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || r == '-' {
				return r
			}
			return -1
		}, name) + "-7q"
		if len(name) < 6 || bytes.Equal(address, make([]byte, 6)) || zeroOrOnes(id) {
			return
		}
		mac := net.HardwareAddr(address).String()
		guid := fmt.Sprintf("%x:%x:%x:%x", id[:2], id[2:4], id[4:6], id[6:])
		gid := "fe80:0000:0000:0000:" + guid
		bare := fmt.Sprintf("enx%x", address)
		dashes := strings.ReplaceAll(mac, ":", "-")
		text := strings.Join([]string{around, mac, guid, gid, bare, dashes, name, strings.ToUpper(name) + "." + around, around}, " ") + "\n"
		s := New()
		s.Host(name)
		file := files()[int(which)%len(files())]
		s.Learn(file, []byte(text))
		got := strings.ToLower(string(s.File(file, []byte(text))))
		for _, was := range []string{mac, guid, gid, bare, dashes, name} {
			if strings.Contains(got, was) && !strings.Contains(strings.ToLower(around), was) {
				t.Errorf("%s: %q is left of %q: %q", file, was, text, got)
			}
		}
	})
}

func zeroOrOnes(b []byte) bool {
	return len(bytes.Trim(b, "\x00")) == 0 || len(bytes.Trim(b, "\xff")) == 0
}

// Binary content keeps its length and never upsets anything.
func FuzzBinary(f *testing.F) {
	f.Add([]byte("\xb3\x15\x21\x10\x00\x00\x10\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New()
		if got := s.File("sys/x/config", b); len(got) != len(b) {
			t.Errorf("%d bytes of configuration space became %d", len(b), len(got))
		}
		if got := s.frame(b); len(b) < ethernetHeader && len(got) != len(b) {
			t.Errorf("%d bytes of a frame became %d", len(b), len(got))
		}
		for _, file := range append(files(), "lldp/e.hex", "proc/sys/kernel/hostname") {
			s.Learn(file, b)
			s.File(file, b)
			s.Path(string(b))
		}
	})
}
