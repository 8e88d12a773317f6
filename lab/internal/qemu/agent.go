// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

// An agent is the guest's first program, on the other end of a serial line.
type agent struct {
	conn   net.Conn
	lines  *bufio.Reader
	number int
}

// newAgent waits for the guest to be ready.
func newAgent(ctx context.Context, conn net.Conn) (*agent, error) {
	a := &agent{conn: conn, lines: bufio.NewReader(conn)}
	defer a.until(ctx)()
	for {
		line, err := a.lines.ReadString('\n')
		if err != nil {
			return nil, a.why(ctx, err)
		}
		if strings.HasPrefix(line, "ready ") {
			return a, nil
		}
	}
}

// until lets reading and writing fail when the context ends, up to the call of what it returns.
func (a *agent) until(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { a.conn.Close() })
}

// why prefers the context's end to what it caused.
func (a *agent) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no answer from the guest: %w", ctx.Err())
	}
	return fmt.Errorf("serial line: %w", err)
}

func (a *agent) run(ctx context.Context, script string, allowed []int) (string, error) {
	defer a.until(ctx)()
	a.number++
	if _, err := fmt.Fprintf(a.conn, "%d %d\n%s", a.number, len(script), script); err != nil {
		return "", a.why(ctx, err)
	}
	line, err := a.lines.ReadString('\n')
	if err != nil {
		return "", a.why(ctx, err)
	}
	var number, status, out, errs int
	if _, err := fmt.Sscan(line, &number, &status, &out, &errs); err != nil || number != a.number {
		return "", fmt.Errorf("serial line: %q is no answer to %d", line, a.number)
	}
	text := make([]byte, out+errs)
	if _, err := io.ReadFull(a.lines, text); err != nil {
		return "", a.why(ctx, err)
	}
	if status != 0 && !slices.Contains(allowed, status) {
		return string(text[:out]), fmt.Errorf("in the guest, %q: status %d: %s%s", script, status, text[:out], text[out:])
	}
	return string(text[:out]), nil
}
