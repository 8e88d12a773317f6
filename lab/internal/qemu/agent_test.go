// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// guest plays the guest's first program: it answers each script by the lines given.
func guest(t *testing.T, answers ...string) *agent {
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	go func() {
		fmt.Fprint(there, "noise\nready 6.1.0\n")
		lines := bufio.NewReader(there)
		for _, answer := range answers {
			var number, size int
			head, _ := lines.ReadString('\n')
			fmt.Sscan(head, &number, &size)          //nolint:errcheck // the agent's own
			io.CopyN(io.Discard, lines, int64(size)) //nolint:errcheck
			fmt.Fprint(there, strings.ReplaceAll(answer, "#", fmt.Sprint(number)))
		}
	}()
	a, err := newAgent(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgent(t *testing.T) {
	a := guest(t, "# 0 3 4\nout\nerr", "# 2 0 5\nwrong", "# 2 2 0\nok", "7 0 0 0\n", "garbage\n")
	for _, test := range []struct {
		allowed   []int
		out, fail string
	}{
		{nil, "out", ""},
		{nil, "", "status 2: wrong"},
		{[]int{2}, "ok", ""},
		{nil, "", "is no answer"},
		{nil, "", "is no answer"},
	} {
		out, err := a.run(t.Context(), "true", test.allowed)
		if out != test.out || (err == nil) != (test.fail == "") || err != nil && !strings.Contains(err.Error(), test.fail) {
			t.Errorf("run gives %q, %v; want %q, %q", out, err, test.out, test.fail)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.run(ctx, "true", nil); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("a guest that is silent: %v", err)
	}
}

func TestArguments(t *testing.T) {
	real := strings.Join(Options{Dir: "/d", Nodes: 2, Append: "numa=off"}.arguments(), " ")
	virtual := strings.Join(Options{Dir: "/d", Guest: true}.arguments(), " ")
	for _, want := range []string{",-hypervisor", "product=" + product, " numa=off", "nodeid=1", "-smp 2,sockets=2"} {
		if !strings.Contains(real, want) {
			t.Errorf("no %s in %s", want, real)
		}
	}
	for _, not := range []string{"hypervisor", "smbios", "numa"} {
		if strings.Contains(virtual, not) {
			t.Errorf("%s in %s", not, virtual)
		}
	}
}
