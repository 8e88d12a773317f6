// SPDX-License-Identifier: Apache-2.0

// Package image makes what the lab boots: a Debian kernel and an initramfs. It knows how Debian names and packs its
// kernels; packages are resolved by name, downloaded with apt and unpacked into a cache, never installed.
//
// It knows nothing of scenarios, and does not start machines.
package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ErrUnavailable says that this machine cannot have the image: no apt, no network, no package.
var ErrUnavailable = errors.New("the lab's image cannot be had here")

// unavailable wraps the reason.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}

// layout changes whenever what is unpacked into the cache, or how, changes.
const layout = "3"

// Options say which image is wanted.
type Options struct {
	// Cache is where packages and what is made of them is kept.
	Cache string
	// Modules is the folder with the lab's own kernel modules and their build script.
	Modules string
	// Suite names a suite to take the kernel from, such as bookworm-backports; empty means the machine's own.
	Suite string
	// Log is told what takes long.
	Log func(format string, args ...any)
}

// An Image is a kernel and the part of the initramfs that does not change from run to run.
type Image struct {
	Kernel  string // file that QEMU boots
	Release string // as uname -r says
	base    string // cpio archive
	options Options
}

// Make resolves, downloads, unpacks and builds, as far as the cache does not have it.
func Make(ctx context.Context, o Options) (*Image, error) {
	a := apt{cache: o.Cache, log: o.Log}
	packages, err := a.prepare(ctx, o.Suite, a.kernel)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.Cache, "image-"+key(packages))
	err = unpacked(dir, func(dir string) error {
		if err := a.unpack(ctx, dir, packages); err != nil {
			return err
		}
		return extractKernel(ctx, dir)
	})
	if err != nil {
		return nil, err
	}
	if err := use(o.Cache, "kernel-"+o.Suite, dir, packages); err != nil {
		return nil, err
	}
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	own, err := t.ownModules(ctx, o)
	if err != nil {
		return nil, err
	}
	base, err := t.base(own)
	if err != nil {
		return nil, err
	}
	return &Image{Kernel: t.path("kernel"), Release: t.release, base: base, options: o}, nil
}

// Initramfs writes the whole initramfs: the base, the files given as name in the guest to file here, and a layer.
func (i *Image) Initramfs(target string, files map[string]string, layer string) error {
	base, err := os.ReadFile(i.base)
	if err != nil {
		return err
	}
	var a archive
	for name, file := range files {
		if err := a.copy(name, file, 0o755); err != nil {
			return err
		}
	}
	more, err := os.ReadFile(layer)
	if err != nil {
		return err
	}
	return os.WriteFile(target, slices.Concat(base, a.bytes(), more), 0o644)
}

// key names a set of package files, whose names hold their versions.
func key(packages []string) string {
	sum := sha256.New()
	fmt.Fprintln(sum, layout)
	for _, file := range packages {
		fmt.Fprintln(sum, filepath.Base(file))
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// unpacked makes a directory in one step: fill works on a temporary one, which is renamed when it is whole.
func unpacked(dir string, fill func(string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	if err := fill(part); err != nil {
		return err
	}
	return os.Rename(part, dir)
}
