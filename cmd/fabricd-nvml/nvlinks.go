// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"encoding/binary"
	"slices"

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
			return withErrors(h, d)
		case ret == nvml.ERROR_NOT_SUPPORTED:
			continue
		case ret != nvml.SUCCESS: // then what is known of the others may mislead
			d.NVLinks = nil
			return ret
		}
		active := state == nvml.FEATURE_ENABLED
		l := gpu.NVLink{Link: i, Active: &active}
		if version, ret := h.GetNvLinkVersion(i); ret == nvml.SUCCESS {
			v := int(version)
			l.Version = &v
		}
		d.NVLinks = append(d.NVLinks, l)
	}
	return withErrors(h, d)
}

func withErrors(h nvml.Device, d *gpu.Device) nvml.Return {
	if len(d.NVLinks) == 0 {
		return nvml.ERROR_NOT_SUPPORTED
	}
	linkErrors(h, d)
	return nvml.SUCCESS
}

// linkErrors asks for the error counters of all links of a GPU: together
// where the driver can, since each on its own costs half a millisecond.
func linkErrors(h nvml.Device, d *gpu.Device) {
	all := make([]gpu.NVLinkErrors, len(d.NVLinks))
	askFields(h, d.NVLinks, func(i int) map[uint32]**uint64 {
		e := &all[i]
		return map[uint32]**uint64{
			nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY: &e.Replay, nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY: &e.Recovery, nvml.FI_DEV_NVLINK_ERROR_DL_CRC: &e.CRCFlit,
		}
	})
	if none(all) {
		askFields(h, d.NVLinks, func(i int) map[uint32]**uint64 { return fifth(&all[i]) })
	}
	if none(all) {
		for i := range all {
			all[i] = oneByOne(h, d.NVLinks[i].Link)
		}
	}
	for i := range all {
		if all[i] != (gpu.NVLinkErrors{}) {
			d.NVLinks[i].Errors = &all[i]
		}
	}
}

func none(all []gpu.NVLinkErrors) bool {
	return !slices.ContainsFunc(all, func(e gpu.NVLinkErrors) bool { return e != (gpu.NVLinkErrors{}) })
}

// fifth lists the counters that links from the fifth NVLink on have.
func fifth(e *gpu.NVLinkErrors) map[uint32]**uint64 {
	return map[uint32]**uint64{
		nvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS: &e.Malformed, nvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS: &e.Overrun,
		nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS: &e.Receive, nvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS: &e.Integrity,
		nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: &e.Recovery, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS: &e.RecoveryFailed,
		nvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS: &e.Effective, nvml.FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS: &e.Symbol,
	}
}

// oneByOne asks for each counter of a link, as drivers of old want it.
func oneByOne(h nvml.Device, link int) (e gpu.NVLinkErrors) {
	for counter, to := range map[nvml.NvLinkErrorCounter]**uint64{
		nvml.NVLINK_ERROR_DL_REPLAY: &e.Replay, nvml.NVLINK_ERROR_DL_RECOVERY: &e.Recovery,
		nvml.NVLINK_ERROR_DL_CRC_FLIT: &e.CRCFlit, nvml.NVLINK_ERROR_DL_CRC_DATA: &e.CRCData,
	} {
		n, ret := h.GetNvLinkErrorCounter(link, counter)
		*to = given(n, ret)
	}
	return e
}

// maxFields is how many fields are asked for at once: so many were tried.
const maxFields = 54

// askFields asks for several counters of all links in few calls. Each has an
// answer of its own.
func askFields(h nvml.Device, links []gpu.NVLink, fields func(i int) map[uint32]**uint64) {
	var values []nvml.FieldValue
	var to []**uint64
	for i := range links {
		for id, place := range fields(i) {
			values = append(values, nvml.FieldValue{FieldId: id, ScopeId: uint32(links[i].Link)})
			to = append(to, place)
		}
	}
	for some := range slices.Chunk(values, maxFields) {
		if h.GetFieldValues(some) != nvml.SUCCESS {
			return
		}
	}
	for i, v := range values {
		if nvml.Return(v.NvmlReturn) != nvml.SUCCESS {
			continue
		}
		switch nvml.ValueType(v.ValueType) {
		case nvml.VALUE_TYPE_UNSIGNED_INT:
			n := uint64(binary.NativeEndian.Uint32(v.Value[:]))
			*to[i] = &n
		case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
			n := binary.NativeEndian.Uint64(v.Value[:])
			*to[i] = &n
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
		if !d.NVLinks[i].IsActive() {
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
