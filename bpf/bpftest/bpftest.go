// SPDX-License-Identifier: Apache-2.0

// Package bpftest skips tests where the machine has no BPF for us. It knows
// nothing of what is tested.
package bpftest

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Skip ends a test whose program the machine did not take. In CI it is a
// failure where the machine takes others: there nothing is skipped in silence.
func Skip(t testing.TB, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" && os.Getuid() == 0 && works() {
		t.Fatal(append([]any{"BPF works here, and yet:"}, args...)...)
	}
	t.Skip(args...)
}

// works says whether the kernel takes the least that is a program, and tells
// its types.
func works() bool {
	if _, err := btf.LoadKernelSpec(); err != nil {
		return false
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SocketFilter, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return false
	}
	p.Close()
	return true
}
