// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"github.com/fabricd/fabricd/probes/gpu"
)

// A memory is what is allocated of a GPU.
type memory struct {
	*registrar
	address, size uint64
	verbs         *verbs // nil without an RDMA device
}

// A held is one handle to a piece of the memory.
type held struct {
	fd int            // -1: none
	mr unsafe.Pointer // nil: none
}

// A maker makes a handle to a piece and says how long what counts took.
type maker func(offset, size uint64) (held, time.Duration, error)

// ways measures every way, first with one handle, then by chunks. An error is
// one that ends the program.
func (m *memory) ways(q gpu.GDRRequest, to *gpu.GDRSize) error {
	if err := m.way(gpu.WayExport, q.Chunk, m.export, to); err != nil || q.RDMA == "" {
		return err
	}
	if err := m.doing("ibv_open_device"); err != nil {
		return err
	}
	var err error
	if m.verbs, err = openVerbs(q.RDMA); err != nil {
		to.Ways = append(to.Ways, gpu.GDRWay{Way: gpu.WayRegister, Chunk: m.size, Failed: err.Error()})
		return nil
	}
	defer m.verbs.end()
	if err := m.way(gpu.WayRegister, q.Chunk, m.registerDMABuf, to); err != nil {
		return err
	}
	return m.way(gpu.WayPeerMemory, q.Chunk, m.registerPeer, to)
}

// way measures one way with one handle, and by chunks if there are several.
func (m *memory) way(name string, chunk uint64, make maker, to *gpu.GDRSize) error {
	for _, piece := range []uint64{m.size, chunk} {
		if len(to.Ways) > 0 && piece >= m.size && to.Ways[len(to.Ways)-1].Way == name {
			return nil // one chunk is the whole
		}
		if err := m.doing(name); err != nil {
			return err
		}
		w, err := m.rounds(name, piece, make)
		if err != nil {
			return err
		}
		to.Ways = append(to.Ways, w)
	}
	return nil
}

// How often a way is measured.
const (
	minRounds = 10
	maxRounds = 200
	enough    = time.Second // then the rounds end, once they are minRounds
)

var errStopped = errors.New("stopped")

// rounds makes and gives back all handles, again and again. The first round
// does not count: it has costs that no other has.
func (m *memory) rounds(name string, piece uint64, make maker) (gpu.GDRWay, error) {
	w := gpu.GDRWay{Way: name, Chunk: piece, Handles: int((m.size + piece - 1) / piece)}
	var all, each []time.Duration
	begin := time.Now()
	for n := 0; n <= maxRounds && (n <= minRounds || time.Since(begin) < enough); n++ {
		times, err := m.round(piece, make)
		switch {
		case errors.Is(err, errStopped):
			return w, err
		case err != nil:
			w.Failed = err.Error()
			return w, nil
		case n == 0:
			continue
		}
		var sum time.Duration
		for _, t := range times {
			sum += t
		}
		all, each = append(all, sum), append(each, times...)
	}
	w.All, w.Each = latency(all), latency(each)
	return w, nil
}

// round makes all handles, and gives them back whatever happens.
func (m *memory) round(piece uint64, make maker) (times []time.Duration, err error) {
	var handles []held
	defer func() {
		for _, h := range handles {
			m.giveUp(h)
		}
	}()
	for offset := uint64(0); offset < m.size; offset += piece {
		if m.stop.Err() != nil {
			return nil, errStopped
		}
		h, took, err := make(offset, min(piece, m.size-offset))
		if err != nil {
			if len(handles) > 0 {
				err = fmt.Errorf("with %d handles held: %w", len(handles), err)
			}
			return nil, err
		}
		handles, times = append(handles, h), append(times, took)
	}
	return times, nil
}

func (m *memory) giveUp(h held) {
	if h.mr != nil {
		m.verbs.deregister(h.mr)
	}
	if h.fd >= 0 {
		syscall.Close(h.fd) //nolint:errcheck // nothing was written
	}
}

// export makes a dma-buf.
func (m *memory) export(offset, size uint64) (held, time.Duration, error) {
	if m.cuda.export == nil {
		return held{}, 0, fmt.Errorf("the driver (CUDA %s) has no cuMemGetHandleForAddressRange, which came with CUDA 11.7", m.cuda.driver())
	}
	begin := time.Now()
	fd, err := m.cuda.exportRange(m.address+offset, size)
	took := time.Since(begin)
	if err != nil {
		return held{}, 0, exportError(err)
	}
	return held{fd: fd}, took, nil
}

// exportError adds what a refusal tends to mean.
func exportError(err error) error {
	var e cudaError
	if !errors.As(err, &e) {
		return err
	}
	switch e.code {
	case cudaNotSupported:
		return fmt.Errorf("%w: dma-buf needs NVIDIA's open kernel modules and kernel 5.12", err)
	case cudaOperatingSystem:
		return fmt.Errorf("%w: the kernel refuses a file descriptor; the limit may be too low (ulimit -n)", err)
	}
	return err
}

// registerDMABuf registers a dma-buf, whose export does not count.
func (m *memory) registerDMABuf(offset, size uint64) (held, time.Duration, error) {
	if m.verbs.regDMABuf == nil {
		return held{}, 0, errors.New("libibverbs has no ibv_reg_dmabuf_mr, which came with rdma-core 34")
	}
	h, _, err := m.export(offset, size)
	if err != nil {
		return held{}, 0, err
	}
	begin := time.Now()
	h.mr, err = m.verbs.registerDMABuf(h.fd, m.address+offset, size)
	took := time.Since(begin)
	if err != nil {
		m.giveUp(h)
		return held{}, 0, err
	}
	return h, took, nil
}

// registerPeer registers memory by its address, through peer memory.
func (m *memory) registerPeer(offset, size uint64) (held, time.Duration, error) {
	begin := time.Now()
	mr, err := m.verbs.register(m.address+offset, size)
	took := time.Since(begin)
	if err != nil {
		return held{}, 0, err
	}
	return held{fd: -1, mr: mr}, took, nil
}
