// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

typedef unsigned long long address;

static int with_number(void *f, unsigned n) { return ((int (*)(unsigned))f)(n); }
static int number(void *f, int *to) { return ((int (*)(int *))f)(to); }
static int number_of(void *f, int *to, int i) { return ((int (*)(int *, int))f)(to, i); }
static int attribute_of(void *f, int *to, int attribute, int gpu) { return ((int (*)(int *, int, int))f)(to, attribute, gpu); }
static int text_of(void *f, char *to, int n, int gpu) { return ((int (*)(char *, int, int))f)(to, n, gpu); }
static int retain(void *f, void **context, int gpu) { return ((int (*)(void **, int))f)(context, gpu); }
static int with_context(void *f, void *context) { return ((int (*)(void *))f)(context); }
static int room(void *f, size_t *left, size_t *all) { return ((int (*)(size_t *, size_t *))f)(left, all); }
static int allocate(void *f, address *to, size_t n) { return ((int (*)(address *, size_t))f)(to, n); }
static int release(void *f, address a) { return ((int (*)(address))f)(a); }
static int error_name(void *f, int code, const char **to) { return ((int (*)(int, const char **))f)(code, to); }
// CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD is 1; no flags.
static int export_range(void *f, int *fd, address a, size_t n) { return ((int (*)(void *, address, size_t, int, address))f)(fd, a, n, 1, 0); }
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// A cuda is the CUDA driver's library. The functions of it that are called are
// declared above: no header of NVIDIA's is needed to build.
type cuda struct {
	init, version, count, device, attribute, name, busID  unsafe.Pointer
	retain, setCurrent, release, room, alloc, free, words unsafe.Pointer
	export                                                unsafe.Pointer // nil before CUDA 11.7
}

// Results of CUDA's functions that mean more than a failure.
const (
	cudaOutOfMemory     = 2
	cudaNoDevice        = 100
	cudaOperatingSystem = 304
	cudaNotSupported    = 801
	cudaNotReady        = 802
	cudaOtherVersion    = 803
)

// A cudaError is a call that failed.
type cudaError struct {
	call string
	code int
	name string
}

func (e cudaError) Error() string {
	text := fmt.Sprintf("%s fails with %s (%d)", e.call, e.name, e.code)
	switch e.code {
	case cudaOutOfMemory:
		return "out of GPU memory: " + text
	case cudaNoDevice:
		return "CUDA finds no GPU: " + text
	case cudaNotReady:
		return text + ": the GPUs wait for the NVSwitches' fabric manager (systemctl status nvidia-fabricmanager)"
	case cudaOtherVersion:
		return text + ": the library and the kernel driver are of different versions: reload the driver, or reboot"
	}
	return text
}

// loadLibrary opens a shared library.
func loadLibrary(name string) (unsafe.Pointer, error) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	if lib := C.dlopen(s, C.RTLD_NOW); lib != nil {
		return lib, nil
	}
	return nil, errors.New(C.GoString(C.dlerror())) // it names the library
}

// symbol finds a function; nil if there is none.
func symbol(lib unsafe.Pointer, name string) unsafe.Pointer {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return C.dlsym(lib, s)
}

// openCUDA loads the driver's library and initialises it.
func openCUDA() (*cuda, error) {
	lib, err := loadLibrary("libcuda.so.1")
	if err != nil {
		return nil, errNoCUDA{err}
	}
	c := &cuda{export: symbol(lib, "cuMemGetHandleForAddressRange")}
	for name, to := range map[string]*unsafe.Pointer{
		"cuInit": &c.init, "cuDriverGetVersion": &c.version, "cuDeviceGetCount": &c.count, "cuDeviceGet": &c.device,
		"cuDeviceGetAttribute": &c.attribute, "cuDeviceGetName": &c.name, "cuDeviceGetPCIBusId": &c.busID,
		"cuDevicePrimaryCtxRetain": &c.retain, "cuDevicePrimaryCtxRelease_v2": &c.release, "cuCtxSetCurrent": &c.setCurrent,
		"cuMemGetInfo_v2": &c.room, "cuMemAlloc_v2": &c.alloc, "cuMemFree_v2": &c.free, "cuGetErrorName": &c.words,
	} {
		if *to = symbol(lib, name); *to == nil {
			return nil, fmt.Errorf("libcuda.so.1 has no %s: the driver is too old", name)
		}
	}
	err = c.check("cuInit", C.with_number(c.init, 0))
	if e, ok := err.(cudaError); ok && e.code == cudaNoDevice {
		return nil, errNoCUDA{err}
	}
	return c, err
}

// errNoCUDA is a machine without CUDA: a normal state.
type errNoCUDA struct{ error }

func (c *cuda) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	e := cudaError{call, int(code), "an error without a name"}
	var name *C.char
	if C.error_name(c.words, code, &name) == 0 && name != nil {
		e.name = C.GoString(name)
	}
	return e
}

// driver gives the newest CUDA that the driver knows: 13.0.
func (c *cuda) driver() string {
	var v C.int
	if C.number(c.version, &v) != 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", v/1000, v%1000/10)
}

func (c *cuda) devices() (int, error) {
	var n C.int
	err := c.check("cuDeviceGetCount", C.number(c.count, &n))
	return int(n), err
}

// text asks for a GPU's name or address.
func (c *cuda) text(of unsafe.Pointer, gpu int) string {
	var b [256]C.char
	if C.text_of(of, &b[0], C.int(len(b)), C.int(gpu)) != 0 {
		return ""
	}
	b[len(b)-1] = 0
	return C.GoString(&b[0])
}

// Attributes of a GPU.
const (
	attributePeerMemory = 116 // GPU_DIRECT_RDMA_SUPPORTED
	attributeDMABuf     = 124 // DMA_BUF_SUPPORTED
)

// can asks for an attribute that is yes or no; nil: the driver does not know it.
func (c *cuda) can(attribute, gpu int) *bool {
	var v C.int
	if C.attribute_of(c.attribute, &v, C.int(attribute), C.int(gpu)) != 0 {
		return nil
	}
	yes := v != 0
	return &yes
}

// use makes a GPU the one whose memory this thread allocates.
func (c *cuda) use(gpu int) error {
	var context unsafe.Pointer
	if err := c.check("cuDevicePrimaryCtxRetain", C.retain(c.retain, &context, C.int(gpu))); err != nil {
		return err
	}
	if err := c.check("cuCtxSetCurrent", C.with_context(c.setCurrent, context)); err != nil {
		c.leave(gpu)
		return err
	}
	return nil
}

// leave undoes use.
func (c *cuda) leave(gpu int) { C.with_number(c.release, C.uint(gpu)) }

// left gives the free memory of the GPU in use.
func (c *cuda) left() (uint64, bool) {
	var left, all C.size_t
	ok := C.room(c.room, &left, &all) == 0
	return uint64(left), ok
}

func (c *cuda) allocate(size uint64) (uint64, error) {
	var a C.address
	err := c.check("cuMemAlloc", C.allocate(c.alloc, &a, C.size_t(size)))
	return uint64(a), err
}

func (c *cuda) giveBack(a uint64) error {
	return c.check("cuMemFree", C.release(c.free, C.address(a)))
}

// exportRange makes a file descriptor of some of the memory.
func (c *cuda) exportRange(a, size uint64) (int, error) {
	fd := C.int(-1)
	err := c.check("cuMemGetHandleForAddressRange", C.export_range(c.export, &fd, C.address(a), C.size_t(size)))
	return int(fd), err
}
