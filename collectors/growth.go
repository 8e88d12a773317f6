// SPDX-License-Identifier: Apache-2.0

package collectors

import "time"

// growing is how far back a counter may have risen that is growing.
const growing = 10 * time.Second

// Newest gives the samples that tell whether a counter is growing: those of
// the newest 10 s, or of the newest interval where that is longer.
func (e *Env[S]) Newest() []Sample[S] { return within(e.Past, growing) }

// Last gives the history's part that is not older than d, and the sample before
// it, at which its growth begins. It is for what clears itself after a time, in
// films too, whose history is else the whole of them.
func (e *Env[S]) Last(d time.Duration) []Sample[S] {
	for i := len(e.Past) - 1; i >= 0; i-- {
		if e.Past[len(e.Past)-1].At-e.Past[i].At >= d {
			return e.Past[i:]
		}
	}
	return e.Past
}

// Within gives the history's part that is not older than d, as the daemon does
// of a check's window. It is for shares of time, in films too, whose history is
// else the whole of them: what was long ago says nothing of now.
func (e *Env[S]) Within(d time.Duration) []Sample[S] { return within(e.Past, d) }

// Growth sums the rises of a counter over samples. A fall is a reset and starts
// anew; samples without the counter are passed over.
func Growth[S any](past []Sample[S], get func(*S) (v uint64, ok bool)) uint64 {
	var sum, last uint64
	known := false
	for i := range past {
		v, ok := get(&past[i].Row)
		if !ok {
			continue
		}
		if known && v > last {
			sum += v - last
		}
		last, known = v, true
	}
	return sum
}

// Most says whether so many of all are enough to tell what is usual: more than
// half, of at least four.
func Most(n, all int) bool { return all >= 4 && 2*n > all }

// Majority finds what more than half of all are like, and how many those are.
// Not ok is no such majority. What same(a, a) denies is like nothing.
func Majority[T any](all []T, same func(a, b T) bool) (usual T, n int, ok bool) {
	for _, usual := range all {
		n := 0
		for _, other := range all {
			if same(usual, other) {
				n++
			}
		}
		if 2*n > len(all) {
			return usual, n, true
		}
	}
	return usual, 0, false
}
