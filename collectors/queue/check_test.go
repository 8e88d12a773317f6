// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"fmt"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// A look is what the files of an interface with one or two queues say.
type look struct {
	inflight, limit, timeouts int
	packets, bytes            int
	second                    int // inflight of the other queue, with a limit of 60000; 0: idle
}

// film makes a machine whose interface says what the looks say, one every 5 s.
func film(t *testing.T, looks ...look) *hosttest.Host {
	h := hosttest.New(t)
	h.Port("0000:15:01.0", "", "16x16")
	h.NIC("0000:16:00.0", "0000:15:01.0", "16x16").Netdev("eth0", 100).Set("net/eth0/mtu", "1500")
	for i, l := range looks {
		d := h.Dev("0000:16:00.0")
		if i > 0 {
			d = d.At(fmt.Sprintf("%ds", 5*i))
		}
		set := func(name string, n int) { d.Set("net/eth0/"+name, fmt.Sprint(n)) }
		set("queues/tx-0/byte_queue_limits/inflight", l.inflight)
		set("queues/tx-0/byte_queue_limits/limit", l.limit)
		set("queues/tx-0/tx_timeout", l.timeouts)
		set("queues/tx-1/byte_queue_limits/inflight", l.second)
		set("queues/tx-1/byte_queue_limits/limit", 60000*min(l.second, 1))
		set("queues/tx-1/tx_timeout", 0)
		set("statistics/tx_packets", l.packets)
		set("statistics/tx_bytes", l.bytes)
	}
	return h
}

// busy gives n looks at an interface that sends 1000 packets of the size in 5 s.
func busy(n, size int, change func(i int, l *look)) []look {
	looks := make([]look, n)
	for i := range looks {
		looks[i] = look{packets: 1000 * i, bytes: 1000 * i * size}
		change(i, &looks[i])
	}
	return looks
}

// still stops an interface's packets.
func still(looks []look) []look {
	for i := range looks {
		looks[i].packets, looks[i].bytes = 5, 7500
	}
	return looks
}

const eth0 = "net/eth0/"

// always has a file of eth0 fail at each of four looks.
func always(d *hosttest.Dev, name, errno string) {
	d.Fail(eth0+name, errno)
	for _, mark := range []string{"5s", "10s", "15s"} {
		d.At(mark).Fail(eth0+name, errno)
	}
}

// From when a queue is stuck is one number for both checks.
func TestOneThreshold(t *testing.T) {
	looks := still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 9000, 60000 }))
	h := film(t, looks...)
	h.Expect("expect: fail nic_queue_stuck 0\nexpect: info nic_queue_full 0\nsays: see nic_queue_stuck")
	h.Set("fabricd.yaml", "thresholds: {nic_queue_stuck: {seconds: 20}}")
	h.Expect("expect: ok nic_queue_stuck 0\nexpect: ok nic_queue_full 0")
}

func TestChecks(t *testing.T) {
	for _, test := range []struct {
		name   string
		looks  []look
		change func(*hosttest.Dev)
		expect string
	}{
		{"nothing is sent", still(busy(4, 1500, func(_ int, l *look) { l.limit = 100 })), nil,
			"expect: ok nic_queue_stuck eth0\nexpect: ok nic_queue_full eth0\nsays: less than one packet"},
		{"a busy queue that drains", busy(6, 1500, func(i int, l *look) { l.inflight, l.limit = 3000*(i%3), 60000 }), nil,
			"expect: ok nic_queue_stuck 0\nexpect: ok nic_queue_full 0"},
		{"the same bytes by chance", busy(6, 1500, func(_ int, l *look) { l.inflight, l.limit = 3000, 60000 }), nil,
			"expect: ok nic_queue_stuck 0\nsays: whether they are always others is not seen\nexpect: ok nic_queue_full 0"},
		{"old timeouts", busy(6, 1500, func(_ int, l *look) { l.timeouts = 7 }), nil,
			"expect: unknown nic_queue_full eth0\nexpect: ok nic_queue_stuck eth0"},
		{"a timeout in the last minute", busy(8, 1500, func(i int, l *look) { l.limit, l.timeouts = 60000, 7+min(i/2, 1) }), nil,
			"expect: fail nic_queue_stuck 0\nsays: by 1 to 8\nnever: fail nic_queue_stuck 1\nexpect: info nic_queue_full 0\nsays: transmits time out"},
		{"a timeout longer ago", busy(20, 1500, func(i int, l *look) { l.limit, l.timeouts = 60000, min(i, 1) }), nil,
			"never: warn|fail nic_queue_stuck *"},
		{"a count of timeouts that began anew", busy(4, 1500, func(i int, l *look) { l.timeouts = 40 - 10*i }), nil,
			"never: warn|fail nic_queue_stuck *"},
		{"bytes that stand still", still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 9000, 60000 })), nil,
			"expect: fail nic_queue_stuck 0\nsays: 9000 bytes have been in flight for 15s\nnever: warn|fail nic_queue_full *\nexpect: info nic_queue_full 0\nsays: for 15s"},
		{"for not long enough", still(busy(3, 1500, func(i int, l *look) { l.inflight, l.limit = 9000+i, 60000 })), nil,
			"expect: ok nic_queue_stuck 0"},
		{"bytes that stand still at the limit", still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 60000, 60000 })), nil,
			"expect: fail nic_queue_stuck 0\nnever: warn nic_queue_full *"},
		{"bytes that stand still without carrier", still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 9000, 60000 })),
			func(d *hosttest.Dev) { d.Set(eth0+"carrier", "0") }, "expect: info nic_queue_stuck 0\nsays: without carrier"},
		{"bytes of which nobody knows whether they move", still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 9000, 60000 })),
			func(d *hosttest.Dev) { d.Drop(eth0 + "statistics/tx_packets") }, "expect: unknown nic_queue_stuck 0\nsays: tx_packets cannot be read"},
		{"one look", busy(1, 1500, func(_ int, l *look) { l.inflight, l.limit, l.timeouts = 60000, 60000, 3 }), nil,
			"expect: unknown nic_queue_stuck *\nexpect: unknown nic_queue_full *"},
		{"a queue at its limit in more than half of the looks", busy(8, 1500, func(i int, l *look) { l.inflight, l.limit = []int{60500, 61000, 30000}[i%3], 60000 }), nil,
			"expect: warn nic_queue_full 0\nsays: 60000 bytes now, in 75 %\nexpect: ok nic_queue_stuck 0"},
		{"in half of the looks", busy(8, 1500, func(i int, l *look) { l.inflight, l.limit = 30000+30000*(i%2), 60000 }), nil,
			"expect: ok nic_queue_full 0\nsays: 50 %"},
		{"one of two queues", busy(8, 1500, func(i int, l *look) { l.inflight, l.limit, l.second = 60000+i, 60000, 1500 }), nil,
			"expect: warn nic_queue_full 0\nexpect: ok nic_queue_full 1"},
		{"a limit of less than two frames", busy(8, 1500, func(i int, l *look) { l.inflight, l.limit = 1500*(1+i%2), 2990 }), nil,
			"expect: warn nic_queue_full 0\nsays: 2990 bytes, less than two frames"},
		{"a limit of less than two large frames", busy(8, 9000, func(i int, l *look) { l.inflight, l.limit = 9000, 17000 }),
			func(d *hosttest.Dev) { d.Set(eth0+"mtu", "9000") }, "expect: warn nic_queue_full 0\nsays: 17000"},
		{"a small limit of a queue of small packets", busy(8, 100, func(i int, l *look) { l.inflight, l.limit = 100, 600 }), nil,
			"expect: ok nic_queue_full 0"},
		{"a small limit of a queue that is mostly empty", busy(8, 1500, func(i int, l *look) { l.inflight, l.limit = 66*(i/7), 132 }), nil,
			"expect: ok nic_queue_full 0"},
		{"timeouts that cannot be read", busy(4, 1500, func(i int, l *look) { l.inflight, l.limit = 3000*(i%2), 60000 }),
			func(d *hosttest.Dev) { always(d, "queues/tx-0/tx_timeout", "EACCES") },
			"expect: unknown nic_queue_stuck 0\nsays: tx_timeout could not be read\nsays: permission denied\nexpect: ok nic_queue_full 0"},
		{"timeouts of an idle queue that cannot be read", busy(4, 1500, func(i int, l *look) { l.inflight, l.limit = 3000*(i%2), 60000 }),
			func(d *hosttest.Dev) { always(d, "queues/tx-1/tx_timeout", "EIO") },
			"expect: ok nic_queue_stuck 0\nexpect: unknown nic_queue_stuck 1\nsays: tx_timeout could not be read"},
		{"no files of timeouts", busy(4, 1500, func(i int, l *look) { l.inflight, l.limit = 3000*(i%2), 60000 }),
			func(d *hosttest.Dev) { d.Drop(eth0+"queues/tx-0/tx_timeout", eth0+"queues/tx-1/tx_timeout") },
			"expect: ok nic_queue_stuck 0\nsays: no tx_timeout"},
		{"neither timeouts nor limits", busy(4, 1500, func(int, *look) {}),
			func(d *hosttest.Dev) { d.Drop(eth0+"queues/tx-0/tx_timeout", eth0+"queues/tx-1/tx_timeout") },
			"expect: unknown nic_queue_stuck eth0\nsays: neither"},
		{"an idle queue that cannot be read", busy(4, 1500, func(i int, l *look) { l.inflight, l.limit = 3000*(i%2), 60000 }),
			func(d *hosttest.Dev) { always(d, "queues/tx-1/byte_queue_limits/inflight", "EIO") },
			"expect: ok nic_queue_stuck 0\nexpect: unknown nic_queue_stuck 1\nsays: could not be read: queues/tx-1\nexpect: unknown nic_queue_full 1"},
		{"bytes that stood still and cannot be read any more", still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 9000, 60000 })),
			func(d *hosttest.Dev) { d.At("15s").Fail(eth0+"queues/tx-0/byte_queue_limits/inflight", "EIO") },
			"expect: unknown nic_queue_stuck 0\nsays: could not be read\nnever: ok|fail nic_queue_stuck 0"},
		{"bytes that stand still while it is switched off", still(busy(4, 1500, func(_ int, l *look) { l.inflight, l.limit = 9000, 60000 })),
			func(d *hosttest.Dev) { always(d, "carrier", "EINVAL") }, "expect: info nic_queue_stuck 0\nsays: without carrier"},
		{"full for the last minute of four", busy(48, 1500, func(i int, l *look) { l.inflight, l.limit = 100+i, 60000-59900*(i/35) }),
			func(d *hosttest.Dev) { d.Set(eth0+"mtu", "20") }, "expect: warn nic_queue_full 0\nsays: 100 bytes now, in 100 % of 12 samples"},
		{"full in the first minutes of four", busy(48, 1500, func(i int, l *look) { l.inflight, l.limit = 100+i, 100+59900*(i/35) }), nil,
			"expect: ok nic_queue_full 0\nsays: 0 % of 12"},
		{"full, and nobody knows whether packets move", busy(8, 1500, func(_ int, l *look) { l.inflight, l.limit = 60000, 60000 }),
			func(d *hosttest.Dev) { d.Drop(eth0 + "statistics/tx_packets") }, "expect: unknown nic_queue_full 0\nsays: whether packets move"},
		{"a limit that was lower when it was reached", busy(10, 1500, func(i int, l *look) { l.inflight, l.limit = 4000, 4000+56000*(i/8) }), nil,
			"expect: warn nic_queue_full 0\nsays: 60000 bytes now, in 80 %"},
		{"a driver without limits", busy(4, 1500, func(int, *look) {}), nil,
			"expect: unknown nic_queue_full eth0\nsays: does not use byte queue limits\nexpect: ok nic_queue_stuck eth0\nsays: does not use"},
		{"no files of limits", busy(4, 1500, func(int, *look) {}),
			func(d *hosttest.Dev) {
				d.Drop(eth0+"queues/tx-0/byte_queue_limits", eth0+"queues/tx-1/byte_queue_limits")
			}, "expect: unknown nic_queue_full eth0\nsays: no files\nexpect: ok nic_queue_stuck eth0"},
		{"bytes that stand still without a limit", still(busy(4, 1500, func(_ int, l *look) { l.inflight = 4500 })),
			func(d *hosttest.Dev) { d.Drop(eth0 + "queues/tx-0/byte_queue_limits/limit") },
			"expect: fail nic_queue_stuck 0\nsays: 4500 bytes have been in flight for 15s\nexpect: info nic_queue_full 0"},
		{"bytes that stand still with a limit that cannot be read", still(busy(4, 1500, func(_ int, l *look) { l.inflight = 4500 })),
			func(d *hosttest.Dev) { always(d, "queues/tx-0/byte_queue_limits/limit", "EACCES") },
			"expect: fail nic_queue_stuck 0\nexpect: info nic_queue_full 0"},
		{"a busy queue whose limit cannot be read", busy(4, 1500, func(i int, l *look) { l.inflight, l.limit = 3000*(i%2), 60000 }),
			func(d *hosttest.Dev) { always(d, "queues/tx-0/byte_queue_limits/limit", "EACCES") },
			"expect: ok nic_queue_stuck 0\nexpect: unknown nic_queue_full 0\nsays: the limit could not be read: queues/tx-0/byte_queue_limits/limit: "},
		{"an empty queue whose limit cannot be read", busy(4, 1500, func(int, *look) {}),
			func(d *hosttest.Dev) { always(d, "queues/tx-0/byte_queue_limits/limit", "EACCES") },
			"expect: ok nic_queue_stuck eth0\nexpect: unknown nic_queue_full eth0\nsays: the limit could not be read"},
		{"a limit without bytes in flight", busy(4, 1500, func(_ int, l *look) { l.limit, l.second = 60000, 1500 }),
			func(d *hosttest.Dev) { d.Drop(eth0 + "queues/tx-0/byte_queue_limits/inflight") },
			"expect: unknown nic_queue_stuck 0\nsays: no inflight\nexpect: unknown nic_queue_full 0\nexpect: ok nic_queue_stuck 1"},
		{"no files at all", busy(4, 1500, func(int, *look) {}),
			func(d *hosttest.Dev) { d.Drop(eth0 + "queues") }, "expect: unknown nic_queue_full eth0\nexpect: unknown nic_queue_stuck eth0"},
		{"files that cannot be read", busy(4, 1500, func(int, *look) {}),
			func(d *hosttest.Dev) {
				always(d, "queues/tx-0/byte_queue_limits/inflight", "EIO")
				always(d, "queues/tx-1/byte_queue_limits/inflight", "EIO")
			}, "expect: unknown nic_queue_full eth0\nsays: tx-0/byte_queue_limits\nexpect: unknown nic_queue_stuck eth0\nsays: could not be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := film(t, test.looks...)
			if test.change != nil {
				test.change(h.Dev("0000:16:00.0"))
			}
			h.Expect(test.expect)
		})
	}
}
