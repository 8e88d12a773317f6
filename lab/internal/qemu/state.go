// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Save writes the state of a machine that is ready into a file, from which others can go on; this one goes on as well.
func (m *Machine) Save(ctx context.Context, file string) error {
	for _, command := range []string{"stop", "migrate_set_parameter max-bandwidth 16G", `migrate "exec:cat > ` + file + `"`} {
		if err := m.obey(ctx, command); err != nil {
			return err
		}
	}
	if answer, err := m.Monitor(ctx, "info migrate"); err != nil || !strings.Contains(answer, "Migration status: completed") {
		return fmt.Errorf("the machine's state is not saved: %s, %v", answer, err)
	}
	return m.resume(ctx)
}

// obey gives the monitor a command to which it answers nothing if all is well.
func (m *Machine) obey(ctx context.Context, command string) error {
	answer, err := m.Monitor(ctx, command)
	if err == nil && answer != "" {
		err = errors.New(answer)
	}
	if err != nil {
		return fmt.Errorf("monitor: %s: %w", command, err)
	}
	return nil
}

// resume lets a machine that was stopped go on as soon as its state is whole.
func (m *Machine) resume(ctx context.Context) error {
	for {
		answer, err := m.Monitor(ctx, "info status")
		switch {
		case err != nil:
			return err
		case strings.Contains(answer, "running"):
			return nil
		case !strings.Contains(answer, "inmigrate"):
			if err := m.obey(ctx, "cont"); err != nil {
				return err
			}
		}
		select {
		case <-m.ended:
			return errors.New("QEMU ended while it read a machine's state")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
