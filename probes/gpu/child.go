// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

const (
	childName = "fabricd-nvml"
	maxLine   = 4 << 20 // an answer for 16 GPUs with 36 links each is 100 KB
	maxStderr = 4 << 10 // kept of what the child complains of
	maxDoing  = 4096    // parts of one answer: 16 GPUs have some hundred
)

// errLine is a line that does not follow the protocol.
var errLine = errors.New("answers what was not asked")

// A child is one running fabricd-nvml.
type child struct {
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	lines  chan []byte   // closed at the end of output
	quit   chan struct{} // closed: nobody takes lines any more
	exited chan struct{} // closed: the process is no more, err says how
	err    error
	tooBig bool // a line was longer than maxLine
	stderr complaint
	born   time.Time
	lastID uint64
	doing  string // the part that it said it began
}

// start starts the program. Its process group is its own, so that a ^C at the
// daemon's terminal leaves its end to the daemon; a daemon that is killed takes
// it along. The caller's goroutine is locked to its thread, and stays so for as
// long as the child lives.
func start(path string, args ...string) (*child, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		in.Close()
		return nil, err
	}
	defer stdin.Close()
	defer stdout.Close()
	p := &child{
		cmd: exec.Command(path, args...), in: in, out: out, born: time.Now(),
		lines: make(chan []byte), quit: make(chan struct{}), exited: make(chan struct{}),
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, &p.stderr
	p.cmd.Env = environment(os.Environ())
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 200 * time.Millisecond // for descendants that hold its standard error
	if err := p.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	go p.read()
	go func() { p.err = p.cmd.Wait(); close(p.exited) }()
	return p, nil
}

// environment leaves out LD_BIND_NOW: the child's calls are resolved when they
// are made, since no driver has all of them.
func environment(all []string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return strings.HasPrefix(s, "LD_BIND_NOW=") })
}

// read hands over the lines of the child until its output ends.
func (p *child) read() {
	defer close(p.lines)
	s := bufio.NewScanner(p.out)
	s.Buffer(make([]byte, 0, 16<<10), maxLine)
	for s.Scan() {
		select {
		case p.lines <- bytes.Clone(s.Bytes()):
		case <-p.quit:
			return
		}
	}
	p.tooBig = errors.Is(s.Err(), bufio.ErrTooLong)
}

// ask sends a request and waits for its answer.
func (p *child) ask(ctx context.Context, r Request, patience time.Duration) (*Answer, error) {
	p.lastID++
	r.ID, r.DeadlineMS = p.lastID, patience.Milliseconds()
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	p.in.SetWriteDeadline(time.Now().Add(patience)) //nolint:errcheck // a pipe has deadlines
	if _, err := p.in.Write(append(b, '\n')); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, errHung{patience, p.doing}
	}
	return p.await(ctx, patience)
}

// await takes lines until one is the answer to the last request.
func (p *child) await(ctx context.Context, patience time.Duration) (*Answer, error) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for range maxDoing {
		select {
		case b, ok := <-p.lines:
			if !ok {
				return nil, p.death()
			}
			a := &Answer{}
			if err := json.Unmarshal(b, a); err != nil {
				return nil, fmt.Errorf("%s: answers no JSON: %w", childName, err)
			}
			if a.ID != p.lastID {
				return nil, fmt.Errorf("%s: %w", childName, errLine)
			}
			if p.doing = printable(a.Doing); a.Doing == "" {
				return a, nil
			}
		case <-deadline.C:
			return nil, errHung{patience, p.doing}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("%s: begins more than %d parts in one answer", childName, maxDoing)
}

// idle waits until it is time for the next question. Whatever the child says
// meanwhile is too much.
func (p *child) idle(ctx context.Context, d time.Duration) error {
	next := time.NewTimer(d)
	defer next.Stop()
	select {
	case _, ok := <-p.lines:
		if !ok {
			return p.death()
		}
		return fmt.Errorf("%s: %w", childName, errLine)
	case <-next.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// death says why the output ended. What is still alive then is killed.
func (p *child) death() error {
	if p.tooBig {
		return fmt.Errorf("%s: answers more than %d MiB in one line", childName, maxLine>>20)
	}
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-p.exited:
	case <-patience.C:
		return fmt.Errorf("%s: closed its output and runs on", childName)
	}
	died := errDied{status: "ended by itself", doing: p.doing, words: p.stderr.first()}
	if exit := (*exec.ExitError)(nil); errors.As(p.err, &exit) {
		died.code, died.status = exit.ExitCode(), exit.Error()
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			died.signal = s.Signal()
		}
	}
	return died
}

// end stops the child: it is asked to, by the end of its input, and then
// killed. False is a process that even that does not end: it hangs in the
// driver.
func (p *child) end(patience time.Duration) bool {
	p.in.Close()
	close(p.quit)
	defer p.out.Close()
	defer p.killGroup() // whatever it left behind
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	}
	p.killGroup()
	timer.Reset(patience)
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// killGroup kills the child and all that it started.
func (p *child) killGroup() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may have ended meanwhile
}

// A complaint keeps the beginning of what the child complains of.
type complaint struct {
	mu sync.Mutex
	b  []byte
}

func (t *complaint) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[:min(len(b), maxStderr-len(t.b))]...)
	return len(b), nil
}

// first gives the first line: the others, if any, are a stack.
func (t *complaint) first() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.b)), "\n")
	return printable(line)
}

// printable makes a child's words fit for a log and for a JSON key.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, s[:min(len(s), 300)])
	return s
}
