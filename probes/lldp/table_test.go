// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// of gives a frame of a chassis and a port.
func of(chassis, port string, ttl uint16) []byte {
	return (&Frame{
		Destination: nearest, Source: MAC{2, 0, 0, 0, 0, 1}, TTL: ttl,
		Chassis: ChassisID{ChassisLocal, chassis}, Port: PortID{PortName, port},
	}).Append(nil)
}

func TestTable(t *testing.T) {
	table := NewTable()
	at := func(s int) time.Duration { return time.Duration(s) * time.Second }
	receive := func(s int, b []byte, want Result) {
		t.Helper()
		if got := table.Receive(b, at(s)); got != want {
			t.Errorf("at %d s: %s, want %s", s, got, want)
		}
	}
	known := func(s, want int) {
		t.Helper()
		if list := table.Neighbours(at(s)); len(list) != want {
			t.Errorf("at %d s: %d neighbours, want %d: %v", s, len(list), want, list)
		}
	}
	receive(0, of("a", "1", 120), Accepted)
	receive(30, of("a", "1", 120), Accepted)
	receive(30, of("a", "2", 40), Accepted)
	known(69, 2)
	known(70, 1) // the second's time is over
	receive(80, of("a", "1", 0)[:40], Shutdown)
	known(80, 0)
	receive(81, of("a", "1", 0), Shutdown)
	receive(82, nil, Malformed)
	receive(83, append([]byte{0xff}, of("a", "1", 120)[1:]...), Elsewhere)
	if table.Moments != (Moments{Heard: at(30), Changed: at(30), Gone: at(81), Full: -1}) {
		t.Errorf("%+v", table)
	}
	for i := range maxNeighbours {
		receive(90, of(fmt.Sprint(i), "1", 120), Accepted)
	}
	receive(91, of("late", "1", 120), Refused)
	receive(92, of("0", "1", 30), Accepted) // who is known stays known
	receive(123, of("late", "1", 120), Accepted)
	if table.Counts != (Counts{Accepted: 3 + maxNeighbours + 2, Shutdown: 2, Malformed: 1, Elsewhere: 1, Refused: 1}) || table.Full != at(91) || table.Changed != at(123) {
		t.Errorf("%+v", table)
	}
	receive(130, of("1", "1", 3600), Accepted)
	table.LinkLost(at(130))
	receive(131, of("new", "1", 120), Accepted) // in the place of one of before
	receive(132, of("newer", "1", 120), Accepted)
	known(132, maxNeighbours)
	if !slices.ContainsFunc(table.Neighbours(at(132)), func(n Neighbour) bool { return n.Chassis.Value == "1" }) {
		t.Error("who was heard since the link was lost gave his place up")
	}
}

// A storm of one neighbour's frames, or of broken ones, costs next to nothing.
func TestTableAllocations(t *testing.T) {
	table, same, broken := NewTable(), of("a", "1", 120), of("a", "1", 120)[:20]
	table.Receive(same, 0)
	if n := testing.AllocsPerRun(100, func() { table.Receive(same, time.Second); table.Receive(broken[:14], time.Second) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

// Who is back is the one who was there, unless another was heard in between.
func TestChanged(t *testing.T) {
	table := NewTable()
	for i, step := range []struct {
		who     string
		changed time.Duration
	}{{"a", -1}, {"a", -1}, {"b", 2}, {"b", 2}, {"a", 4}, {"a", 4}} {
		at := time.Duration(i) * time.Minute
		table.Receive(of(step.who, "1", 30), at) // forgotten before the next
		if want := max(step.changed*time.Minute, -1); table.Changed != want {
			t.Errorf("%s at %s: changed at %s, want %s", step.who, at, table.Changed, want)
		}
	}
}

// What a frame of a storm costs: the same one again, one of ever other systems,
// or garbage.
func BenchmarkReceive(b *testing.B) {
	for _, storm := range storms() {
		b.Run(storm.name, func(b *testing.B) {
			table, i := NewTable(), 0
			b.ReportAllocs()
			for b.Loop() {
				table.Receive(storm.frames[i%len(storm.frames)], 0)
				i++
			}
		})
	}
}

type storm struct {
	name   string
	frames [][]byte
}

// storms are kinds of frames that a broken or hostile neighbour sends without end.
func storms() []storm {
	f := full()
	list := []storm{{"same", [][]byte{f.Append(nil)}}, {"strangers", nil}, {"garbage", nil}}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		f.Chassis.Value = string([]byte{2, 0, 0, 0, byte(i >> 8), byte(i)})
		list[1].frames = append(list[1].frames, f.Append(nil))
		g := f.Append(nil)
		for j := ethernetHeader + tagLen; j < len(g); j++ {
			g[j] = byte(random.Uint32())
		}
		list[2].frames = append(list[2].frames, g)
	}
	return list
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("# a comment\n0180 c200\n\nzz\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		table := NewTable()
		for _, frame := range Frames(b) {
			table.Receive(frame, 0)
		}
	})
}
