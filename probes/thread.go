// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadCPU gives the processor time that the calling thread has used; the
// caller locks its goroutine to the thread while it compares two of them.
func ThreadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
