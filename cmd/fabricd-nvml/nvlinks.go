// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/fabricd/fabricd/probes/gpu"
)

// askNVLinks asks each link of a GPU for its state, version and errors. A GPU
// has fewer links than the library knows: it says which it has not.
func askNVLinks(h nvml.Device, d *gpu.Device) nvml.Return {
	d.NVLinks = nil
	for i := range nvml.NVLINK_MAX_LINKS {
		state, ret := h.GetNvLinkState(i)
		switch {
		case lostReturn(ret) || gone(ret):
			return ret
		case ret == nvml.ERROR_INVALID_ARGUMENT:
			return unlessNone(d)
		case ret != nvml.SUCCESS:
			continue
		}
		l := gpu.NVLink{Link: i, Active: state == nvml.FEATURE_ENABLED}
		if version, ret := h.GetNvLinkVersion(i); ret == nvml.SUCCESS {
			v := int(version)
			l.Version = &v
		}
		l.Errors = linkErrors(h, i)
		d.NVLinks = append(d.NVLinks, l)
	}
	return unlessNone(d)
}

func unlessNone(d *gpu.Device) nvml.Return {
	if len(d.NVLinks) == 0 {
		return nvml.ERROR_NOT_SUPPORTED
	}
	return nvml.SUCCESS
}

// linkErrors asks for the error counters of a link. GPUs that count otherwise
// (those with the fifth NVLink) support none of them.
func linkErrors(h nvml.Device, link int) *gpu.NVLinkErrors {
	e := gpu.NVLinkErrors{}
	for counter, to := range map[nvml.NvLinkErrorCounter]**uint64{
		nvml.NVLINK_ERROR_DL_REPLAY: &e.Replay, nvml.NVLINK_ERROR_DL_RECOVERY: &e.Recovery,
		nvml.NVLINK_ERROR_DL_CRC_FLIT: &e.CRCFlit, nvml.NVLINK_ERROR_DL_CRC_DATA: &e.CRCData,
	} {
		n, ret := h.GetNvLinkErrorCounter(link, counter)
		*to = given(n, ret)
	}
	if e == (gpu.NVLinkErrors{}) {
		return nil
	}
	return &e
}

// askRemotes asks what is at the other end of each active link.
func askRemotes(h nvml.Device, d *gpu.Device) nvml.Return {
	words := map[nvml.IntNvLinkDeviceType]string{
		nvml.NVLINK_DEVICE_TYPE_GPU: "gpu", nvml.NVLINK_DEVICE_TYPE_IBMNPU: "npu",
		nvml.NVLINK_DEVICE_TYPE_SWITCH: "switch", nvml.NVLINK_DEVICE_TYPE_UNKNOWN: "unknown",
	}
	for i := range d.NVLinks {
		if !d.NVLinks[i].Active {
			continue
		}
		kind, ret := h.GetNvLinkRemoteDeviceType(d.NVLinks[i].Link)
		if lostReturn(ret) || gone(ret) {
			return ret
		}
		if ret == nvml.SUCCESS {
			d.NVLinks[i].RemoteType = words[kind]
		}
	}
	return nvml.SUCCESS
}
