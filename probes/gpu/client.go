// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Client has fabricd-nvml ask the driver, at its own pace, and keeps the
// newest answer. The program is started at the first question, started anew
// when it dies, and killed when it hangs; whoever asks the Client never waits.
type Client struct {
	path   string
	pace   pace
	newest atomic.Pointer[outcome]
	// exclude holds the globs of GPUs that are asked nothing.
	exclude atomic.Pointer[[]string]
	first   chan struct{} // closed at the first outcome

	mu      sync.Mutex // of starting and closing
	started bool
	closed  bool
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}

	// Of the goroutine that runs the child.
	without map[string]*strikes
	last    *Snapshot // the newest answer
}

// An outcome is what there is to say about the GPUs. It is never changed.
type outcome struct {
	snapshot *Snapshot
	at       time.Time
	good     time.Duration // how long the snapshot is good for
	err      error         // what to say when it is no longer
}

const goodPeriods = 3 // a snapshot is good for so many periods

// NewClient makes a client. path is the program; empty, it is looked for
// beside the daemon's own and in PATH.
func NewClient(path string) *Client { return newClient(path, defaultPace()) }

func newClient(path string, p pace) *Client {
	c := &Client{path: path, pace: p, first: make(chan struct{}), done: make(chan struct{}), without: map[string]*strikes{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Snapshot gives the newest answer, or why there is none: fs.ErrNotExist where
// there is no such driver or program. It never waits.
func (c *Client) Snapshot(exclude []string) (*Snapshot, error) {
	c.exclude.Store(&exclude)
	c.begin()
	o := c.newest.Load()
	switch {
	case o == nil:
		return nil, errStarting{}
	case o.snapshot != nil && time.Since(o.at) <= o.good:
		return o.snapshot, nil
	case o.err == nil:
		return nil, errHung{patience: o.good}
	}
	return nil, o.err
}

// Await waits until there is something to say: for those who ask only once,
// and for those who have nothing else to do.
func (c *Client) Await(ctx context.Context, exclude []string) {
	c.exclude.Store(&exclude)
	c.begin()
	select {
	case <-c.first:
	case <-c.done:
	case <-ctx.Done():
	}
}

// begin starts the goroutine that runs the child, once.
func (c *Client) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started && !c.closed {
		c.started = true
		go c.run()
	}
}

// Close ends the child and all that runs for it.
func (c *Client) Close() {
	c.mu.Lock()
	started := c.started
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	if started {
		<-c.done
	}
}

// run keeps a child alive until the end. It has a thread of its own: the
// kernel ends a child when the thread that started it does.
func (c *Client) run() {
	defer close(c.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wait := c.pace.retry
	for c.ctx.Err() == nil {
		begin := time.Now()
		err := c.serve()
		var absent errAbsent
		switch {
		case c.ctx.Err() != nil:
			return
		case errors.Is(err, errRenew):
			c.fail(errStarting{}) // once the old one's answer is too old
			continue
		case errors.As(err, &absent):
			c.publish(&outcome{err: err})
			sleep(c.ctx, c.pace.absent)
			continue
		case time.Since(begin) >= c.pace.retryMax: // it was well for long
			wait = c.pace.retry
		}
		c.fail(err)
		sleep(c.ctx, wait)
		wait = min(2*wait, c.pace.retryMax)
	}
}

// fail says what went wrong. The newest answer stays for as long as it is good.
func (c *Client) fail(err error) {
	o := outcome{}
	if old := c.newest.Load(); old != nil {
		o = *old
	}
	o.err = err
	c.publish(&o)
}

func (c *Client) publish(o *outcome) {
	if c.newest.Swap(o) == nil {
		close(c.first)
	}
}

// errRenew ends a child for a new one.
var errRenew = errors.New("renewed")

// serve starts a child and asks it until one of both ends.
func (c *Client) serve() error {
	path, err := find(c.path)
	if err != nil {
		return err
	}
	p, err := start(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errAbsent{err.Error()}
	case err != nil:
		return err
	}
	err = c.drive(p)
	if !p.end(c.pace.end) {
		c.fail(errStuck{err})
		select { // a second one would get stuck beside it
		case <-p.exited:
		case <-c.ctx.Done():
		}
	}
	if died := (errDied{}); errors.As(err, &died) {
		if absent, ok := died.absence(); ok {
			return absent
		}
	}
	c.blame(err)
	return err
}

// drive asks a child at each period.
func (c *Client) drive(p *child) error {
	a, err := p.await(c.ctx, c.pace.ready)
	switch {
	case err != nil:
		return err
	case a.Ready == nil || a.Ready.Protocol != Protocol:
		return errVersion
	}
	var spent spent
	for {
		begin := time.Now()
		a, err := p.ask(c.ctx, Request{Kind: AskSnapshot, Exclude: *c.excluded(), Without: c.avoided(begin)}, c.pace.answer)
		if err != nil {
			return err
		}
		period := max(c.pace.period, spent.usual(time.Since(begin))*time.Duration(c.pace.share))
		if err := c.take(a, begin, period); err != nil {
			return err
		}
		if c.last.lost() && time.Since(p.born) >= c.pace.renew {
			return errRenew
		}
		if err := p.idle(c.ctx, time.Until(begin.Add(period))); err != nil {
			return err
		}
	}
}

func (c *Client) excluded() *[]string {
	if globs := c.exclude.Load(); globs != nil {
		return globs
	}
	return &[]string{}
}

// take publishes an answer to what was asked at a moment.
func (c *Client) take(a *Answer, asked time.Time, period time.Duration) error {
	switch {
	case a.Error != "":
		return errors.New(childName + ": " + printable(a.Error))
	case a.Snapshot == nil:
		return fmt.Errorf("%s: %w", childName, errLine)
	}
	if err := a.Snapshot.settle(); err != nil {
		return fmt.Errorf("%s: answers nonsense: %w", childName, err)
	}
	if a.SameLinks {
		a.Snapshot.takeLinks(c.last)
	}
	a.Snapshot.Asked = asked
	c.explain(a.Snapshot)
	c.last = a.Snapshot
	c.publish(&outcome{snapshot: c.last, at: time.Now(), good: goodPeriods * period})
	return nil
}

// takeLinks takes the NVLinks over from an earlier answer.
func (s *Snapshot) takeLinks(from *Snapshot) {
	for i := range s.Devices {
		d := &s.Devices[i]
		if old := from.Find(d.Address); old != nil && !d.Gone() {
			d.NVLinks = old.NVLinks
		}
	}
}

// lost says whether the driver lost a GPU.
func (s *Snapshot) lost() bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Gone() })
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
