// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"context"
	"fmt"
	"time"
)

// Play runs through a recording in virtual time: a reading and a judgement at
// each mark.
func (e *Engine) Play() error {
	for i, mark := range e.options.Host.Marks() {
		if err := e.step(i, mark, played); err != nil {
			return err
		}
	}
	return nil
}

// stillEvery is how often a still picture is looked at in a replay.
const stillEvery = 10 * time.Second

// Replay runs through a recording in real time: a reading at each mark, judged
// as the daemon would have done on the machine. A film is over when its last
// mark has stood for as long as the one before. A still picture is looked at
// again and again until ctx is done, each time as if for the first: that its
// counters stand says nothing.
func (e *Engine) Replay(ctx context.Context) error {
	marks := e.options.Host.Marks()
	still := len(marks) == 1
	begin := e.clock.now()
	for i := 0; ctx.Err() == nil && i < len(marks); {
		if err := e.step(i, e.clock.now(), replayed); err != nil {
			return err
		}
		if still {
			e.clock.sleep(ctx, stillEvery)
			e.forget()
			continue
		}
		i++
		e.clock.sleep(ctx, begin+until(marks, i)-e.clock.now())
	}
	return nil
}

// step goes to a mark of the recording, reads everything and judges it.
func (e *Engine) step(mark int, at time.Duration, p pace) error {
	host := e.options.Host
	if mark > 0 {
		if err := host.Seek(mark); err != nil {
			return fmt.Errorf("mark %s: %w", host.Marks()[mark], err)
		}
	}
	host.Refresh()
	v := e.view(at)
	for _, r := range e.runners {
		r.reconcile(context.Background(), v, false, nil)
		r.readNow(at)
	}
	e.judge(at, p)
	return nil
}

// forget starts all histories anew.
func (e *Engine) forget() {
	for _, r := range e.runners {
		r.restart()
	}
}

// until gives the moment at which mark i begins, for the one after the last
// that at which the film is over.
func until(marks []time.Duration, i int) time.Duration {
	if i < len(marks) {
		return marks[i]
	}
	return 2*marks[i-1] - marks[i-2]
}

// slowest gives the longest time between two readings of a replay.
func slowest(marks []time.Duration) time.Duration {
	most := time.Duration(0)
	for i := 1; i < len(marks); i++ {
		most = max(most, marks[i]-marks[i-1])
	}
	if most == 0 {
		return stillEvery
	}
	return most
}
