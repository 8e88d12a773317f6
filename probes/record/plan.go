// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"time"
)

// An ask is one row of a plan: names, separated by white space, below a
// directory. An element of a name may be a glob.
type ask struct {
	names string
	links bool // they are symbolic links: their targets are kept, and they are not followed
	// wakes: reading them wakes a suspended function.
	wakes bool
	// floor is the shortest time between two reads, for what costs the machine more than a copy.
	floor time.Duration
}

// functionAsks is what is asked of a PCI function. The names are listed one by
// one: a function's directory also holds files whose mere reading does harm.
var functionAsks = []ask{
	{names: `vendor device subsystem_vendor subsystem_device class revision numa_node local_cpulist
		irq enable ari_enabled resource power_state power/runtime_status
		sriov_totalvfs sriov_numvfs product_name link/* msi_irqs/*
		aer_dev_correctable aer_dev_nonfatal aer_dev_fatal
		aer_rootport_total_err_cor aer_rootport_total_err_nonfatal aer_rootport_total_err_fatal`},
	// The inventory reads the maxima of a suspended function as well, once.
	{names: `max_link_speed max_link_width`, floor: 30 * time.Second},
	{names: `current_link_speed current_link_width`, wakes: true},
	// amdgpu's own.
	{names: `gpu_busy_percent pp_dpm_pcie pcie_replay_count mem_info_vram_total mem_info_vram_used
		mem_info_vis_vram_total mem_info_vis_vram_used xgmi_hive_info/xgmi_hive_id`, wakes: true},
	// A bus transaction for every four bytes.
	{names: `config`, wakes: true, floor: 30 * time.Second},
	{names: `driver physfn virtfn* iommu_group net/* infiniband/*`, links: true},
}

var netdevAsks = []ask{
	{names: `address type mtu speed duplex carrier carrier_changes carrier_up_count carrier_down_count operstate
		flags ifindex iflink dev_port dev_id addr_len tx_queue_len phys_port_name phys_switch_id statistics/*
		bonding/mode bonding/slaves bonding/mii_status bonding_slave/state bonding_slave/mii_status bridge/stp_state
		bridge/group_fwd_mask brport/group_fwd_mask
		queues/tx-*/tx_timeout queues/tx-*/tx_maxrate queues/tx-*/traffic_class queues/tx-*/xps_cpus
		queues/tx-*/byte_queue_limits/*`},
	// A firmware command each.
	{names: `ecn/roce_np/* ecn/roce_np/enable/* ecn/roce_rp/* ecn/roce_rp/enable/*
		qos/trust qos/prio2buffer qos/buffer_size settings/pfc_stall_prevention`, floor: 30 * time.Second},
	{names: `device master lower_*`, links: true},
}

var rdmaAsks = []ask{
	{names: `node_type node_guid sys_image_guid node_desc parent fw_ver hca_type hw_rev board_id tc/*/traffic_class
		ports/*/state ports/*/phys_state ports/*/rate ports/*/link_layer ports/*/lid ports/*/lid_mask_count
		ports/*/sm_lid ports/*/sm_sl ports/*/cap_mask`},
	// A firmware command each.
	{names: `ports/*/counters/* ports/*/hw_counters/* hw_counters/*`, floor: time.Second},
	{names: `device`, links: true},
}

// sysAsks is below sys, procAsks below proc.
var sysAsks = []ask{
	{names: `devices/system/node/online devices/system/node/possible devices/system/node/has_cpu
		devices/system/node/has_memory devices/system/node/has_normal_memory devices/system/node/has_generic_initiator
		devices/system/node/node[0-9]*/cpulist devices/system/node/node[0-9]*/distance
		devices/system/node/node[0-9]*/meminfo devices/system/node/node[0-9]*/numastat
		devices/system/cpu/online devices/system/cpu/cpu[0-9]*/topology/physical_package_id
		class/dmi/id/sys_vendor class/dmi/id/product_name class/dmi/id/board_name
		hypervisor/type kernel/iommu_groups/*/type kernel/mm/memory_peers/*/version
		module/nvidia/version module/nvidia/refcnt module/nvidia_uvm/version module/nvidia_uvm/refcnt
		module/nvidia_peermem/version module/nvidia_peermem/refcnt
		module/nvidia_peermem/parameters/peerdirect_support module/nvidia_peermem/parameters/persistent_api_support
		module/nv_peer_mem/version module/nv_peer_mem/refcnt module/gdrdrv/version module/amdgpu/version
		module/mlx5_core/version module/mlx5_ib/version module/ib_core/version module/bnxt_en/version
		module/bnxt_re/version module/irdma/version module/ice/version module/efa/version
		module/pcie_aspm/parameters/policy
		module/irdma/parameters/dcqcn_* module/irdma/parameters/roce_ena`},
	// A firmware command each.
	{names: `kernel/debug/mlx5/*/cc_params/* kernel/debug/bnxt_re/*/cc_config/*`, floor: 5 * time.Minute},
}

var procAsks = []ask{
	{names: `cpuinfo cmdline modules version interrupts net/softnet_stat xen/capabilities device-tree/model
		sys/kernel/osrelease sys/kernel/hostname sys/kernel/numa_balancing
		irq/[0-9]*/smp_affinity_list irq/[0-9]*/effective_affinity_list irq/[0-9]*/node
		driver/nvidia/version driver/nvidia/params driver/nvidia/gpus/*/information
		driver/nvidia/gpus/*/power driver/nvidia/gpus/*/numa_status`},
}

// processAsks is what is asked of a process that uses a GPU.
var processAsks = []ask{
	{names: `comm status numa_maps`, floor: 10 * time.Second},
}

// forbidden says that reading a file of this name acts on a device or floods
// it. No plan names one; this holds whatever globs find.
func forbidden(name string) bool {
	switch name {
	case "rom", "vpd", "reset", "reset_method", "reset_subordinate", "remove", "rescan", "new_id", "bind", "unbind":
		return true
	}
	return strings.HasPrefix(name, "resource") && name != "resource"
}

// Bounds of what is taken.
const (
	maxNames     = 16 << 10 // of one directory: more than any host has CPUs
	maxProcesses = 256
	maxMarks     = 10_000
	maxNotes     = 100
	// maxArchive is the size of the whole recording: below probes.MaxRecording, which is what is read back.
	maxArchive = 200 << 20
)

// limit is the most bytes that are taken of a file. The larger ones grow with
// the number of CPUs.
func limit(name string) int {
	switch {
	case name == "proc/interrupts":
		return 8 << 20
	case name == "proc/cpuinfo":
		return 2 << 20
	case strings.HasPrefix(name, "proc/") && strings.HasSuffix(name, "/numa_maps"):
		return 4 << 20
	case name == "proc/modules":
		return 256 << 10
	case !strings.HasPrefix(name, "sys/") && !strings.HasPrefix(name, "proc/"):
		return 4 << 20 // of a recording: ethtool's statistics, frames, GPU answers
	}
	return 64 << 10
}
