// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/lab/internal/qemu"
)

// A Guest is a scenario's machine while it runs.
type Guest struct {
	machine *qemu.Machine
}

// statuses are those with which fabricd check ends when it has judged.
var statuses = []int{1, 2, 3}

// calm is the configuration of daemons. An emulated processor does so little in a second that they would judge every five; nor
// has it time for ten readings of RDMA's counters.
const calm = "budget: {device: 50, all: 50, judge: 50}\ncollectors: {rdma: {interval: 1s}}"

// configFile is that of the daemon, and of its film.
const configFile = "/etc/fabricd.yaml"

const daemonURL = "http://127.0.0.1:9794"

// Run runs a script in the guest and returns what it says; a status other than 0 is an error.
func (g *Guest) Run(ctx context.Context, script string) (string, error) {
	return g.machine.Run(ctx, script)
}

func (g *Guest) monitor(ctx context.Context, command string) error {
	answer, err := g.machine.Monitor(ctx, command)
	if err == nil && strings.HasPrefix(answer, "Error") {
		err = fmt.Errorf("monitor: %s: %s", command, answer)
	}
	return err
}

// setUp loads what the scenario needs and shows its tree.
func (g *Guest) setUp(ctx context.Context, s *Scenario) error {
	var b strings.Builder
	b.WriteString("set -e\n")
	drivers := s.Drivers
	if s.Tree.has("rdma=") {
		drivers = append(slices.Clone(drivers), "ib_core")
	}
	for _, driver := range drivers {
		fmt.Fprintf(&b, "modprobe %s\n", driver)
	}
	if s.Tree != nil {
		for _, module := range s.Tree.modules() {
			fmt.Fprintf(&b, "insmod /lib/lab/%s.ko\n", module)
		}
		fmt.Fprintf(&b, "cat > %stopology <<'END'\n%sEND\necho 1 > %sstart\n", debugfs, s.Tree, debugfs)
	}
	if _, err := g.Run(ctx, b.String()); err != nil {
		return err
	}
	for _, do := range s.Before {
		if err := do(ctx, g); err != nil {
			return err
		}
	}
	if !s.Daemon {
		return nil
	}
	return g.startDaemon(ctx, s)
}

// startDaemon starts the daemon, and the film if a step is to be replayed, and waits for the first findings and the first reading.
func (g *Guest) startDaemon(ctx context.Context, s *Scenario) error {
	script := "mkdir -p /etc; cat > " + configFile + " <<'END'\n" + calm + "\n" + s.Config + "\nEND\n" +
		"fabricd run --config.file " + configFile + " --web.listen-address=127.0.0.1:9794 >/tmp/daemon.log 2>&1 &\n"
	if s.Steps[0].Unreplayed == "" {
		script += "fabricd record --config.file " + configFile + " --keep-identities --for 1h --every 2s -o " + filmFile + " 2>/tmp/film.log & echo $! >/tmp/film.pid\n" +
			"while kill -0 $! && ! grep -q filming /tmp/film.log; do usleep 50000; done; grep filming /tmp/film.log"
	}
	if _, err := g.Run(ctx, script); err != nil {
		return err
	}
	return g.awaitDaemon(ctx)
}

// filmFile is where the film of a daemon's guest is written when it ends: fabricd record reads the guest every other second all the time.
const filmFile = "/tmp/film.txtar"

// filmed waits until the film shows what is now: it sees only what is when it looks.
func filmed() Action { return Wait(3 * second) }

// film ends the film, with a reading of now, and gets it.
func (g *Guest) film(ctx context.Context) (string, error) {
	return g.bulk(ctx, "kill $(cat /tmp/film.pid); while [ ! -e "+filmFile+" ]; do usleep 50000; done; cat "+filmFile)
}

// awaitDaemon waits for the daemon's first findings.
func (g *Guest) awaitDaemon(ctx context.Context) error {
	for {
		_, err := g.Run(ctx, "wget -qO /dev/null "+daemonURL+"/api/v1/findings")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// check runs fabricd check over a window, or asks the daemon.
func (g *Guest) check(ctx context.Context, daemon bool, window time.Duration) (*collectors.Report, error) {
	command := "fabricd check --format json --window " + window.String()
	if daemon {
		command = "fabricd check --format json --from " + daemonURL
	}
	text, err := g.bulk(ctx, command, statuses...)
	if err != nil {
		return nil, err
	}
	if text == "" { // a short window on a slow machine: it ended before the first reading
		return &collectors.Report{}, nil
	}
	return parseReport([]byte(text))
}

func parseReport(text []byte) (*collectors.Report, error) {
	report := &collectors.Report{}
	if err := json.Unmarshal(text, report); err != nil {
		return nil, fmt.Errorf("fabricd check: %w in %.300q", err, text)
	}
	return report, nil
}

// metrics gets the daemon's exposition.
func (g *Guest) metrics(ctx context.Context) (string, error) {
	return g.bulk(ctx, "wget -qO- "+daemonURL+"/metrics")
}

// record gets a recording of the guest.
func (g *Guest) record(ctx context.Context) (string, error) {
	return g.bulk(ctx, "fabricd record --keep-identities --force -o /tmp/host.txtar >&2 && cat /tmp/host.txtar")
}

// bulk runs a script that says much, and may end with some statuses besides 0: the serial line takes its time for each byte.
func (g *Guest) bulk(ctx context.Context, script string, allowed ...int) (string, error) {
	packed, err := g.machine.Run(ctx, "( set -e; "+script+" ) > /tmp/bulk; status=$?; gzip -1 -c /tmp/bulk; exit $status", allowed...)
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(bytes.NewReader([]byte(packed)))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}
