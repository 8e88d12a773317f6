// SPDX-License-Identifier: Apache-2.0
//
// A library as rdma-core's for the tests: devices other0 and stub0. -DOLD knows
// no dma-buf. STUB_REG and STUB_REG_DMABUF fail the two registrations with an
// errno. When the device is closed, what is still held is written into STUB_HELD.

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char *names[] = {"other0", "stub0"};
static const char *const list[] = {(const char *)&names[0], (const char *)&names[1], NULL};
static int regions, domains;

static void *refuse(const char *name, void *otherwise) {
	if (!getenv(name)) return otherwise;
	errno = atoi(getenv(name));
	return NULL;
}

const void *ibv_get_device_list(int *n) { *n = 2; return list; }
void ibv_free_device_list(void *l) {}
const char *ibv_get_device_name(const char **device) { return *device; }
void *ibv_open_device(void *device) { return device == &names[1] ? &regions : NULL; }
void *ibv_alloc_pd(void *context) {
	void *pd = refuse("STUB_PD", &domains);
	domains += pd != NULL;
	return pd;
}
int ibv_dealloc_pd(void *pd) { domains--; return 0; }
int ibv_close_device(void *context) {
	FILE *f = getenv("STUB_HELD") ? fopen(getenv("STUB_HELD"), "a") : NULL;
	if (f) {
		fprintf(f, "%d regions, %d domains;", regions, domains);
		fclose(f);
	}
	return 0;
}
static void *region(int good) {
	if (!good) {
		errno = EINVAL;
		return NULL;
	}
	regions++;
	return &regions;
}
void *ibv_reg_mr(void *pd, void *a, size_t n, int access) {
	return getenv("STUB_REG") ? refuse("STUB_REG", NULL) : region(pd == &domains && (uintptr_t)a >= 1 << 30 && access == 7);
}
#ifndef OLD
void *ibv_reg_dmabuf_mr(void *pd, uint64_t offset, size_t n, uint64_t iova, int fd, int access) {
	return getenv("STUB_REG_DMABUF") ? refuse("STUB_REG_DMABUF", NULL) : region(pd == &domains && offset == 0 && iova >= 1 << 30 && fcntl(fd, F_GETFD) >= 0 && access == 7);
}
#endif
int ibv_dereg_mr(void *mr) { regions--; return 0; }
