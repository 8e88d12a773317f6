// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"bytes"
	"strconv"
	"strings"
)

// A processor is what NCCL wants to know of the processors, in its own
// notation. What /proc/cpuinfo does not tell is "".
type processor struct {
	arch   string // x86_64, arm64, ppc64
	vendor string // of x86: GenuineIntel, AuthenticAMD
	family string // of x86, see ncclFamily
	model  string // of x86
}

// complete says whether NCCL would have nothing to add.
func (p processor) complete() bool {
	if p.arch == "x86_64" {
		return p.vendor != "" && p.family != "" && p.model != ""
	}
	return p.arch != ""
}

// parseProcessor reads the first processor of /proc/cpuinfo. The others of a
// machine that NCCL runs on are the same.
func parseProcessor(cpuinfo []byte) processor {
	var p processor
	for line := range bytes.Lines(cpuinfo) {
		if len(bytes.TrimSpace(line)) == 0 && p.arch != "" {
			break
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "vendor_id":
			p.arch, p.vendor = "x86_64", value
		case "cpu family":
			p.family = ncclFamily(value)
		case "model":
			if _, err := strconv.Atoi(value); err == nil {
				p.model = value
			}
		case "CPU implementer":
			p.arch = "arm64"
		case "cpu":
			if strings.HasPrefix(value, "POWER") {
				p.arch = "ppc64"
			}
		}
	}
	if !plainName(p.vendor) {
		p.vendor = ""
	}
	return p
}

// ncclFamily turns a family as the kernel counts it into NCCL's number: NCCL
// puts the extended family of CPUID beside the base family and does not add
// it, so that Zen 3 (25, which is 15 + 10) is 175. All versions know this
// number; only new ones know 25 as well.
func ncclFamily(kernel string) string {
	const base = 15 // all that the base family can hold; more is in the extended one
	n, err := strconv.Atoi(kernel)
	if err != nil || n < 0 || n > base+255 {
		return ""
	}
	if n > base {
		n = base + (n-base)<<4
	}
	return strconv.Itoa(n)
}
