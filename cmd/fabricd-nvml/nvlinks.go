// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"encoding/binary"

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
		case ret == nvml.ERROR_NOT_SUPPORTED:
			continue
		case ret != nvml.SUCCESS: // then what is known of the others may mislead
			d.NVLinks = nil
			return ret
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

// linkErrors asks for the error counters of a link: those of the first four
// NVLinks or, where there are none of them, those of the fifth.
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
		askFields(h, uint32(link), map[uint32]**uint64{
			nvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS: &e.Malformed, nvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS: &e.Overrun,
			nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS: &e.Receive, nvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS: &e.Integrity,
			nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: &e.Recovery, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS: &e.RecoveryFailed,
			nvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS: &e.Effective, nvml.FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS: &e.Symbol,
		})
	}
	if e == (gpu.NVLinkErrors{}) {
		return nil
	}
	return &e
}

// askFields asks for several counters of a link in one call. Each has an
// answer of its own.
func askFields(h nvml.Device, link uint32, fields map[uint32]**uint64) {
	values := make([]nvml.FieldValue, 0, len(fields))
	for id := range fields {
		values = append(values, nvml.FieldValue{FieldId: id, ScopeId: link})
	}
	if h.GetFieldValues(values) != nvml.SUCCESS {
		return
	}
	for _, v := range values {
		to := fields[v.FieldId]
		if to == nil || nvml.Return(v.NvmlReturn) != nvml.SUCCESS {
			continue
		}
		switch nvml.ValueType(v.ValueType) {
		case nvml.VALUE_TYPE_UNSIGNED_INT:
			n := uint64(binary.NativeEndian.Uint32(v.Value[:]))
			*to = &n
		case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
			n := binary.NativeEndian.Uint64(v.Value[:])
			*to = &n
		}
	}
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
