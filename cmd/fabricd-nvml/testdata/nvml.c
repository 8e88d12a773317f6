// SPDX-License-Identifier: Apache-2.0
//
// A library as NVIDIA's for the tests: eight GPUs with 18 NVLinks each.
// -DOLD leaves out what drivers got later, -DEMPTY everything. STUB_LOST names
// the GPU that fell off the bus, STUB_MIG the one with MIG slices, STUB_PLAIN
// the one without NVLink, STUB_FOURTH and STUB_FIFTH those whose NVLinks' counters
// are fields, STUB_RESET
// the one that wants a reset, STUB_REFUSE the one whose NVLinks answer an error;
// STUB_DIE kills in a call.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gpu *device;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, INSUFFICIENT_SIZE = 7, LOST = 15, RESET = 16, UNKNOWN = 999 };

#ifdef EMPTY
int nothing;
#else
static struct gpu { int index; } gpus[8];

static int chosen(const char *variable, device d) {
	const char *value = getenv(variable);
	return value && atoi(value) == d->index;
}
#define ALIVE if (chosen("STUB_LOST", d)) return LOST; if (chosen("STUB_RESET", d)) return RESET
#define NUMBER(function, value) int function(device d, unsigned *to) { ALIVE; *to = value; return SUCCESS; }

int nvmlInit_v2(void) { return getenv("STUB_INIT") ? atoi(getenv("STUB_INIT")) : SUCCESS; }
const char *nvmlErrorString(int ret) { return ret ? "Not Supported" : "Success"; }
int nvmlSystemGetDriverVersion(char *to, unsigned n) { snprintf(to, n, "580.1"); return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *to) { *to = 8; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *to) { gpus[i].index = i; *to = &gpus[i]; return SUCCESS; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, device *to) {
	unsigned bus;
	if (sscanf(id, "00000000:%X:00.0", &bus) != 1) return INVALID_ARGUMENT;
	*to = &gpus[bus - 0xA0];
	return chosen("STUB_LOST", *to) ? LOST : SUCCESS;
}
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char busId[32]; };
int nvmlDeviceGetPciInfo_v3(device d, struct pci *to) { snprintf(to->busId, 32, "00000000:%02X:00.0", 0xA0 + d->index); return SUCCESS; }
int nvmlDeviceGetName(device d, char *to, unsigned n) { ALIVE; snprintf(to, n, "Stub %d", d->index); return SUCCESS; }
int nvmlDeviceGetUUID(device d, char *to, unsigned n) { ALIVE; snprintf(to, n, "GPU-%d", d->index); return SUCCESS; }
NUMBER(nvmlDeviceGetIndex, d->index)
NUMBER(nvmlDeviceGetMinorNumber, 7 - d->index)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 4)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 8)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetPcieReplayCounter, 4294967295u)
NUMBER(nvmlDeviceGetPerformanceState, d->index == 7 ? 32 : 2)
int nvmlDeviceGetMemoryInfo(device d, unsigned long long to[3]) { ALIVE; to[0] = 80ull << 30; return SUCCESS; }
int nvmlDeviceGetBAR1MemoryInfo(device d, unsigned long long to[3]) { ALIVE; to[0] = 128ull << 30; to[2] = 4096; return SUCCESS; }
int nvmlDeviceGetUtilizationRates(device d, unsigned to[2]) {
	ALIVE;
	if (getenv("STUB_DIE")) abort();
	if (chosen("STUB_MIG", d)) return NOT_SUPPORTED;
	to[0] = 10 * d->index;
	return SUCCESS;
}
int nvmlDeviceGetMigMode(device d, unsigned *now, unsigned *pending) { ALIVE; *now = *pending = chosen("STUB_MIG", d); return SUCCESS; }
struct process { unsigned pid; unsigned long long used; unsigned gi, ci; };
int nvmlDeviceGetComputeRunningProcesses(device d, unsigned *n, void *to) { return NOT_SUPPORTED; }
int nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned *n, struct process *to) {
	ALIVE;
	unsigned room = *n;
	*n = 3;
	if (room < 3) return INSUFFICIENT_SIZE;
	to[0] = (struct process){100 + d->index, 1000, 0, 0};
	to[1] = (struct process){100 + d->index, 24, 1, 0};
	to[2] = (struct process){200, ~0ull, 0, 0};
	return SUCCESS;
}
#define LINK ALIVE; if (chosen("STUB_REFUSE", d)) return UNKNOWN; if (link >= 18) return INVALID_ARGUMENT; if (chosen("STUB_PLAIN", d)) return NOT_SUPPORTED
int nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned *to) { LINK; *to = link != 17; return SUCCESS; }
int nvmlDeviceGetNvLinkVersion(device d, unsigned link, unsigned *to) { LINK; *to = 4; return SUCCESS; }
int nvmlDeviceGetNvLinkErrorCounter(device d, unsigned link, int counter, unsigned long long *to) { LINK; if (chosen("STUB_FIFTH", d)) return NOT_SUPPORTED; *to = 10 * counter + link; return SUCCESS; }
struct field { unsigned id, scope; long long at, took; unsigned type, ret; unsigned long long value; };
int nvmlDeviceGetFieldValues(device d, int n, struct field *to) {
	ALIVE;
	for (int i = 0; i < n; i++)
		to[i].type = 3, to[i].value = 1000 * to[i].id + to[i].scope, to[i].ret = to[i].id == 221 || !chosen(to[i].id < 200 ? "STUB_FOURTH" : "STUB_FIFTH", d) ? NOT_SUPPORTED : SUCCESS;
	return SUCCESS;
}
#ifndef OLD
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, 6)
int nvmlDeviceGetNvLinkRemoteDeviceType(device d, unsigned link, unsigned *to) { LINK; *to = link ? 2 : 255; return SUCCESS; }
struct fabric { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned health; };
int nvmlDeviceGetGpuFabricInfoV(device d, struct fabric *to) {
	ALIVE;
	if (to->version != (sizeof *to | 2u << 24)) return 25;
	to->state = d->index == 6 ? 2 : d->index == 5 ? 0 : 3;
	to->status = d->index == 6 ? 3 : 0;
	to->health = d->index == 4 ? 1 | 2 << 2 | 1 << 4 | 5 << 8 : 2 | 1 << 8; // 4: less bandwidth, bad routes, too few links
	return SUCCESS;
}
#endif
#endif
