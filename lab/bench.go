// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fabricd/fabricd/lab/internal/image"
	"github.com/fabricd/fabricd/lab/internal/qemu"
)

// ErrUnavailable says that there can be no lab on this machine, and why.
var ErrUnavailable = errors.New("no lab here")

// bootLimit is how long a machine may take to come up where the host is busy.
const bootLimit = 200 * time.Second

// A Log is told how things go.
type Log func(format string, args ...any)

// A Bench runs scenarios. There is one at a time on the whole machine.
type Bench struct {
	image     *image.Image
	program   string // fabricd, for the host as well
	initramfs string
	dir       string
	lock      *os.File
	states    states

	machines, again atomic.Int32 // started, and of those for a second time
}

// NewBench makes the image, and builds fabricd, from the repository whose root is given. The suite is empty for the
// machine's own kernel.
func NewBench(ctx context.Context, root, suite string, log Log) (*Bench, error) {
	if _, err := exec.LookPath(qemu.Program); err != nil {
		return nil, fmt.Errorf("%w: %w (Debian: qemu-system-x86)", ErrUnavailable, err)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir(root)
	if err != nil {
		return nil, err
	}
	b := &Bench{states: newStates(Scenarios())}
	if b.lock, err = lock(filepath.Join(cache, "lock"), log); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "fabricd-lab-"); err != nil {
		return nil, err
	}
	b.image, err = image.Make(ctx, image.Options{Cache: cache, Modules: filepath.Join(root, "lab", "modules"), Suite: suite, Log: log})
	if errors.Is(err, image.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err == nil { // what fails from here on is no lack of this machine's
		err = b.build(ctx, root, packages(Scenarios()))
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// cacheDir is where the lab keeps what it downloads and unpacks.
func cacheDir(root string) (string, error) {
	dir := filepath.Join(root, ".cache", "lab")
	if user := os.Getenv("XDG_CACHE_HOME"); user != "" {
		dir = filepath.Join(user, "fabricd-lab")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// packages lists those of all scenarios, so that all machines have the same files.
func packages(scenarios []Scenario) (names []string) {
	for i := range scenarios {
		names = append(names, scenarios[i].Packages...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// build builds the static fabricd and puts it into the initramfs, with Debian's packages.
func (b *Bench) build(ctx context.Context, root string, packages []string) error {
	b.program = filepath.Join(b.dir, "fabricd")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=lab", "-o", b.program, "./cmd/fabricd")
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building fabricd: %w\n%s", err, out)
	}
	layer, err := b.image.Layer(ctx, packages)
	if err != nil {
		return err
	}
	b.initramfs = filepath.Join(b.dir, "initramfs")
	return b.image.Initramfs(b.initramfs, map[string]string{"bin/fabricd": b.program}, layer)
}

// Close removes what the bench made outside the cache.
func (b *Bench) Close() {
	os.RemoveAll(b.dir)
	b.lock.Close()
}

// Release is the guest's kernel.
func (b *Bench) Release() string { return b.image.Release }

// start starts a scenario's machine; dir is an empty folder.
func (b *Bench) start(ctx context.Context, s *Scenario, dir string, interactive bool) (*Guest, error) {
	b.machines.Add(1)
	o := s.machine()
	o.Kernel, o.Initramfs, o.Dir, o.Interactive, o.Limit = b.image.Kernel, b.initramfs, dir, interactive, bootLimit
	m, err := b.states.start(ctx, o, filepath.Join(b.dir, "state-"))
	if err != nil {
		return nil, err
	}
	g := &Guest{machine: m}
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	if err := g.setUp(ctx, s); err != nil {
		m.Stop()
		return nil, err
	}
	return g, nil
}
