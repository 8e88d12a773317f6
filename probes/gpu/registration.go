// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// What can be asked of fabricd-nvml started with the argument ProbeGDR: it
// allocates GPU memory, makes it reachable for others and measures that. It
// frees everything when its input ends.
const (
	ProbeGDR      = "gdr"
	AskGDRDevices = "gdr_devices" // the GPUs
	AskGDR        = "gdr"         // one size on one GPU
)

// A GDRDevice is a GPU whose memory can be asked for.
type GDRDevice struct {
	Index   int    `json:"index"` // in the order of nvidia-smi
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
	// DMABuf and PeerMemory are what the driver says it can, by attributes.
	DMABuf     *bool `json:"dma_buf_supported,omitempty"`
	PeerMemory *bool `json:"gpu_direct_rdma_supported,omitempty"`
}

// A GDRRequest asks for one size.
type GDRRequest struct {
	Index int    `json:"index"`
	Size  uint64 `json:"size_bytes"`
	Chunk uint64 `json:"chunk_bytes"`
	// RDMA names the RDMA device to register with; "" for none.
	RDMA string `json:"rdma,omitempty"`
}

// A GDRSize is what came of one size.
type GDRSize struct {
	Size uint64   `json:"size_bytes"`
	Ways []GDRWay `json:"ways,omitempty"`
	// Failed says why nothing was measured.
	Failed string `json:"failed,omitempty"`
}

// Ways to make GPU memory reachable.
const (
	WayExport     = "dma_buf_export"       // a file descriptor for it
	WayRegister   = "dma_buf_register"     // ibv_reg_dmabuf_mr of such a descriptor
	WayPeerMemory = "peer_memory_register" // ibv_reg_mr of the GPU's address
)

// A GDRWay is one way, with all of the memory in one handle or in chunks.
type GDRWay struct {
	Way     string `json:"way"`
	Chunk   uint64 `json:"chunk_bytes"` // of one handle
	Handles int    `json:"handles"`
	// All is what the handles took together, Each what one of them did.
	All    *Latency `json:"all,omitempty"`
	Each   *Latency `json:"each,omitempty"`
	Failed string   `json:"failed,omitempty"`
}

// A Latency sums up measured times.
type Latency struct {
	Samples int           `json:"samples"`
	Min     time.Duration `json:"min_nanoseconds"`
	Median  time.Duration `json:"median_nanoseconds"`
	P99     time.Duration `json:"p99_nanoseconds"`
}

// A GDR is fabricd-nvml as it registers GPU memory.
type GDR struct {
	p *child
	// Driver is the newest CUDA that the driver knows: 13.0.
	Driver string
}

// How long the driver may take, as without persistence mode it initialises
// all GPUs, and how long to free everything.
const (
	gdrPatience = 60 * time.Second
	gdrEnd      = 5 * time.Second
)

// StartGDR starts the program; path as in NewClient. The error is
// fs.ErrNotExist where there is no such program, driver or GPU. The calling
// goroutine keeps its thread until Close: the kernel can end a child when the
// thread that started it ends.
func StartGDR(ctx context.Context, path string) (*GDR, error) {
	path, err := find(path)
	if absent := (errAbsent{}); errors.As(err, &absent) {
		return nil, errNoGDR(absent)
	}
	runtime.LockOSThread()
	p, err := start(path, ProbeGDR)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("%s: %w", childName, err)
	}
	g := &GDR{p: p}
	a, err := p.await(ctx, gdrPatience)
	if err == nil && (a.Ready == nil || a.Ready.Protocol != Protocol) {
		err = errVersion
	}
	if err != nil {
		return nil, g.failed(err)
	}
	g.Driver = printable(a.Ready.Driver)
	return g, nil
}

// Devices lists the GPUs.
func (g *GDR) Devices(ctx context.Context) ([]GDRDevice, error) {
	a, err := g.ask(ctx, Request{Kind: AskGDRDevices})
	if err != nil {
		return nil, err
	}
	for i := range a.GDRDevices {
		d := &a.GDRDevices[i]
		d.Address, d.Name = printable(d.Address), printable(d.Name)
	}
	return a.GDRDevices, nil
}

// Measure measures one size.
func (g *GDR) Measure(ctx context.Context, r GDRRequest) (*GDRSize, error) {
	a, err := g.ask(ctx, Request{Kind: AskGDR, GDR: &r})
	switch {
	case err != nil:
		return nil, err
	case a.GDR == nil:
		return nil, g.failed(fmt.Errorf("%s: %w", childName, errLine))
	}
	a.GDR.Failed = printable(a.GDR.Failed)
	for i := range a.GDR.Ways {
		w := &a.GDR.Ways[i]
		w.Way, w.Failed = printable(w.Way), printable(w.Failed)
	}
	return a.GDR, nil
}

func (g *GDR) ask(ctx context.Context, r Request) (*Answer, error) {
	a, err := g.p.ask(ctx, r, gdrPatience)
	if err == nil && a.Error != "" {
		err = errors.New(childName + ": " + printable(a.Error))
	}
	if err != nil {
		return nil, g.failed(err)
	}
	return a, nil
}

// failed ends the program after an error.
func (g *GDR) failed(err error) error {
	g.Close()
	if died := (errDied{}); errors.As(err, &died) {
		if absent, ok := died.absence(); ok {
			return errNoGDR(absent)
		}
	}
	return err
}

// Close ends the program, which frees everything. What does not end by itself
// is killed, and the kernel frees.
func (g *GDR) Close() {
	if g.p != nil {
		g.p.end(gdrEnd)
		g.p = nil
		runtime.UnlockOSThread()
	}
}
