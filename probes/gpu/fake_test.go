// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests' child is this test program, run again through a script.

func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_CHILD"); mode != "" {
		os.Exit(fakeChild(mode, os.Getenv("FAKE_DIR")))
	}
	os.Exit(m.Run())
}

// fake makes a program that behaves as mode says.
func fake(t testing.TB, mode string) (program, dir string) {
	t.Helper()
	dir = t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "child")
	script := fmt.Sprintf("#!/bin/sh\nGORACE=atexit_sleep_ms=0 FAKE_CHILD=%s FAKE_DIR=%s exec %s\n", mode, dir, own)
	// Written by another process: what this one has open for writing, a child
	// forked meanwhile has too, and then it cannot be started (ETXTBSY).
	install := exec.Command("install", "-m", "755", "/dev/stdin", program)
	install.Stdin = strings.NewReader(script)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program, dir
}

const twoGPUs = `{"driver_version":"1","devices":[{"index":0,"pci_bus_id":"00000000:18:00.0","utilization_gpu":%d},{"index":1,"pci_bus_id":"00000000:19:00.0","lost":%t}]}`

// fakeChild follows the protocol, but for what its mode says.
func fakeChild(mode, dir string) int {
	lives := note(dir, "lives")
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	switch mode {
	case "daemon": // no child, but one that has one
		NewClient(os.Getenv("FAKE_PROGRAM")).Await(context.Background(), nil)
		say("ready")
		time.Sleep(time.Hour)
	case "absent":
		fmt.Fprintln(os.Stderr, "there is no driver")
		return ExitAbsent
	case "cannot":
		return ExitUsage
	case "symbol-at-start":
		fmt.Fprintln(os.Stderr, "child: symbol lookup error: undefined symbol: nvmlInit_v2")
		return 127
	case "starts-never":
		time.Sleep(time.Hour)
	case "other-version":
		say(`{"ready": {"protocol": 99}}`)
		time.Sleep(time.Hour)
	case "deaf": // to the end of its input, and to signals
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	say(`{"ready": {"protocol": 1, "driver_version": "1"}}`)
	s := bufio.NewScanner(os.Stdin)
	for n := 0; s.Scan(); n++ {
		var r Request
		if json.Unmarshal(s.Bytes(), &r) != nil {
			return 70
		}
		note(dir, "asked-"+strings.Join(r.Without, "+"))
		if slices.Contains(r.Exclude, "note") {
			note(dir, "excluded")
		}
		if code := misbehave(mode, n, lives, r, say); code >= 0 {
			return code
		}
	}
	if mode == "deaf" {
		time.Sleep(time.Hour)
	}
	return 0
}

// misbehave answers a request; not -1 is the exit code.
func misbehave(mode string, n, lives int, r Request, say func(string, ...any)) int {
	part := func(name string) bool {
		if slices.Contains(r.Without, name) {
			return false
		}
		say(`{"id": %d, "doing": %q}`, r.ID, name)
		return true
	}
	part("pcie")
	switch {
	case mode == "hangs", mode == "hangs-once" && lives == 1 && n == 1, mode == "hangs-in-part" && part("fabric"):
		time.Sleep(time.Hour)
	case mode == "dies-in-part" && part("nvlinks"):
		fmt.Fprintln(os.Stderr, "child: symbol lookup error: undefined symbol: nvmlDeviceGetNvLinkState")
		return 127
	case mode == "shot-in-part" && part("nvlinks"):
		syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // it does not return
	case mode == "slow-first" && n == 0:
		time.Sleep(100 * time.Millisecond)
		say(`{"id": %d, "snapshot": %s}`, r.ID, fmt.Sprintf(twoGPUs, n, false))
	case mode == "dies-always":
		return 1
	case mode == "ends":
		return 0
	case mode == "garbage":
		say("\x00\xff{{{")
	case mode == "half":
		fmt.Print(`{"id": 1, "snapsh`)
		return 0
	case mode == "long":
		for range 40 {
			fmt.Print(strings.Repeat(" ", 1<<20))
		}
	case mode == "flood":
		for {
			say(`{"id": %d, "doing": "x"}`, r.ID)
		}
	case mode == "talks":
		say(`{"id": %d, "snapshot": %s}`, r.ID, fmt.Sprintf(twoGPUs, 1, false))
		say(`{"id": %d, "snapshot": %s}`, r.ID, fmt.Sprintf(twoGPUs, 1, false))
	case mode == "wrong-id":
		say(`{"id": %d, "snapshot": {}}`, r.ID+1)
	case mode == "wrong-shape":
		say(`{"id": %d, "snapshot": {"devices": [{"index": 0}]}}`, r.ID)
	case mode == "no-snapshot":
		say(`{"id": %d}`, r.ID)
	case mode == "deep":
		say(`{"id": %d, "snapshot": %s}`, r.ID, strings.Repeat("[", 1<<20))
	case mode == "refuses":
		say(`{"id": %d, "error": "no such question: \u001b[31m"}`, r.ID)
	case mode == "same":
		say(`{"id": %d, "same_links": %t, "snapshot": {"devices":[{"pci_bus_id":"0000:18:00.0", %s "utilization_gpu": %d}]}}`, r.ID, n > 0, []string{"", `"nvlinks":[{"link":3}],`}[max(0, 1-n)], n)
	default:
		say(`{"id": %d, "snapshot": %s}`, r.ID, fmt.Sprintf(twoGPUs, n, mode == "loses" && lives == 1))
	}
	return -1
}

// note counts an event in a file, and gives the count.
func note(dir, name string) int {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return -1
	}
	defer f.Close()
	f.WriteString("x") //nolint:errcheck // counted below
	return noted(dir, name)
}

func noted(dir, name string) int {
	b, _ := os.ReadFile(filepath.Join(dir, name))
	return len(b)
}

// pidOf finds the process of a fake by its environment.
func pidOf(t *testing.T, dir string) int {
	t.Helper()
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range list {
		b, _ := os.ReadFile(name)
		var pid int
		if _, err := fmt.Sscanf(name, "/proc/%d/environ", &pid); err == nil && strings.Contains(string(b), "FAKE_DIR="+dir+"\x00") {
			return pid
		}
	}
	return 0
}
