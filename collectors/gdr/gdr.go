// SPDX-License-Identifier: Apache-2.0

// Package gdr knows what GPUDirect RDMA needs: a mechanism by which a NIC's
// driver may reach the GPU's memory, and a path on which that is fast. It
// reads what kernel and drivers tell of it. Whether a job uses it, only CUDA
// and verbs can tell: it never says that GPUDirect RDMA is active.
package gdr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// A Reading is what kernel and drivers tell about access to GPU memory.
type Reading struct {
	Kernel  string
	Modules map[string]Module // by name, as /proc/modules lists them
	// Hidden is why the loaded modules are not known; "" where they are.
	Hidden string
	// NVIDIA is the first line of /proc/driver/nvidia/version; "" without the driver.
	NVIDIA string
	// NVIDIAErr is why that line could not be read; nil where it is or is not there.
	NVIDIAErr error
	// Denied says that the driver was told to refuse (GrdmaPciTopoCheckOverride: 2).
	Denied bool
	// DeniedErr is why it is not known.
	DeniedErr error
	// PeerDirectory says that OFED's directory of peer memory clients exists,
	// Peers which clients are registered there, PeerErr why that is not known.
	PeerDirectory bool
	Peers         []string
	PeerErr       error
	Peermem       Peermem
}

// A Module is one line of /proc/modules.
type Module struct {
	OutOfTree bool // taint flag O
}

// Peermem is the module nvidia_peermem.
type Peermem struct {
	Loaded  bool
	Version string
	Uses    int // 0 where it is not told
}

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  "gdr",
		Help:  "GPUDirect RDMA: whether a NIC may reach a GPU's memory, by which mechanism, and what slows it.",
		Every: 30 * time.Second,
		Floor: 10 * time.Second,
		Open: func(_ context.Context, h *probes.Host, _ string) (collectors.Reader[Reading], error) {
			return reader{h}, nil
		},
		Tables: []collectors.Table[Reading]{collectors.Derive(rows, columns())},
	})
}

type reader struct{ h *probes.Host }

func (r reader) Close() {}

const (
	peerMemory = "sys/kernel/mm/memory_peers"
	peermem    = "sys/module/nvidia_peermem"
)

// Read reads it all: small files, every half minute. What is not there is an
// answer too.
func (r reader) Read(time.Duration) (*Reading, error) {
	now := &Reading{Kernel: r.text("proc/sys/kernel/osrelease"), Modules: map[string]Module{}}
	b, err := r.h.ReadFile("proc/modules")
	now.Modules = parseModules(b)
	if _, listed := now.Modules["ib_core"]; err != nil {
		r.tainted(now.Modules)
	} else if !listed { // built in
		now.Modules["ib_core"] = Module{}
	}
	if err != nil && !r.h.Exists("sys/module") {
		now.Hidden = "/proc/modules: " + probes.Reason(err)
	}
	b, err = r.h.ReadFile("proc/driver/nvidia/version")
	first, _, _ := strings.Cut(string(bytes.TrimSpace(b)), "\n")
	now.NVIDIA, now.NVIDIAErr = probes.Printable(first), unless(err, fs.ErrNotExist)
	b, err = r.h.ReadFile("proc/driver/nvidia/params")
	now.Denied, now.DeniedErr = denied(b), unless(err, fs.ErrNotExist)
	now.Peers, err = r.peers()
	now.PeerDirectory, now.PeerErr = err == nil, unless(err, fs.ErrNotExist)
	_, listed := now.Modules["nvidia_peermem"]
	now.Peermem = Peermem{Loaded: listed || r.h.Exists(peermem), Version: probes.Printable(r.text(peermem + "/version"))}
	now.Peermem.Uses, _ = strconv.Atoi(r.text(peermem + "/refcnt"))
	return now, nil
}

// tainted reads what sysfs tells of the modules whose origin counts, where
// /proc/modules cannot be read.
func (r reader) tainted(modules map[string]Module) {
	for _, name := range []string{"ib_core", "efa"} {
		if b, err := r.h.ReadFile("sys/module/" + name + "/taint"); err == nil {
			modules[name] = Module{OutOfTree: bytes.ContainsRune(b, 'O')}
		}
	}
}

// peers lists the registered clients. One that is no longer has no files.
func (r reader) peers() ([]string, error) {
	list, err := r.h.ReadDir(peerMemory)
	return slices.DeleteFunc(list, func(client string) bool {
		files, err := r.h.ReadDir(path.Join(peerMemory, client))
		return err == nil && len(files) == 0
	}), err
}

// peer gives the first registered client whose name begins so.
func (r *Reading) peer(name string) string {
	for _, client := range r.Peers {
		if strings.HasPrefix(client, name) {
			return probes.Printable(client)
		}
	}
	return ""
}

// unless gives an error that is not an answer.
func unless(err, answer error) error {
	if errors.Is(err, answer) {
		return nil
	}
	return err
}

func (r reader) text(name string) string {
	b, err := r.h.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// maxModules bounds what is taken from /proc/modules.
const maxModules = 4096

// parseModules reads /proc/modules: name, size, uses, users, state, address
// and, for tainting modules, flags such as (OE): O is out of tree.
func parseModules(b []byte) map[string]Module {
	modules := map[string]Module{}
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) < 5 || len(modules) >= maxModules {
			continue
		}
		flags := ""
		if last := string(fields[len(fields)-1]); strings.HasPrefix(last, "(") {
			flags = last
		}
		modules[string(fields[0])] = Module{OutOfTree: strings.Contains(flags, "O")}
	}
	return modules
}

// denied reads the driver's parameters: 2 in GrdmaPciTopoCheckOverride refuses
// peer-to-peer access and dma-buf, whatever the topology.
func denied(b []byte) bool {
	for line := range bytes.Lines(b) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && string(bytes.TrimSpace(name)) == "GrdmaPciTopoCheckOverride" {
			return string(bytes.TrimSpace(value)) == "2"
		}
	}
	return false
}
