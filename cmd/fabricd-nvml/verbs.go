// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

static void **device_list(void *f, int *n) { return ((void **(*)(int *))f)(n); }
static void free_list(void *f, void **list) { ((void (*)(void **))f)(list); }
static const char *device_name(void *f, void *device) { return ((const char *(*)(void *))f)(device); }
static void *made_of(void *f, void *from) { return ((void *(*)(void *))f)(from); }
static int ended(void *f, void *what) { return ((int (*)(void *))f)(what); }
static void *reg_mr(void *f, void *pd, uint64_t a, size_t n, int access) {
	errno = 0;
	return ((void *(*)(void *, void *, size_t, int))f)(pd, (void *)(uintptr_t)a, n, access);
}
static void *reg_dmabuf_mr(void *f, void *pd, size_t n, uint64_t iova, int fd, int access) {
	errno = 0;
	return ((void *(*)(void *, uint64_t, size_t, uint64_t, int, int))f)(pd, 0, n, iova, fd, access);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

// access is what a job asks for: local write, remote write, remote read.
const access = 1 | 2 | 4

// A verbs is the RDMA library and one device of it, opened.
type verbs struct {
	list, freeList, name, open, close, allocPD, deallocPD, reg, dereg unsafe.Pointer
	regDMABuf                                                         unsafe.Pointer // nil before rdma-core 34
	context, pd                                                       unsafe.Pointer
}

// openVerbs opens an RDMA device by its name.
func openVerbs(device string) (*verbs, error) {
	lib, err := loadLibrary("libibverbs.so.1")
	if err != nil {
		return nil, err
	}
	v := &verbs{regDMABuf: symbol(lib, "ibv_reg_dmabuf_mr")}
	for name, to := range map[string]*unsafe.Pointer{
		"ibv_get_device_list": &v.list, "ibv_free_device_list": &v.freeList, "ibv_get_device_name": &v.name,
		"ibv_open_device": &v.open, "ibv_close_device": &v.close, "ibv_alloc_pd": &v.allocPD, "ibv_dealloc_pd": &v.deallocPD,
		"ibv_reg_mr": &v.reg, "ibv_dereg_mr": &v.dereg,
	} {
		if *to = symbol(lib, name); *to == nil {
			return nil, fmt.Errorf("libibverbs.so.1 has no %s", name)
		}
	}
	if v.context, err = v.openDevice(device); err != nil {
		return nil, err
	}
	if v.pd, err = C.made_of(v.allocPD, v.context); v.pd == nil {
		v.end()
		return nil, failure("ibv_alloc_pd", err)
	}
	return v, nil
}

func (v *verbs) openDevice(device string) (unsafe.Pointer, error) {
	var n C.int
	list, err := C.device_list(v.list, &n)
	if list == nil {
		return nil, failure("ibv_get_device_list", err)
	}
	defer C.free_list(v.freeList, list)
	for _, d := range unsafe.Slice(list, int(n)) {
		if C.GoString(C.device_name(v.name, d)) != device {
			continue
		}
		context, err := C.made_of(v.open, d)
		if context == nil {
			return nil, failure("ibv_open_device", err)
		}
		return context, nil
	}
	return nil, errors.New("libibverbs finds no device of this name: its provider library or /dev/infiniband/uverbs* is missing")
}

// end closes the device.
func (v *verbs) end() {
	if v.pd != nil {
		C.ended(v.deallocPD, v.pd)
	}
	C.ended(v.close, v.context)
}

// register registers memory by its address: the kernel asks peer memory for it.
func (v *verbs) register(a, size uint64) (unsafe.Pointer, error) {
	mr, err := C.reg_mr(v.reg, v.pd, C.uint64_t(a), C.size_t(size), access)
	if mr == nil {
		return nil, failure("ibv_reg_mr", err)
	}
	return mr, nil
}

// registerDMABuf registers memory by its file descriptor.
func (v *verbs) registerDMABuf(fd int, a, size uint64) (unsafe.Pointer, error) {
	mr, err := C.reg_dmabuf_mr(v.regDMABuf, v.pd, C.size_t(size), C.uint64_t(a), C.int(fd), access)
	if mr == nil {
		return nil, failure("ibv_reg_dmabuf_mr", err)
	}
	return mr, nil
}

func (v *verbs) deregister(mr unsafe.Pointer) { C.ended(v.dereg, mr) }

// failure says why a call failed, and what that tends to mean.
func failure(call string, err error) error {
	hint := ""
	switch {
	case err == nil:
		return fmt.Errorf("%s fails and does not say why", call)
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EPROTONOSUPPORT):
		hint = ": the kernel (5.12 for dma-buf) or the device's driver cannot"
	case call == "ibv_reg_mr" && errors.Is(err, syscall.EFAULT):
		hint = ": nobody in the kernel knows this address: nvidia-peermem is not registered (fabricd check --only gdr)"
	case errors.Is(err, syscall.ENOMEM):
		hint = ": memory lock limit (ulimit -l), BAR1 of the GPU or the device's own memory is used up"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		hint = ": no permission"
	}
	return fmt.Errorf("%s: %w%s", call, err, hint)
}
