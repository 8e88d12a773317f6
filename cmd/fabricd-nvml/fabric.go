// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/fabricd/fabricd/probes/gpu"
)

// askFabric asks how a GPU stands with the NVSwitches. Newer drivers answer
// more, but to the question of old.
func askFabric(h nvml.Device, d *gpu.Device) nvml.Return {
	info, ret := h.GetGpuFabricInfoV().V2()
	d.Fabric = nil
	if ret != nvml.SUCCESS {
		return ret
	}
	words := map[uint8]string{
		nvml.GPU_FABRIC_STATE_NOT_STARTED: "not_started",
		nvml.GPU_FABRIC_STATE_IN_PROGRESS: "in_progress",
		nvml.GPU_FABRIC_STATE_COMPLETED:   "completed",
	}
	word, known := words[info.State]
	if !known { // not supported, or not known
		return nvml.ERROR_NOT_SUPPORTED
	}
	d.Fabric = &gpu.Fabric{
		State: word, Status: strings.ReplaceAll(strings.ToLower(nvml.Return(info.Status).String()), " ", "_"),
		Trouble: fabricTrouble(info.HealthMask),
	}
	return ret
}

// fabricTrouble reads the health mask: for each part 0 is not supported, 1 that
// it is so and 2 that it is not; of the configuration 1 is right and from 2 on
// what is wrong with it.
func fabricTrouble(mask uint32) []string {
	field := func(shift, width uint32) uint32 { return mask >> shift & width }
	var list []string
	for _, part := range []struct {
		shift, width uint32
		name         string
	}{
		{nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW, "degraded_bandwidth"},
		{nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_RECOVERY, "route_recovery"},
		{nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY, "route_unhealthy"},
		{nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_ACCESS_TIMEOUT_RECOVERY, "access_timeout_recovery"},
	} {
		if field(part.shift, part.width) == nvml.GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE {
			list = append(list, part.name)
		}
	}
	wrong := [...]string{
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_SYSGUID:    "incorrect_system_guid",
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_CHASSIS_SN: "incorrect_chassis",
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NO_PARTITION:         "no_partition",
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INSUFFICIENT_NVLINKS: "insufficient_nvlinks",
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCOMPATIBLE_GPU_FW:  "incompatible_firmware",
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INVALID_LOCATION:     "invalid_location",
		nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_GPU_STATE_INVALID:    "invalid_gpu_state",
	}
	c := field(nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION)
	if int(c) < len(wrong) && wrong[c] != "" {
		list = append(list, wrong[c])
	}
	return list
}
