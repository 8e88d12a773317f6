// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"context"
	"sync"
	"time"
)

// Run reads and judges a live host until ctx is done.
func (e *Engine) Run(ctx context.Context) {
	watch := make(chan struct{})
	go func() { e.options.Host.Watch(ctx, e.poke); close(watch) }()
	if !e.awaitInventory(ctx) {
		return // it hangs: there is nothing to end
	}
	var attempts sync.WaitGroup
	e.reconcile(ctx, &attempts)
	e.awaitFirst(ctx, &attempts)
	for ctx.Err() == nil {
		begin := e.clock.now()
		e.judge(begin, live)
		e.period = e.stretch(e.clock.now() - begin)
		next := time.NewTimer(begin + e.period - e.clock.now())
		select {
		case <-ctx.Done():
		case <-next.C:
		case <-e.changed:
			e.reconcile(ctx, nil)
		}
		next.Stop()
	}
	e.stop(watch)
}

// stretch gives the time between judgements: a second, or more where a
// judgement costs so much that its share of a core would be over the budget.
func (e *Engine) stretch(cost time.Duration) time.Duration {
	if e.options.Window > 0 {
		return e.judgePeriod()
	}
	e.cost += (cost - e.cost) / 8
	return max(judgeEvery, min(time.Duration(float64(e.cost)/e.options.Budget.Judge), judgeMost))
}

// awaitInventory waits for the first inventory, which Watch takes; in a
// recording nothing can hang.
func (e *Engine) awaitInventory(ctx context.Context) (ok bool) {
	h := e.options.Host
	if h.Recorded() {
		h.Inventory()
	}
	patience := time.NewTimer(inventoryPatience)
	defer patience.Stop()
	complained := ""
	for h.Taken() == nil {
		select {
		case <-patience.C:
			complained = "the inventory is not there yet, and nothing can be judged: the kernel does not answer about /" + h.Looking()
			e.log(complained, false)
		case <-ctx.Done():
			return false
		case <-e.changed:
		}
	}
	if complained != "" {
		e.log(complained, true)
	}
	return true
}

func (e *Engine) log(problem string, gone bool) {
	if e.options.Log != nil {
		e.options.Log(problem, gone)
	}
}

// stop ends what Run began. What hangs in a driver is left behind.
func (e *Engine) stop(watch <-chan struct{}) {
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	for _, r := range e.runners {
		r.stop(stopPatience)
	}
	select {
	case <-watch:
	case <-patience.C:
	}
}

// judgePeriod is a second, or less where a short window has to hold samples.
func (e *Engine) judgePeriod() time.Duration {
	if e.options.Window > 0 {
		return max(min(judgeEvery, e.options.Window/5), 10*time.Millisecond)
	}
	return judgeEvery
}

// awaitFirst waits for every unit's first attempt, but for no stuck one.
func (e *Engine) awaitFirst(ctx context.Context, attempts *sync.WaitGroup) {
	all := make(chan struct{})
	go func() { attempts.Wait(); close(all) }()
	patience := time.NewTimer(firstPatient)
	defer patience.Stop()
	select {
	case <-all:
	case <-patience.C:
	case <-ctx.Done():
	}
}

func (e *Engine) reconcile(ctx context.Context, attempts *sync.WaitGroup) {
	v := e.view(e.clock.now())
	for _, r := range e.runners {
		r.reconcile(ctx, v, true, attempts)
	}
}
