// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	const host = "gpu-node-17"
	tests := []struct{ name, file, in, want string }{
		{"universal address", "sys/class/net/e/address", "94:6d:ae:a1:b2:c3\n", "94:6d:ae:00:00:01\n"},
		{"upper case", "ethtool/e/driver", "x 94:6D:AE:A1:B2:C3\n", "x 94:6D:AE:00:00:01\n"},
		{"local address", "sys/class/net/e/address", "da:1e:77:a1:b2:c3\n", "02:00:00:00:00:01\n"},
		{"QEMU's", "sys/class/net/e/address", "52:54:00:a1:b2:c3\n", "52:54:00:00:00:01\n"},
		{"no address", "sys/class/net/e/address", "00:00:00:00:00:00\n", "00:00:00:00:00:00\n"},
		{"group address", "a", "01:80:c2:00:00:0e ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:0e ff:ff:ff:ff:ff:ff"},
		{"IPoIB address", "sys/class/net/ib0/address", "00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:d7:e8:f9\n", "00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:00:00:01\n"},
		{"Mellanox's GUID", "sys/class/infiniband/m/node_guid", "946d:ae03:00a1:b2c3\n", "946d:ae03:0000:0001\n"},
		{"GUID of an address", "sys/class/infiniband/m/node_guid", "966d:aeff:fea1:b2c3\n", "966d:aeff:fe00:0001\n"},
		{"GUID of its own", "sys/class/infiniband/m/node_guid", "b83f:d200:0012:3456\n", "b83f:d200:0000:0001\n"},
		{"GUID of no vendor", "sys/class/infiniband/m/node_guid", "7a3f:d277:5512:3456\n", "0000:0000:0000:0001\n"},
		{"no GUID", "sys/class/infiniband/m/sys_image_guid", "0000:0000:0000:0000\n", "0000:0000:0000:0000\n"},
		{"GID link-local", "g", "fe80:0000:0000:0000:966d:aeff:fea1:b2c3\n", "fe80:0000:0000:0000:966d:aeff:fe00:0001\n"},
		{"GID of a port", "g", "fe80:0000:0000:0000:946d:ae03:00a1:b2c3\n", "fe80:0000:0000:0000:946d:ae03:0000:0001\n"},
		{"GID IPv4-mapped", "g", "0000:0000:0000:0000:0000:ffff:0a18:010b\n", "0000:0000:0000:0000:0000:ffff:c000:0201\n"},
		{"GID IPv4 link-local", "g", "0000:0000:0000:0000:0000:ffff:a9fe:010b\n", "0000:0000:0000:0000:0000:ffff:a9fe:0001\n"},
		{"GID global", "g", "2a02:1234:5678:0001:0000:0000:0000:0042\n", "2001:0db8:0000:0001:0000:0000:0000:0001\n"},
		{"GID unique local", "g", "fd12:3456:789a:0001:966d:aeff:fea1:b2c3\n", "fd00:0000:0000:0001:966d:aeff:fe00:0001\n"},
		{"GID of another subnet", "g", "fec0:0000:0000:0017:946d:ae03:00a1:b2c3\n", "fec0:0000:0000:0001:946d:ae03:0000:0001\n"},
		{"empty GID", "g", "0000:0000:0000:0000:0000:0000:0000:0000\n", "0000:0000:0000:0000:0000:0000:0000:0000\n"},
		{"PCI addresses stay", "proc/interrupts", " 36:  0  12 PCI-MSIX-0000:8d:00.0   1-edge   mlx5_comp0@pci:0000:8d:00.0\n", ""},
		{"versions stay", "sys/class/infiniband/m/fw_ver", "227.0.130.0\n", ""},
		{"lists stay", "local_cpulist", "0-15,10-11,12-13\n", ""},
		{"devices stay", "a", "0x15b3 10de:2335 0000:00:1f.4\n", ""},
		{"GPU", "proc/driver/nvidia/gpus/0000:18:00.0/information", "GPU UUID: \t GPU-a63aff51-0e5c-1898-2afe-c1b2023135e0\nVideo BIOS: \t 96.00.a5.00.1a\n", "GPU UUID: \t GPU-00000000-0000-4000-8000-000000000001\nVideo BIOS: \t 96.00.a5.00.1a\n"},
		{"GPU of NVML", "gpu.json", `{"uuid": "GPU-a63aff51-0e5c-1898-2afe-c1b2023135e0", "serial": "1650123", "index": 0}`, `{"uuid": "GPU-00000000-0000-4000-8000-000000000001", "serial": "serial-1", "index": 0}`},
		{"interface named by address", "sys/x/ndevs/0", "enx946daea1b2c3\n", "enx946dae000001\n"},
		{"RDMA device named by GUID", "a", "rocex946dae0300a1b2c3", "rocex946dae0300000001"},
		{"host's name", "proc/sys/kernel/hostname", host + "\n", "host-1\n"},
		{"kernel's builder", "proc/version", "Linux version 6.1 (root@build7.corp.net) (gcc (GCC) 12.3.0) #1 SMP Fri Aug 22 12:34:56 UTC 2026 " + host + "\n", "Linux version 6.1 (builder@host-1.example) (gcc (GCC) 12.3.0) #1 SMP Fri Aug 22 12:34:56 UTC 2026 host-2\n"},
		{"module's builder", "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)\n", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@)\n"},
		{"node description", "sys/class/infiniband/mlx5_0/node_desc", host + " mlx5_0\n", "host-1 mlx5_0\n"},
		{"node description of a make", "sys/class/infiniband/mlx5_0/node_desc", "MT4129 ConnectX7   Mellanox Technologies\n", "MT4129 ConnectX7 Mellanox Technologies\n"},
		{"node description of another name", "sys/class/infiniband/mlx5_0/node_desc", "rack12u7 HCA-1\n", "host-1 HCA-1\n"},
		{"module addresses", "proc/modules", "nvidia 14299136 - - Live 0xffffffffc0400000 (O)\nmlx5_ib 1 0 - Live 0x0000000000000000\n", "nvidia 14299136 - - Live 0x0000000000000000 (O)\nmlx5_ib 1 0 - Live 0x0000000000000000\n"},
		{"process' files", "proc/42/numa_maps", "55c7 default file=/home/alice/model.pt mapped=2 N0=2\n55c8 default file=/usr/bin/python3 N0=2\n", "55c7 default file=/file-1 mapped=2 N0=2\n55c8 default file=/usr/bin/python3 N0=2\n"},
		{"switch id", "sys/class/net/e/phys_switch_id", "946daea1b2c3\n", "946dae000001\n"},
		{"switch id of a driver's making", "sys/class/net/e/phys_switch_id", "a1b2c3d4\n", "00000001\n"},
		{"plan", "fabricd.yaml", "# for Alice\nplan:\n  cabling:\n    - {port: ens1, switch: leaf-7.dc.net, switch_port: Ethernet12} # see ticket\nmute:\n  - {check: a, reason: Bob knows}\n",
			"plan:\n    cabling:\n        - {port: ens1, switch: switch-1.example, switch_port: Ethernet12}\nmute:\n    - {check: a, reason: withheld}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := New()
			s.Host(host)
			s.Learn(test.file, []byte(test.in))
			want := test.want
			if want == "" {
				want = test.in
			}
			if got := string(s.File(test.file, []byte(test.in))); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if again := string(s.File(test.file, []byte(test.in))); again != want {
				t.Errorf("not stable: %q, then %q", want, again)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"BOOT_IMAGE=/vmlinuz-5.15.0-206.153.7.el8uek.x86_64 root=/dev/sda2 ro pci=noats,resource_alignment=0000:8d:00.0 iommu=pt", ""},
		{"numa=off mitigations=auto addr=0.0.0.0:2024", ""},
		{"root=UUID=0b1c2d3e-1111-2222-3333-444455556666 ro", "root=UUID=00000000-0000-4000-8000-000000000001 ro"},
		{"root=PARTUUID=1234abcd-02 resume=LABEL=swap-alice", "root=PARTUUID=serial-1 resume=LABEL=serial-2"},
		{"root=/dev/disk/by-id/nvme-SAMSUNG_S6FNNA0R", "root=/dev/disk/by-id/serial-1"},
		{"rd.luks.uuid=luks-0b1c2d3e-1111-2222-3333-444455556666", "rd.luks.uuid=luks-00000000-0000-4000-8000-000000000001"},
		{"ip=10.1.2.3::10.1.2.1:255.255.255.0:rack7:eth0:off", "ip=192.0.2.1::192.0.2.2:255.255.255.0:host-1:eth0:off"},
		{"nfsroot=10.1.2.9:/export/nodes,vers=4 nameserver=10.1.2.9", "nfsroot=value-1 nameserver=192.0.2.1"},
		{"BOOTIF=01-94-6d-ae-a1-b2-c3", "BOOTIF=01-94-6d-ae-00-00-01"},
		{"ifname=eth9:94:6d:ae:a1:b2:c3", "ifname=eth9:94:6d:ae:00:00:01"},
		{"nameserver=2a02:12::7", "nameserver=2001:db8:0:1::1"},
		{"systemd.hostname=rack7 inst.ks=http://deploy.corp/ks?token=abc ds=nocloud", "systemd.hostname=host-1 inst.ks=http://value-1 ds=value-2"},
		{"x=::ffff:10.1.2.3", "x=::ffff:192.0.2.1"},
		{"root=/dev/mapper/vg_rack7-root", "root=/dev/mapper/vg_rack7-root"}, // rack7 is not known
	}
	for _, test := range tests {
		s := New()
		s.Learn("proc/cmdline", []byte(test.in))
		want := test.want
		if want == "" {
			want = test.in
		}
		if got := string(s.File("proc/cmdline", []byte(test.in+"\n"))); got != want+"\n" {
			t.Errorf("%s\ngot  %q\nwant %q", test.in, got, want)
		}
	}
}

// Host names of all kinds, where they may and where they may not be found.
func TestHosts(t *testing.T) {
	tests := []struct{ host, file, in, want string }{
		{"node12", "a", "sys/devices/system/node/node12", ""}, // looks like a device
		{"node12", "proc/cmdline", "root=/dev/vg-node12/root", "root=/dev/vg-host-1/root"},
		{"node12", "proc/cmdline", "a=node123 b=xnode12", ""},
		{"NODE-12", "a", "at node-12 or Node-12.corp.net.", "at host-1 or host-1.example."},
		{"linux", "proc/version", "Linux version 6 linux-6", ""},
		{"linux", "proc/version", "on linux", "on host-1"},
		{"localhost", "proc/version", "on localhost", ""},
		{"localhost.localdomain", "proc/version", "on localhost.localdomain", ""},
		{"node-12.corp.net", "a", "node-12 node-12.corp.net", "host-1 host-1.example"},
		{"knoten-straße", "proc/version", "auf knoten-straße!", "auf host-1!"},
	}
	for _, test := range tests {
		s := New()
		s.Host(test.host)
		want := test.want
		if want == "" {
			want = test.in
		}
		if got := strings.TrimSuffix(string(s.File(test.file, []byte(test.in))), "\n"); got != want {
			t.Errorf("host %s\ngot  %q\nwant %q", test.host, got, want)
		}
	}
}

// One port's address, its GUID, its GIDs and the serial number of its card go
// on belonging together.
func TestBelongTogether(t *testing.T) {
	s := New()
	for _, test := range [][3]string{
		{"address", "94:6d:ae:a1:b2:c4", "94:6d:ae:00:00:01"},
		{"address", "94:6d:ae:a1:b2:c3", "94:6d:ae:00:00:02"},
		{"node_guid", "946d:ae03:00a1:b2c3", "946d:ae03:0000:0002"},
		{"gids/0", "fe80:0000:0000:0000:966d:aeff:fea1:b2c3", "fe80:0000:0000:0000:966d:aeff:fe00:0002"},
		{"lower", "enx946daea1b2c3", "enx946dae000002"},
	} {
		if got := string(s.File(test[0], []byte(test[1]))); got != test[2] {
			t.Errorf("%s %s: got %s, want %s", test[0], test[1], got, test[2])
		}
	}
	if got := s.Path("sys/class/net/enx946daea1b2c4"); got != "sys/class/net/enx946dae000001" {
		t.Error(got)
	}
	// An address without a vendor, of whose GID only the interface tells which bit is which.
	s.Learn("x/address", []byte("02:fc:00:12:34:56\n"))
	a, g := string(s.File("x/address", []byte("02:fc:00:12:34:56"))), string(s.File("gid", []byte("fe80:0000:0000:0000:00fc:00ff:fe12:3456")))
	if a != "02:00:00:00:00:03" || g != "fe80:0000:0000:0000:0000:00ff:fe00:0003" {
		t.Error(a, g)
	}
}

// Nothing is lost but identities: what was different stays different.
func TestInjective(t *testing.T) {
	s := New()
	seen := map[string]string{}
	for i := range 3000 {
		in := [8]byte{0x94, 0x6d, 0xae, byte(i % 3), 0, byte(i >> 8), byte(i), 1}
		out := s.guid(in)
		a := s.ipv4([4]byte{10, 0, byte(i >> 8), byte(i)})
		for key, to := range map[string]string{"g" + string(in[:]): string(out[:]), "a" + string([]byte{byte(i >> 8), byte(i)}): string(a[:])} {
			if was, ok := seen[key[:1]+to]; ok && was != key {
				t.Fatalf("%x and %x both become %x", was, key, to)
			}
			seen[key[:1]+to] = key
		}
	}
}

func TestCounts(t *testing.T) {
	s := New()
	s.Host("gpu-node-17")
	s.File("proc/version", []byte("gpu-node-17 94:6d:ae:a1:b2:c3 94:6d:ae:a1:b2:c4 94:6d:ae:a1:b2:c3"))
	var got []string
	for _, c := range s.Counts() {
		got = append(got, c.String())
	}
	if text := strings.Join(got, ", "); text != "1 host name, 2 MAC addresses" {
		t.Error(text)
	}
}

func TestConfig(t *testing.T) {
	b := make([]byte, 4096)
	b[0], b[6], b[0x34] = 0xb3, 0x10, 0x48
	copy(b[0x48:], []byte{0x03, 0x48, 0, 0x80, 'S', 'N', '1', '2'}) // a circle
	copy(b[0x100:], []byte{0x01, 0, 2, 0x15})                       // AER, next at 0x150
	copy(b[0x150:], []byte{0x03, 0, 1, 0, 0xc3, 0xb2, 0xa1, 0x00, 0x03, 0xae, 0x6d, 0x94})
	s := New()
	got := s.File("sys/x/config", b)
	if dsn := hex.EncodeToString(got[0x154:0x15c]); dsn != "0100000003ae6d94" {
		t.Errorf("serial number %s", dsn)
	}
	if got[0x4c] != 0 || got[0] != 0xb3 || got[0x100] != 1 || len(got) != len(b) || b[0x4c] != 'S' {
		t.Error("more or less was changed than the serial numbers, or the original")
	}
	if c := s.Counts(); len(c) != 2 || c[1].String() != "1 serial number" {
		t.Errorf("%v", c)
	}
	for _, short := range [][]byte{nil, b[:64], b[:0x15a]} {
		s.File("config", short)
	}
}

func TestFrames(t *testing.T) {
	const header = "0180c200000e" + "fcbd67a1b2c3" + "88cc"
	tests := []struct{ name, in, want string }{
		{"names and addresses", header + "0207" + "04fcbd67a1b2c3" + "0407" + "03fcbd67a1b2c3" + "06020078" + "0a07" + hex.EncodeToString([]byte("leaf-01")) + "100c" + "05010a3200010200000000" + "00" + "0000",
			"0180c200000efcbd6700000188cc" + "0207" + "04fcbd67000001" + "0407" + "03fcbd67000001" + "06020078" + "0a08" + hex.EncodeToString([]byte("switch-1")) + "100c" + "0501c000020102" + "00000000" + "00" + "0000"},
		{"settings stay, inventory does not", header + "fe06" + "0080c20b0308" + "fe08" + "0012bb08" + "53313233" + "0000", "0180c200000efcbd6700000188ccfe060080c20b0308fe080012bb08000000000000"},
		{"padding is blanked", header + "0000" + "736563726574", "0180c200000efcbd6700000188cc0000000000000000"},
		{"what runs over is blanked", header + "0a7f" + "736563726574", "0180c200000efcbd6700000188cc0a7f000000000000"},
		{"VLAN", "0180c200000efcbd67a1b2c3" + "81000006" + "88cc" + "06020078" + "0000", "0180c200000efcbd67000001810000068 8cc060200780000"},
		{"no LLDP", "0180c200000efcbd67a1b2c3" + "0800" + "736563726574", "0180c200000efcbd670000010800000000000000"},
		{"no frame", "0180c2", "000000"},
	}
	for _, test := range tests {
		in := "# leaf-01 secret\n\n" + test.in + "\nno hex\n"
		if got, want := string(New().File("lldp/e.hex", []byte(in))), strings.ReplaceAll(test.want, " ", "")+"\n"; got != want {
			t.Errorf("%s:\ngot  %swant %s", test.name, got, want)
		}
	}
}
