// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"context"
	"net"
	"strings"
)

// prompt is what the human monitor ends each answer with.
const prompt = "(qemu) "

// A monitor is QEMU's human monitor.
type monitor struct{ conn net.Conn }

func newMonitor(conn net.Conn) (*monitor, error) {
	m := &monitor{conn}
	_, err := m.answer()
	return m, err
}

// command gives a command and returns the answer: what stands after the line that echoes it.
func (m *monitor) command(ctx context.Context, text string) (string, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := m.conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := m.conn.Write([]byte(text + "\n")); err != nil {
		return "", err
	}
	all, err := m.answer()
	_, answer, _ := strings.Cut(strings.ReplaceAll(all, "\r", ""), "\n")
	return strings.TrimSpace(strings.TrimSuffix(answer, prompt)), err
}

// answer reads up to the next prompt.
func (m *monitor) answer() (string, error) {
	var all []byte
	b := make([]byte, 4096)
	for {
		n, err := m.conn.Read(b)
		all = append(all, b[:n]...)
		if bytes.HasSuffix(all, []byte(prompt)) || err != nil {
			return string(all), err
		}
	}
}
