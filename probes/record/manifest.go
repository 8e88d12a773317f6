// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A manifest is what a recording says of itself. The keys beside those that
// fabricd reads are for people.
type manifest struct {
	probes.Manifest
	Identities string   `json:"identities"` // replaced or kept
	LeftOut    []string `json:"left_out,omitempty"`
}

const (
	identitiesKept     = "kept"
	identitiesReplaced = "replaced"
)

// newManifest describes a first snapshot. What a recording says of itself is
// carried over when it is recorded again.
func newManifest(h *probes.Host, s *snapshot, o Options) manifest {
	m := manifest{Identities: identitiesReplaced}
	m.Fabricd = o.Version
	m.Kernel = strings.TrimSpace(string(s.entries["proc/sys/kernel/osrelease"].data))
	m.Sources = sources(h, s)
	if o.KeepIdentities {
		m.Identities = identitiesKept
	}
	if h.Recorded() {
		m.carryOver(h)
		return m
	}
	m.Time = time.Now().UTC().Truncate(time.Second)
	m.Caps = heldCapabilities()
	drivers := amount(s.drivers, "interface")
	if s.drivers == 0 && s.unasked != nil { // those of sysfs are of another network namespace
		drivers = "refused: " + s.unasked.Error()
	}
	m.Sources["ethtool"], m.Sources["dcb"] = drivers, drivers
	m.Sources["qdisc"] = amount(s.qdiscs, "discipline")
	return m
}

func (m *manifest) carryOver(h *probes.Host) {
	b, err := h.ReadFile("manifest.json")
	if err != nil {
		return
	}
	var was manifest
	if json.Unmarshal(b, &was) != nil {
		return
	}
	m.Time, m.Caps = was.Time, was.Caps
	if was.Kernel != "" {
		m.Kernel = was.Kernel
	}
	if was.Identities == identitiesReplaced {
		m.Identities = identitiesReplaced
	}
	for name, result := range was.Sources {
		m.Sources[name] = result
	}
	m.LeftOut = was.LeftOut
}

// sources says what the sources gave that are files.
func sources(h *probes.Host, s *snapshot) map[string]string {
	list := map[string]string{
		"pci": amount(s.functions, "function"), "aer": amount(s.aer, "function"),
		"net": amount(len(s.netdevs), "interface"), "rdma": amount(len(s.rdma), "device"),
		"numa": "absent", "config": "none", "nvml": "absent",
	}
	if s.asleep > 0 {
		list["pci"] += fmt.Sprintf(", %d of them suspended and not woken", s.asleep)
	}
	if s.excluded > 0 {
		list["pci"] += fmt.Sprintf(", %d excluded", s.excluded)
	}
	if s.config > 0 {
		list["config"] = fmt.Sprintf("%d bytes", s.config)
	}
	if online, ok := s.entries["sys/devices/system/node/online"]; ok {
		if ids, err := probes.ParseList(strings.TrimSpace(string(online.data))); err == nil {
			list["numa"] = amount(len(ids), "node")
		}
	}
	if _, err := h.GPUs(); err == nil {
		list["nvml"] = "asked"
	}
	return list
}

func amount(n int, what string) string {
	switch n {
	case 0:
		return "absent"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// write gives the manifest's text. What follows it is counted last.
func (m manifest) write(a *archive, left []string) ([]byte, error) {
	m.Files, m.Bytes = a.entries, a.body.Len()
	m.LeftOut = append(m.LeftOut, left...)
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// heldCapabilities names what this process may do: it explains what is missing.
func heldCapabilities() []string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	return parseCapabilities(string(b))
}

func parseCapabilities(status string) []string {
	list := []string{}
	for line := range strings.Lines(status) {
		digits, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 64)
		if err != nil {
			return nil
		}
		for bit := range 64 {
			switch {
			case mask>>bit&1 == 0:
			case bit < len(capabilities):
				list = append(list, capabilities[bit])
			default:
				list = append(list, "CAP_"+strconv.Itoa(bit))
			}
		}
	}
	return list
}

// capabilities are the bits' names: include/uapi/linux/capability.h.
var capabilities = [...]string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW",
	"CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT",
	"CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD",
	"CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL", "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG",
	"CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
}
