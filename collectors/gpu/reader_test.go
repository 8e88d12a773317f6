// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
)

// A driver that answers what it is told to.
type driver struct {
	answer *gpu.Snapshot
	err    error
}

func (d *driver) Snapshot([]string) (*gpu.Snapshot, error) { return d.answer, d.err }
func (d *driver) Await(context.Context, []string)          {}

// answers lets the driver have been asked some seconds ago, about a GPU that
// is busy on a slow link.
func (d *driver) answers(ago time.Duration) {
	busy, now, most, width := 97, 1, 5, 16
	d.answer = &gpu.Snapshot{Asked: time.Now().Add(-ago), Devices: []gpu.Device{{
		Address: "a", Utilization: &busy, PCIe: &gpu.PCIe{Generation: &now, GenerationMax: &most, Width: &width, WidthMax: &width},
	}}}
}

// An answer that is still the newest is no second reading.
func TestSameAnswer(t *testing.T) {
	d := &driver{}
	root := t.TempDir()
	for _, dir := range []string{"sys", "proc"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h, err := probes.Live(root, probes.Options{GPUs: d})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{h: h}
	read := func(at time.Duration) *Reading {
		got, err := r.Read(at)
		if (err != nil) != (d.err != nil) {
			t.Fatal(err)
		}
		return got
	}
	d.answers(time.Second)
	first := read(10 * time.Second).Asked
	for at := 11 * time.Second; at < 40*time.Second; at += time.Second {
		if got := read(at); got.SlowBusy["a"] != 0 || got.Asked != first || first > 9*time.Second {
			t.Fatalf("at %s: asked at %s, busy for %s", at, got.Asked, got.SlowBusy["a"])
		}
	}
	d.answers(0)
	read(40 * time.Second)
	d.answers(0)
	last := read(43 * time.Second)
	if want := last.Asked - first; last.SlowBusy["a"] != want || want < 30*time.Second {
		t.Errorf("busy for %s, want %s", last.SlowBusy["a"], want)
	}
	// Nobody knows what was while the driver did not answer.
	d.err = errors.New("hangs")
	read(44 * time.Second)
	d.err = nil
	d.answers(0)
	if got := read(100 * time.Second).SlowBusy["a"]; got != last.SlowBusy["a"] {
		t.Errorf("busy for %s, want %s", got, last.SlowBusy["a"])
	}
}

// A load of long ago says nothing of now.
func TestOldLoad(t *testing.T) {
	d := &driver{}
	d.answers(0)
	r := &Reading{Snapshot: *d.answer, Asked: 10 * time.Second}
	for at, old := range map[time.Duration]bool{10 * time.Second: false, 15 * time.Second: false, 15*time.Second + 1: true} {
		if r.old(&collectors.View{At: at}) != old {
			t.Errorf("at %s it is old: %t", at, !old)
		}
	}
	if s := withoutLoad(&r.Snapshot); s.Devices[0].Utilization != nil || r.Devices[0].Utilization == nil || s.Devices[0].PCIe == nil {
		t.Errorf("%+v", s)
	}
}
