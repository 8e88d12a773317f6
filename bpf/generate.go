// SPDX-License-Identifier: Apache-2.0

// Package bpf holds the programs that run in the kernel, as compiled objects, and loads them. What they see is left to
// whoever asks; nothing is pinned, so that all of it goes with the process.
package bpf

//go:generate go tool bpf2go -target bpfel -cflags "-O2 -Wall -Werror" -type slot -type device -type control -output-stem queue Queue queue.bpf.c
