// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"strings"
)

// trim leaves out of some files what fabricd never asks: lines that say much
// about the machine or its users, or that are the same for each CPU.
func trim(name string, b []byte) []byte {
	switch {
	case name == "proc/cpuinfo":
		return trimCPUInfo(b)
	case strings.HasPrefix(name, "proc/") && strings.HasSuffix(name, "/status"):
		return keepLines(b, func(key string) bool {
			switch key {
			case "Name", "State", "Pid", "Threads", "Cpus_allowed", "Cpus_allowed_list", "Mems_allowed", "Mems_allowed_list", "VmRSS":
				return true
			}
			return false
		})
	}
	return b
}

// trimCPUInfo keeps what tells CPUs apart and what they can do; the latter of
// the first CPU and of those that differ from it.
func trimCPUInfo(b []byte) []byte {
	var kept bytes.Buffer
	first := map[string]string{}
	for line := range bytes.Lines(b) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		switch k := string(bytes.TrimSpace(key)); k {
		case "flags", "Features":
			v := string(bytes.TrimSpace(value))
			if was, ok := first[k]; ok && was == v {
				continue
			} else if !ok {
				first[k] = v
			}
			kept.Write(line)
		case "", "processor", "vendor_id", "model name", "physical id", "siblings", "core id", "cpu cores", "CPU implementer":
			kept.Write(line)
		}
	}
	return kept.Bytes()
}

func keepLines(b []byte, wanted func(key string) bool) []byte {
	var kept []byte
	for line := range bytes.Lines(b) {
		key, _, _ := bytes.Cut(line, []byte(":"))
		if wanted(string(bytes.TrimSpace(key))) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// cutAt cuts to at most n bytes, after a whole line if there is one.
func cutAt(b []byte, n int) []byte {
	b = b[:n]
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return b[:i+1]
	}
	return b
}
