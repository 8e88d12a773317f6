// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/mdlayher/netlink"
)

// message writes attributes as the kernel does; of nested ones the flag may be
// missing, for the kernel leaves it out.
func message(tb testing.TB, list ...netlink.Attribute) []byte {
	tb.Helper()
	b, err := netlink.MarshalAttributes(list)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func entry(tb testing.TB, name string, v uint64) netlink.Attribute {
	return netlink.Attribute{Type: attrEntry, Data: message(tb,
		netlink.Attribute{Type: attrEntryName, Data: append([]byte(name), 0)},
		netlink.Attribute{Type: attrEntryValue, Data: binary.NativeEndian.AppendUint64(nil, v)})}
}

func TestMessages(t *testing.T) {
	number := binary.NativeEndian.AppendUint32(nil, 7)
	index, name, err := parseDevice(message(t, netlink.Attribute{Type: attrDevIndex, Data: number}, netlink.Attribute{Type: attrDevName, Data: []byte("mlx5_3\x00")}))
	if index != 7 || name != "mlx5_3" || err != nil {
		t.Error(index, name, err)
	}
	name, err = parseNetdev(message(t, netlink.Attribute{Type: attrDevIndex, Data: number}, netlink.Attribute{Type: 50, Data: number}, netlink.Attribute{Type: attrNdevName, Data: []byte("eth0\x00")}))
	if name != "eth0" || err != nil {
		t.Error(name, err)
	}
	if name, err = parseNetdev(message(t, netlink.Attribute{Type: attrDevIndex, Data: number})); name != "" || err != nil {
		t.Error("of another namespace:", name, err)
	}
	for _, flag := range []uint16{0, netlink.Nested} {
		b := message(t, netlink.Attribute{Type: attrHWCounters | flag, Data: message(t, entry(t, "out_of_buffer", 3), entry(t, "cc_rx_ce_pkts", 1<<40))})
		var got []string
		err = parseStatistics(b, func(name []byte, v uint64) { got = append(got, fmt.Sprintf("%s %d", name, v)) })
		if strings.Join(got, ", ") != "out_of_buffer 3, cc_rx_ce_pkts 1099511627776" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	short := message(t, netlink.Attribute{Type: attrHWCounters, Data: message(t, netlink.Attribute{Type: attrEntry, Data: message(t,
		netlink.Attribute{Type: attrEntryName, Data: []byte("x\x00")}, netlink.Attribute{Type: attrEntryValue, Data: []byte{1, 2}})})})
	if err := parseStatistics(short, func([]byte, uint64) { t.Error("a value of two bytes is taken") }); err == nil {
		t.Error("a value of two bytes is no error")
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(message(f, netlink.Attribute{Type: attrHWCounters, Data: message(f, entry(f, "out_of_buffer", 3))}))
	f.Add([]byte{4, 0, 80, 0, 255, 255, 81, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = parseDevice(b)
		_, _ = parseNetdev(b)
		_ = parseStatistics(b, func(name []byte, _ uint64) {
			if len(name) == 0 || len(name) > maxName {
				t.Errorf("%q", name)
			}
		})
	})
}

// What sysfs does not hold is read from a recording as rdma(8) prints it, and
// written the same way.
func TestRecordedSource(t *testing.T) {
	const dir = "sys/class/infiniband/mlx5_0"
	h, err := probes.Recorded([]byte("-- "+dir+"/ports/1/hw_counters/out_of_buffer --\n3\n-- "+dir+"/ports/2/state --\n1: DOWN\n"+
		"-- rdma/mlx5_0/1/link --\nlink mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n"+
		"-- rdma/mlx5_0/1/statistic --\nlink mlx5_0/1 out_of_buffer 3 cc_rx_ce_pkts 17 cc_tx_cnp_pkts 18446744073709551615 odd x last\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(h, "mlx5_0", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := d.Ports[0]
	list, err := p.Optionals(nil)
	if err != nil || len(list) != 1 || list[0] != (Optional{"cc_rx_ce_pkts", 17}) || p.Netdev() != "eth0" {
		t.Errorf("%v, %v, %s", list, err, p.Netdev())
	}
	if got := string(p.AppendStatistic(p.AppendLink(nil, "mlx5_0"), "mlx5_0")); got != "link mlx5_0/1 netdev eth0\nlink mlx5_0/1 cc_rx_ce_pkts 17\n" {
		t.Errorf("%q", got)
	}
	other := d.Ports[1]
	if list, err := other.Optionals(list); err == nil || len(list) != 0 || other.Netdev() != "" {
		t.Errorf("a port that was not asked: %v, %v", list, err)
	}
}
