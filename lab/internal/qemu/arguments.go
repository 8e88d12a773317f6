// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Names that the firmware gives where a machine is to look like a real one.
const (
	vendor  = "Example Computer"
	product = "GPU Server 8"
)

// base is the kernel's command line. Its messages below warnings and its tests of ciphers would take a third of the time in
// which it starts; its test of the timer makes it panic where the host has no time for the machine. The processor's
// own clock is read without leaving the guest; the kernel does not trust one of several sockets unless it is told to. Memory
// is not cleared before each use of it.
const base = "console=ttyS0 panic=-1 quiet cryptomgr.notests no_timer_check tsc=reliable init_on_alloc=0 "

// processor is the emulated one, without its string instructions that are fast by the byte: emulated they are slow by the
// byte, and a page is cleared in an eighth of the time by words.
const processor = "max,-erms,-fsrm"

// arguments are QEMU's. Two processors: with more than the host may have, early boot was seen to hang.
func (o Options) arguments() []string {
	socket := func(name string) string {
		return fmt.Sprintf("socket,id=%s,path=%s,server=on,wait=off", name, filepath.Join(o.Dir, name))
	}
	args := []string{
		"-machine", "q35", "-accel", "tcg,thread=multi", "-m", "1G",
		"-display", "none", "-nodefaults", "-no-user-config", "-no-reboot",
		"-chardev", socket("monitor"), "-mon", "chardev=monitor,mode=readline",
		"-chardev", o.console(), "-serial", "chardev:console",
		"-chardev", socket("agent"), "-serial", "chardev:agent",
		"-kernel", o.Kernel, "-initrd", o.Initramfs,
		"-append", strings.TrimSpace(base + o.Append),
	}
	if o.State != "" {
		args = append(args, "-incoming", "exec:cat "+o.State)
	}
	args = append(args, o.look()...)
	args = append(args, o.numa()...)
	args = append(args, o.Devices...)
	for i, device := range o.Wires {
		netdev := fmt.Sprintf("wire%d", i)
		args = append(args, "-netdev", "stream,id="+netdev+",server=off,addr.type=unix,addr.path="+wirePath(o.Dir, i), "-device", device+",netdev="+netdev)
	}
	return args
}

// wirePath is the socket of a wire.
func wirePath(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("wire%d", i)) }

func (o Options) console() string {
	if o.Interactive {
		return "stdio,id=console,signal=off,logfile=" + filepath.Join(o.Dir, "console")
	}
	return "file,id=console,path=" + filepath.Join(o.Dir, "console")
}

// look makes the machine look real, or leaves it as it is.
func (o Options) look() []string {
	if o.Guest {
		return []string{"-cpu", processor}
	}
	named := "manufacturer=" + vendor
	return []string{
		"-cpu", processor + ",-hypervisor",
		"-smbios", "type=0,vendor=" + vendor,
		"-smbios", "type=1," + named + ",product=" + product,
		"-smbios", "type=2," + named,
		"-smbios", "type=3," + named,
	}
}

func (o Options) numa() []string {
	if o.Nodes < 2 {
		return []string{"-smp", "2"}
	}
	return []string{
		"-smp", "2,sockets=2",
		"-object", "memory-backend-ram,id=memory0,size=512M",
		"-object", "memory-backend-ram,id=memory1,size=512M",
		"-numa", "node,nodeid=0,memdev=memory0,cpus=0",
		"-numa", "node,nodeid=1,memdev=memory1,cpus=1",
		"-numa", "dist,src=0,dst=1,val=21",
	}
}
