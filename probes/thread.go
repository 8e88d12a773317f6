// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"time"

	"golang.org/x/sys/unix"
)

// Use is what a thread has used so far; the caller locks its goroutine to the
// thread while it compares two of them. Of getrusage(2).
type Use struct {
	CPU   time.Duration // processor time
	Slept bool          // it waited for something other than a processor

	sleeps int64 // voluntary context switches
}

// ThreadUse gives what the calling thread has used, or nothing where the
// kernel does not say.
func ThreadUse() Use {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &r) != nil {
		return Use{Slept: true}
	}
	return Use{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), sleeps: r.Nvcsw}
}

// Since gives what was used after before was taken.
func (u Use) Since(before Use) Use {
	return Use{CPU: u.CPU - before.CPU, Slept: u.Slept || u.sleeps != before.sleeps}
}
