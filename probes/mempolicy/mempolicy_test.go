// SPDX-License-Identifier: Apache-2.0

package mempolicy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tests' program is this test program: it binds itself and becomes another.
func TestMain(m *testing.M) {
	if os.Getenv("BECOME") == "" {
		os.Exit(m.Run())
	}
	allowed, err := Allowed()
	if err == nil {
		err = Policy{CPUs: allowed[len(allowed)-1:], Node: 0, Strict: os.Getenv("BECOME") == "strict"}.Apply()
	}
	if err == nil {
		err = Become(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Println(err)
	os.Exit(1)
}

func become(t *testing.T, mode string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "BECOME="+mode)
	out, err := c.CombinedOutput()
	return string(out), err
}

// The kernel tells that the program runs where it was put.
func TestBecome(t *testing.T) {
	t.Parallel()
	allowed, err := Allowed()
	if err != nil || len(allowed) == 0 {
		t.Fatalf("%v, %v", allowed, err)
	}
	out, err := become(t, "strict", "/bin/sh", "-c", "cat /proc/self/status; head -1 /proc/self/numa_maps 2>/dev/null || true")
	if err != nil {
		if strings.Contains(out, "no NUMA support") {
			t.Skip(out)
		}
		t.Fatal(err, out)
	}
	if want := fmt.Sprintf("Cpus_allowed_list:\t%d\n", allowed[len(allowed)-1]); !strings.Contains(out, want) {
		t.Errorf("no %q in %s", want, out)
	}
	if strings.Contains(out, " kernelpagesize") && !strings.Contains(out, " bind:0 ") {
		t.Errorf("memory is not bound: %s", out)
	}
	_, err = become(t, "preferred", "/bin/sh", "-c", "kill -TERM $$")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.String() != "signal: terminated" {
		t.Errorf("a signal is not passed on: %v", err)
	}
	_, err = become(t, "preferred", "/bin/sh", "-c", "exit 7")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the exit status is not passed on: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	good, plain := file("good", "#!/bin/sh\n", 0o755), file("plain", "#!/bin/sh\n", 0o644)
	garbage, alone := file("garbage", "\x00\x01", 0o755), file("alone", "#!/nonexistent/sh\n", 0o755)
	t.Setenv("PATH", "/nonexistent:"+dir)
	for name, want := range map[string]string{"good": good, good: good} {
		if got, err := Find(name); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for name, code := range map[string]int{"": 127, "nosuch": 127, dir + "/nosuch": 127, "plain": 126, plain: 126, dir: 126, good + "/x": 127} {
		_, err := Find(name)
		if e := (*StartError)(nil); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, code := range map[string]int{garbage: 126, alone: 127} {
		e := (*StartError)(nil)
		if err := Become(name, []string{name}, nil); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	if got, err := mask([]int{0, 63, 64, 130}, 256); err != nil || fmt.Sprint(got) != fmt.Sprint([]uint{1<<63 | 1, 1, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]int{nil, {-1}, {256}} {
		if _, err := mask(bad, 256); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if err := (Policy{Node: 0}).Apply(); err == nil {
		t.Error("no processors are taken")
	}
}
