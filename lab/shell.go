// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Script boots a scenario's machine, has its first steps happen, runs a script and returns what it says.
func (b *Bench) Script(ctx context.Context, s *Scenario, steps int, script string) (string, error) {
	var text string
	err := b.with(ctx, s, steps, false, func(g *Guest) (err error) {
		text, err = g.Run(ctx, script)
		return err
	})
	return text, err
}

// Shell boots a scenario's machine, has its first steps happen, and gives its console to a person until the shell ends.
func (b *Bench) Shell(ctx context.Context, s *Scenario, steps int) error {
	return b.with(ctx, s, steps, true, func(g *Guest) error {
		if _, err := g.Run(ctx, help(s, steps)+shellScript); err != nil {
			return err
		}
		g.machine.Wait()
		return nil
	})
}

// shellScript starts a shell on the console; when it ends, so does the machine.
const shellScript = `
{ cat /etc/help; cd; setsid cttyhack sh -i; poweroff -f; } </dev/ttyS0 >/dev/ttyS0 2>&1 3<&- &
`

// with boots a machine for what use does.
func (b *Bench) with(ctx context.Context, s *Scenario, steps int, interactive bool, use func(*Guest) error) error {
	dir, err := os.MkdirTemp("", "lab-"+s.Name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g, err := b.start(ctx, s, dir, interactive)
	if err != nil {
		return err
	}
	defer g.machine.Stop()
	for i := range min(steps, len(s.Steps)) {
		for _, do := range s.Steps[i].Do {
			if err := do(ctx, g); err != nil {
				return err
			}
		}
	}
	return use(g)
}

// help is a script that writes what a person should know.
func help(s *Scenario, steps int) string {
	var b strings.Builder
	b.WriteString("mkdir -p /etc; cat > /etc/help <<'END'\n\n")
	fmt.Fprintf(&b, "Scenario %s: %s.\n", s.Name, s.About)
	for i := range s.Steps {
		state := "to come"
		if i < steps {
			state = "done"
		}
		fmt.Fprintf(&b, "  step %d, %s: %s\n", i+1, s.Steps[i].Name, state)
	}
	b.WriteString("Try: fabricd check; fabricd topo; ls " + debugfs + "; dmesg | tail. Leave with exit.\nEND\n")
	return b.String()
}
