// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// initScript is the guest's first program.
//
//go:embed init.sh
var initScript []byte

// drivers are the kernel's modules that scenarios load, with what they depend on.
var drivers = []string{"virtio_pci", "virtio_net", "e1000e", "igb", "vmxnet3", "nvme", "aer_inject", "ib_core", "ib_uverbs",
	"rdma_rxe", "crc32_generic", "veth", "8021q", "sch_netem", "sch_prio", "cls_u32", "cls_flower", "act_skbedit", "sch_ingress", "cls_matchall", "act_mirred", "bonding", "af_packet"}

// Users and groups that programs of layers become.
const (
	users  = "root:x:0:0::/root:/bin/sh\n_lldpd:x:100:100::/run/lldpd:/bin/false\n"
	groups = "root:x:0:\n_lldpd:x:100:\n"
)

// applets are the names under which the guest's one static program is called.
const applets = "[ ash awk basename cat chmod cp cut date dd dirname dmesg echo env false find free grep gzip head hexdump hostname id ifconfig insmod ip kill less ln ls lsmod lspci mkdir mknod modprobe more mount mv nc od pidof ping poweroff printf ps readlink reboot rm rmmod sed seq setsid sleep sort stat stty sync tail tee test timeout top touch tr true tty umount uname uniq uptime usleep vi wc wget which xargs cttyhack"

// A tree is the unpacked packages.
type tree struct{ dir, release string }

func openTree(dir string) (tree, error) {
	t := tree{dir: dir}
	modules, err := one(filepath.Join(t.modulesRoot(), "*"))
	t.release = filepath.Base(modules)
	return t, err
}

func (t tree) path(name string) string { return filepath.Join(t.dir, name) }

// modulesRoot is where the kernel's modules lie: below /usr in newer releases.
func (t tree) modulesRoot() string {
	if _, err := os.Stat(t.path("lib/modules")); err == nil {
		return t.path("lib/modules")
	}
	return t.path("usr/lib/modules")
}

// ownModules builds the lab's own modules, unless they are built, and returns the folder that holds them.
func (t tree) ownModules(ctx context.Context, o Options) (string, error) {
	sum, err := digest(o.Modules)
	if err != nil {
		return "", err
	}
	out := t.path("own-" + sum)
	if err := t.forget("own-*", out); err != nil {
		return "", err
	}
	return out, unpacked(out, func(part string) error {
		o.Log("building the lab's modules for %s", t.release)
		text, err := exec.CommandContext(ctx, filepath.Join(o.Modules, "build"), t.dir, part).CombinedOutput()
		if err != nil {
			return fmt.Errorf("building the lab's modules: %w\n%s", err, text)
		}
		return nil
	})
}

// forget removes older versions of a folder.
func (t tree) forget(pattern, but string) error {
	old, err := filepath.Glob(t.path(pattern))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if dir != but {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// digest names the content of the files of a folder.
func digest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(name, dir), len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:6]), err
}

// base writes the part of the initramfs that stays the same, and returns its name.
func (t tree) base(own string) (string, error) {
	var a archive
	a.file("init", initScript, 0o755)
	a.file("etc/passwd", []byte(users), 0o644)
	a.file("etc/group", []byte(groups), 0o644)
	for _, dir := range []string{"dev", "proc", "sys", "tmp", "run", "root"} {
		a.dir(dir)
	}
	if err := a.copy("bin/busybox", t.path("bin/busybox"), 0o755); err != nil {
		return "", err
	}
	if err := a.program("bin/sh", "/bin/dash"); err != nil { // busybox's own shell ignores $PATH for its applets
		return "", err
	}
	for applet := range strings.FieldsSeq(applets) {
		a.link("bin/"+applet, "busybox")
	}
	if err := t.addDrivers(&a); err != nil {
		return "", err
	}
	modules, err := filepath.Glob(filepath.Join(own, "*.ko"))
	if err != nil {
		return "", err
	}
	for _, file := range modules {
		if err := a.copy("lib/lab/"+filepath.Base(file), file, 0o644); err != nil {
			return "", err
		}
	}
	target := filepath.Join(own, "base.cpio")
	return target, os.WriteFile(target, a.bytes(), 0o644)
}
