// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"strings"
	"testing"
)

func TestSoftnet(t *testing.T) {
	zeros := strings.Repeat(" 00000000", 9)
	line := func(drops, squeezes, cpu string) string {
		return "0000ffff " + drops + " " + squeezes + zeros + " " + cpu + " 00000000\n"
	}
	var s softnet
	for _, step := range []struct {
		text              string
		dropped, squeezed uint64
	}{
		{line("00000001", "fffffffe", "00000000") + line("00000002", "00000000", "00000003"), 3, 1<<32 - 2},
		{line("00000001", "00000003", "00000000") + line("00000002", "00000000", "00000003"), 3, 1<<32 + 3}, // it wrapped
		{line("00000005", "00000003", "00000003"), 6, 1<<32 + 6},                                            // processor 0 went offline
		{line("00000002", "00000003", "00000000") + line("00000005", "00000003", "00000003"), 7, 1<<32 + 6},
	} {
		got, err := s.take([]byte(step.text))
		if err != nil || got.Dropped != step.dropped || got.Squeezed != step.squeezed {
			t.Errorf("%v, %v, not %d and %d", got, err, step.dropped, step.squeezed)
		}
	}
	old, err := (&softnet{}).take([]byte("00000001 00000002 00000003 00000000\n00000001 00000002 00000003 00000000\n"))
	if err != nil || old.Dropped != 4 || old.Squeezed != 6 {
		t.Errorf("%v %v", old, err)
	}
	for _, bad := range []string{"1 2\n", "x y z\n", "\n", "1 100000000 1\n"} {
		if _, err := (&softnet{}).take([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzSoftnet(f *testing.F) {
	f.Add([]byte("00005279 00000000 00000001 00000000\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { (&softnet{}).take(b) }) //nolint:errcheck // it must not panic
}
