// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/fabricd/fabricd/probes/gpu"
)

// A registrar makes GPU memory reachable and measures it.
type registrar struct {
	out  *json.Encoder
	cuda *cuda
	stop context.Context // ends with the input: nobody waits any more
	id   uint64          // of the request at hand
	gpu  int             // the one in use; -1: none
}

// register answers requests until the input ends. An error is why it could
// not begin.
func register(in io.Reader, out *json.Encoder) error {
	runtime.LockOSThread() // CUDA's calls are about what the thread uses
	// The numbers are nvidia-smi's, whatever a job's environment says.
	os.Setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID") //nolint:errcheck // a valid name
	os.Unsetenv("CUDA_VISIBLE_DEVICES")          //nolint:errcheck // as above
	stop, end := context.WithCancel(context.Background())
	defer end()
	lines, requests := make(chan []byte), make(chan []byte)
	go receive(in, lines, func() { os.Exit(0) }) // the kernel frees what a stuck driver holds
	go func() {
		defer end()
		defer close(requests)
		for b := range lines {
			requests <- b
		}
	}()
	r := &registrar{out: out, stop: stop, gpu: -1}
	if err := r.doing("cuInit"); err != nil {
		return err
	}
	var err error
	if r.cuda, err = openCUDA(); err != nil {
		return err
	}
	defer r.leave()
	if err := out.Encode(gpu.Answer{Ready: &gpu.Ready{Protocol: gpu.Protocol, Driver: r.cuda.driver()}}); err != nil {
		return err
	}
	for b := range requests {
		if err := out.Encode(r.answer(b)); err != nil {
			return err
		}
	}
	return nil
}

// doing says what comes next.
func (r *registrar) doing(part string) error {
	return r.out.Encode(gpu.Answer{ID: r.id, Doing: part})
}

func (r *registrar) answer(b []byte) gpu.Answer {
	var q gpu.Request
	if err := json.Unmarshal(b, &q); err != nil {
		return gpu.Answer{Error: "not a request: " + err.Error()}
	}
	r.id = q.ID
	a := gpu.Answer{ID: q.ID}
	var err error
	switch {
	case q.Kind == gpu.AskGDRDevices:
		a.GDRDevices, err = r.devices()
	case q.Kind == gpu.AskGDR && q.GDR != nil && q.GDR.Size > 0 && q.GDR.Chunk > 0:
		a.GDR, err = r.measure(*q.GDR)
	default:
		err = fmt.Errorf("no such question: %q", q.Kind)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (r *registrar) devices() ([]gpu.GDRDevice, error) {
	n, err := r.cuda.devices()
	if err != nil {
		return nil, err
	}
	list := make([]gpu.GDRDevice, n)
	for i := range list {
		list[i] = gpu.GDRDevice{
			Index: i, Address: r.cuda.text(r.cuda.busID, i), Name: r.cuda.text(r.cuda.name, i),
			DMABuf: r.cuda.can(attributeDMABuf, i), PeerMemory: r.cuda.can(attributePeerMemory, i),
		}
	}
	return list, nil
}

// use makes a GPU the one in use, and leaves the one before.
func (r *registrar) use(index int) error {
	if r.gpu == index {
		return nil
	}
	r.leave()
	if err := r.doing("context"); err != nil {
		return err
	}
	if err := r.cuda.use(index); err != nil {
		return err
	}
	r.gpu = index
	return nil
}

func (r *registrar) leave() {
	if r.gpu >= 0 {
		r.cuda.leave(r.gpu)
	}
	r.gpu = -1
}

// granule is what the driver maps memory by: memory of so much begins on a
// page, which a smaller piece need not.
const granule = 2 << 20

// measure measures one size. What fails is part of the answer.
func (r *registrar) measure(q gpu.GDRRequest) (*gpu.GDRSize, error) {
	s := &gpu.GDRSize{Size: q.Size}
	if err := r.use(q.Index); err != nil {
		s.Failed = err.Error()
		return s, nil
	}
	if err := r.doing("cuMemAlloc"); err != nil {
		return nil, err
	}
	address, err := r.cuda.allocate((q.Size + granule - 1) / granule * granule)
	if err != nil {
		s.Failed = r.refused(err)
		return s, nil
	}
	m := &memory{registrar: r, address: address, size: q.Size}
	err = m.ways(q, s)
	if freed := r.cuda.giveBack(address); freed != nil {
		err = errors.Join(err, freed)
	}
	return s, err
}

// refused says why memory was not given.
func (r *registrar) refused(err error) string {
	var e cudaError
	if left, ok := r.cuda.left(); ok && errors.As(err, &e) && e.code == cudaOutOfMemory {
		return fmt.Sprintf("%v; %d MiB are free; nothing is held", err, left>>20)
	}
	return err.Error()
}
