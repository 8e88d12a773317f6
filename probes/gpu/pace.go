// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"time"
)

// A pace is how long things may take.
type pace struct {
	period   time.Duration // between two questions
	share    int           // a question's usual cost is at most the period's share-th part
	answer   time.Duration // for an answer
	ready    time.Duration // for initialising the driver: without persistence mode, seconds a GPU
	end      time.Duration // for ending after being told to
	retry    time.Duration // before a start anew, doubled each time
	retryMax time.Duration
	absent   time.Duration // before looking again for what is absent
	renew    time.Duration // a child that lost a GPU is replaced: a new one sees it return
	forgive  time.Duration // before a part in which the driver hung twice is tried again
	pardon   time.Duration // before one in which the child died twice is
}

func defaultPace() pace {
	return pace{
		period: time.Second, share: 50, answer: 2 * time.Second, ready: 30 * time.Second, end: 500 * time.Millisecond,
		retry: time.Second, retryMax: time.Minute, absent: time.Minute, renew: 5 * time.Minute,
		forgive: 10 * time.Minute, pardon: 24 * time.Hour,
	}
}

// spent is what the newest answers took, the last one last.
type spent []time.Duration

const recentAnswers = 3 // an answer is compared with so many before it

// usual gives what an answer is charged: no more than the dearest of the few
// before it. The first one, and one among many, may have waited for a busy
// machine or for a GPU that woke; a driver that is slow is so again.
func (s *spent) usual(took time.Duration) time.Duration {
	var most time.Duration
	if len(*s) > 0 {
		most = slices.Max(*s)
	}
	*s = append(*s, took)
	*s = (*s)[max(len(*s)-recentAnswers, 0):]
	return min(took, most)
}
