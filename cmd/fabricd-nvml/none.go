// SPDX-License-Identifier: Apache-2.0

//go:build !cgo

// Command fabricd-nvml asks NVIDIA's driver what fabricd wants to know. Built
// without a C compiler it cannot, and only says so.
package main

import (
	"fmt"
	"os"

	"github.com/fabricd/fabricd/probes/gpu"
)

func main() {
	fmt.Fprintln(os.Stderr, "this fabricd-nvml cannot ask NVIDIA's driver: it was built without cgo (build it with a C compiler: make fabricd-nvml)")
	os.Exit(gpu.ExitUsage)
}
