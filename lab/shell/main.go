// SPDX-License-Identifier: Apache-2.0

// Command shell gives a person a lab scenario's machine to play in, or runs one script in it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/fabricd/fabricd/lab"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run() error {
	name := flag.String("scenario", "healthy", "whose machine")
	upTo := flag.Int("steps", 0, "have this many of the scenario's steps happen first")
	script := flag.String("c", "", "run this in the guest instead of a shell, and end")
	suite := flag.String("suite", "", "take the kernel from this suite instead of the machine's own")
	flag.Parse()
	s := lab.Find(*name)
	if s == nil {
		return fmt.Errorf("no scenario is named %s; there are: %s", *name, strings.Join(names(), " "))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	bench, err := lab.NewBench(ctx, ".", *suite, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	if err != nil {
		return err
	}
	defer bench.Close()
	if *script != "" {
		text, err := bench.Script(ctx, s, *upTo, *script)
		fmt.Print(text)
		return err
	}
	return bench.Shell(ctx, s, *upTo)
}

func names() []string {
	var all []string
	for _, s := range lab.Scenarios() {
		all = append(all, s.Name)
	}
	return all
}
