// SPDX-License-Identifier: Apache-2.0

// Command demo shows fabricd at work without a cluster: a fleet of recorded
// nodes on which faults come and go, a Prometheus with fabricd's rules that
// watches it, and on the terminal what the alerts say. It is given the
// repository's root, where ./fabricd is built.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	healthy  = 8               // nodes beside those with faults
	patience = 2 * time.Second // between two looks at the alerts
)

func main() {
	fleet := flag.String("fleet", "127.0.0.1:9800", "address of the recorded nodes")
	prometheus := flag.String("prometheus", "127.0.0.1:9090", "address of the Prometheus")
	length := flag.Duration("for", time.Hour, "end after so long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	if err := demo(ctx, flag.Arg(0), *fleet, *prometheus); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// free says whether the addresses can be had, before anything is promised of them.
func free(fleet, prometheus string) error {
	for flag, address := range map[string]string{"fleet": fleet, "prometheus": prometheus} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("-%s: %w (another one is free? make demo DEMOFLAGS=-%s=127.0.0.1:PORT)", flag, err, flag)
		}
		l.Close()
	}
	return nil
}

// demo runs until ctx is done, or a program that it needs ends.
func demo(ctx context.Context, root, fleet, prometheus string) error {
	dir, err := os.MkdirTemp("", "fabricd-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := makeFleet(root, filepath.Join(dir, "fleet")); err != nil {
		return err
	}
	if err := configure(root, dir, fleet); err != nil {
		return err
	}
	if err := free(fleet, prometheus); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	var all sync.WaitGroup
	defer func() { cancel(); all.Wait() }()
	start := func(name string, args ...string) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stderr = os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		all.Go(func() { ended <- fmt.Errorf("%s: %w", filepath.Base(name), cmd.Run()) })
	}
	start(filepath.Join(root, "fabricd"), "run", "--fleet="+filepath.Join(dir, "fleet"), "--web.listen-address="+fleet, "--log.level=error")
	if err := ready(ctx, fleet, ended); err != nil {
		return err
	}
	start("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+prometheus, "--log.level=error")
	if err := ready(ctx, prometheus, ended); err != nil {
		return err
	}
	fmt.Printf(`
  nodes        http://%s/   with a page each: what is wrong, why, what to do
  alerts       http://%s/alerts
  queries      http://%s/graph

Faults come and go every two minutes; minutes of the rules' patience are seconds here. Stop with Ctrl-C.

`, fleet, prometheus, prometheus)
	return watch(ctx, prometheus, fleet, ended)
}
