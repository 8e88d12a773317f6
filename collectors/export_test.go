// SPDX-License-Identifier: Apache-2.0

package collectors

import "time"

// ReadNow takes one reading of every unit, as Play does at a mark.
func (e *Engine) ReadNow(at time.Duration) {
	for _, r := range e.runners {
		r.readNow(at)
	}
}

// JudgeNow judges as the daemon does at a tick.
func (e *Engine) JudgeNow(at time.Duration) { e.judge(at, live) }
