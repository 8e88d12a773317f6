// SPDX-License-Identifier: Apache-2.0

// Package hosttest makes hosts for tests: it builds recordings in memory, from
// nothing or from a recorded host with changes, plays them through the engine
// and holds the findings to expectations written as in a recording's comment.
// It knows the files of a machine, not what they mean.
package hosttest

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
	"golang.org/x/tools/txtar"
)

// A Host is a recording in the making, seen at one of its marks.
type Host struct {
	tb   testing.TB
	mark string // "" is the start
	*contents
}

type contents struct {
	files []txtar.File
	index map[string]int    // a name, without a link's target, to its place in files
	dirs  map[string]string // a PCI function to its directory in sysfs
}

// Load reads a recorded host that a test is going to change.
func Load(tb testing.TB, name string) *Host {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	h := empty(tb)
	for _, f := range txtar.Parse(b).Files {
		h.put(f.Name, string(f.Data))
		if address, target, ok := strings.Cut(f.Name, " -> "); ok && path.Dir(address) == pciDevices {
			h.dirs[path.Base(address)] = path.Join(pciDevices, target)
		}
	}
	return h
}

func empty(tb testing.TB) *Host {
	return &Host{tb: tb, contents: &contents{index: map[string]int{}, dirs: map[string]string{}}}
}

// New makes a bare-metal machine of one socket and one node, without devices.
func New(tb testing.TB) *Host {
	h := empty(tb)
	h.CPU("physical id\t: 0", "flags\t\t: fpu sse4_2")
	h.Set("proc/cmdline", "root=/dev/md0 ro")
	h.Nodes("0-7")
	return h
}

// CPU writes proc/cpuinfo: one processor's lines.
func (h *Host) CPU(lines ...string) *Host {
	return h.Set("proc/cpuinfo", "processor\t: 0\n"+strings.Join(lines, "\n"))
}

// Guest makes the machine a virtual one.
func (h *Host) Guest() *Host {
	return h.CPU("physical id\t: 0", "flags\t\t: fpu sse4_2 hypervisor")
}

// Sockets writes so many processors, each a package of its own.
func (h *Host) Sockets(ids ...string) *Host {
	var b strings.Builder
	for i, id := range ids {
		b.WriteString("processor\t: " + string(rune('0'+i)) + "\nphysical id\t: " + id + "\nflags\t\t: fpu sse4_2\n\n")
	}
	return h.Set("proc/cpuinfo", b.String())
}

// Nodes makes the NUMA nodes from 0 on, by their lists of processors.
func (h *Host) Nodes(cpulists ...string) *Host {
	var online []string
	for i, list := range cpulists {
		id := string(rune('0' + i))
		online = append(online, id)
		h.Set("sys/devices/system/node/node"+id+"/cpulist", list)
	}
	return h.Set("sys/devices/system/node/online", strings.Join(online, ","))
}

// At gives the host as it is from a mark on.
func (h *Host) At(mark string) *Host { return &Host{h.tb, mark, h.contents} }

func (h *Host) name(name string) string {
	if h.mark == "" {
		return name
	}
	return "at/" + h.mark + "/" + name
}

// Set writes a file; NAME.err holds an error's name, NAME.hex bytes.
func (h *Host) Set(name, content string) *Host {
	h.put(h.name(name), content+"\n")
	return h
}

// Link makes a symbolic link, from and to names of the archive.
func (h *Host) Link(name, to string) *Host {
	up := strings.Repeat("../", strings.Count(path.Dir(name), "/")+1)
	h.put(h.name(name)+" -> "+up+to, "")
	return h
}

// Drop takes entries out of the recording: of this name, and all below it, at
// every mark. There has to be one.
func (h *Host) Drop(name string) *Host {
	h.tb.Helper()
	if n := len(h.files); len(h.Discard(name).files) == n {
		h.tb.Fatalf("the recording has no %s", name)
	}
	return h
}

// Discard drops entries if there are some.
func (h *Host) Discard(name string) *Host {
	return h.keep(func(entry string) bool {
		if rest, ok := strings.CutPrefix(entry, "at/"); ok {
			_, entry, _ = strings.Cut(rest, "/")
		}
		return entry != name && !strings.HasPrefix(entry, name+"/")
	})
}

// First leaves only what is there at the start: a still picture.
func (h *Host) First() *Host {
	return h.keep(func(entry string) bool { return !strings.HasPrefix(entry, "at/") })
}

// Until leaves what is there up to a mark: the film ends there.
func (h *Host) Until(last time.Duration) *Host {
	return h.keep(func(entry string) bool {
		rest, ok := strings.CutPrefix(entry, "at/")
		mark, _, _ := strings.Cut(rest, "/")
		at, err := time.ParseDuration(mark)
		return !ok || err == nil && at <= last
	})
}

// keep leaves the entries that want wants.
func (h *Host) keep(want func(entry string) bool) *Host {
	kept := h.files[:0]
	for _, f := range h.files {
		if want(key(f.Name)) {
			kept = append(kept, f)
		}
	}
	h.files, h.index = kept, map[string]int{}
	for i, f := range h.files {
		h.index[key(f.Name)] = i
	}
	return h
}

// Bytes gives a file as it is at the start; nil if there is none.
func (h *Host) Bytes(name string) []byte {
	i, ok := h.index[h.name(name)]
	if !ok {
		return nil
	}
	f := h.files[i]
	if !strings.HasSuffix(f.Name, ".hex") {
		return f.Data
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
	if err != nil {
		h.tb.Fatal(err)
	}
	return b
}

// Remove takes files, links or whole directories away at this mark.
func (h *Host) Remove(names ...string) *Host {
	old := ""
	if i, ok := h.index[h.name("rm")]; ok {
		old = string(h.files[i].Data)
	}
	return h.Set("rm", old+strings.Join(names, "\n"))
}

// Replace changes text in every file; there has to be some.
func (h *Host) Replace(old, text string) *Host {
	h.tb.Helper()
	n := 0
	for i := range h.files {
		n += strings.Count(string(h.files[i].Data), old)
		h.files[i].Data = []byte(strings.ReplaceAll(string(h.files[i].Data), old, text))
	}
	if n == 0 {
		h.tb.Fatalf("the recording nowhere says %q", old)
	}
	return h
}

// put writes an entry, in the place of the one of this name.
func (h *Host) put(name, content string) {
	f := txtar.File{Name: name, Data: []byte(content)}
	if i, ok := h.index[key(name)]; ok {
		h.files[i] = f
		return
	}
	h.index[key(name)] = len(h.files)
	h.files = append(h.files, f)
}

// key gives what an entry is about: a file and the error that reading it gives
// are one, and so are links of one name.
func key(name string) string {
	name, _, _ = strings.Cut(name, " -> ")
	for _, suffix := range []string{".err", ".hex"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// Text gives the recording.
func (h *Host) Text() []byte { return txtar.Format(&txtar.Archive{Files: h.files}) }

// NVML writes what the GPU driver answers.
func (h *Host) NVML(devices ...gpu.Device) *Host {
	b, err := json.Marshal(gpu.Snapshot{DriverVersion: "580.0", Devices: devices})
	if err != nil {
		h.tb.Fatal(err)
	}
	return h.Set("gpu.json", string(b))
}

// Busy is a GPU's answer about its utilisation in percent.
func Busy(address string, percent int) gpu.Device {
	return gpu.Device{PCIBusID: address, Utilization: &percent}
}

// Hex writes bytes as entries NAME.hex hold them.
func Hex[T string | []byte](b T) string { return hex.EncodeToString([]byte(b)) }
