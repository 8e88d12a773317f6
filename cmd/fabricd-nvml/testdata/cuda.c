// SPDX-License-Identifier: Apache-2.0
//
// A library as CUDA's for the tests: two GPUs. -DOLD is a driver that knows no
// dma-buf. STUB_CUDA_INIT fails cuInit, STUB_CUDA_CONTEXT the second GPU,
// STUB_EXPORT every export, STUB_EXPORT_MOST those beyond so many at a time,
// STUB_DIE kills in an export, STUB_SLOW makes each take 10 ms. A GPU has 8 MiB.
// When the GPU is left, what is still held of it is written into STUB_HELD.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long address;
enum { SUCCESS = 0, INVALID = 1, OUT_OF_MEMORY = 2, OPERATING_SYSTEM = 304, NOT_SUPPORTED = 801, ROOM = 8 << 20, BASE = 1 << 30 };
static int current = -1;
static size_t allocated;

static int asked(const char *name) {
	const char *value = getenv(name);
	return value ? atoi(value) : 0;
}

int cuInit(unsigned flags) { return asked("STUB_CUDA_INIT"); }
int cuDriverGetVersion(int *to) { *to = 11060; return SUCCESS; }
int cuDeviceGetCount(int *to) { *to = 2; return SUCCESS; }
int cuDeviceGet(int *to, int i) { *to = i; return SUCCESS; }
int cuDeviceGetName(char *to, int n, int gpu) { snprintf(to, n, "Stub %d", gpu); return SUCCESS; }
int cuDeviceGetPCIBusId(char *to, int n, int gpu) { snprintf(to, n, "0000:%02x:00.0", 0x18 + gpu); return SUCCESS; }
int cuDeviceGetAttribute(int *to, int attribute, int gpu) {
	if (attribute != 124) return INVALID; // this driver does not know 116
	*to = gpu == 0;
	return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void **context, int gpu) {
	*context = &allocated;
	return gpu == 1 && getenv("STUB_CUDA_CONTEXT") ? OUT_OF_MEMORY : SUCCESS;
}
int cuCtxSetCurrent(void *context) { current = 0; return context == &allocated ? SUCCESS : INVALID; }
int cuMemGetInfo_v2(size_t *left, size_t *all) { *left = ROOM - allocated; *all = ROOM; return current < 0 ? INVALID : SUCCESS; }
int cuMemAlloc_v2(address *to, size_t n) {
	if (current < 0) return INVALID;
	if (n > ROOM - allocated) return OUT_OF_MEMORY;
	allocated += n;
	*to = BASE;
	return SUCCESS;
}
int cuMemFree_v2(address a) { allocated = 0; return a == BASE ? SUCCESS : INVALID; }
int cuGetErrorName(int code, const char **to) {
	*to = code == OUT_OF_MEMORY ? "STUB_OUT_OF_MEMORY" : code == NOT_SUPPORTED ? "STUB_NOT_SUPPORTED" : code == OPERATING_SYSTEM ? "STUB_OPERATING_SYSTEM" : NULL;
	return *to ? SUCCESS : INVALID;
}

// held counts what was exported and not closed: nobody else opens /dev/full.
static int held(void) {
	char name[32], to[16] = "";
	int n = 0;
	for (int i = 0; i < 1024; i++) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", i);
		n += readlink(name, to, sizeof to) == 9 && !memcmp(to, "/dev/full", 9);
	}
	return n;
}

int cuDevicePrimaryCtxRelease_v2(int gpu) {
	FILE *f = getenv("STUB_HELD") ? fopen(getenv("STUB_HELD"), "a") : NULL;
	if (f) {
		fprintf(f, "%zu bytes, %d files;", allocated, held());
		fclose(f);
	}
	current = -1;
	return SUCCESS;
}

#ifndef OLD
int cuMemGetHandleForAddressRange(int *to, address a, size_t n, int type, address flags) {
	if (getenv("STUB_DIE")) abort();
	if (getenv("STUB_SLOW")) usleep(10000);
	if (asked("STUB_EXPORT")) return asked("STUB_EXPORT");
	if (type != 1 || flags || a % 4096 || n % 4096 || a < BASE || a + n > BASE + allocated) return INVALID;
	if (asked("STUB_EXPORT_MOST") && held() >= asked("STUB_EXPORT_MOST")) return OPERATING_SYSTEM;
	*to = open("/dev/full", O_RDONLY);
	return SUCCESS;
}
#endif
