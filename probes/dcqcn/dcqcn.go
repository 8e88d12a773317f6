// SPDX-License-Identifier: Apache-2.0

// Package dcqcn reads the parameters of congestion control of RoCE adapters
// where their drivers show them: debugfs cc_params of mlx5 and cc_config of
// bnxt_re, the folder ecn of NVIDIA's own driver package, and the module
// parameters of Intel's own irdma. It knows their names, units and what the
// algorithm's paper calls them. It writes nothing.
package dcqcn

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

// A Parameter is one number that a driver shows, in base units: seconds,
// bytes, bytes per second, ratios.
type Parameter struct {
	Name  string // as this program calls it, whatever the driver does
	Paper string // as the paper on DCQCN calls it; "" if it does not
	File  string // the driver's name
	Value float64
}

// Switches say on which priorities a side of congestion control is on; not OK
// is not told.
type Switches [8]probes.Value[bool]

// Told says whether the driver tells of any priority.
func (s Switches) Told() bool {
	for _, v := range s {
		if v.OK {
			return true
		}
	}
	return false
}

// Settings are an adapter's.
type Settings struct {
	Source     string // the folder that they are from
	Parameters []Parameter
	// Notification is the side that tells the sender of marks (NP), Reaction
	// the one that slows down when told (RP); All is a switch of both.
	Notification, Reaction Switches
	All                    probes.Value[bool]
	// Err is why something that the driver has could not be read.
	Err error
}

// known is a parameter in the words of one driver.
type known struct {
	file, name, paper string
	unit              float64 // of the driver's number in base units
}

const (
	micro   = 1e-6
	mega    = 1e6 / 8 // megabits, of a rate
	percent = 0.01
	alpha   = 1.0 / 1024 // fixed point, 10 bits
)

// upstream are the files of mlx5's cc_params (drivers/infiniband/hw/mlx5/cong.c).
var upstream = []known{
	{"np_cnp_dscp", "cnp_dscp", "", 1},
	{"np_cnp_prio", "cnp_priority", "", 1},
	{"np_cnp_prio_mode", "cnp_priority_copied", "", 1},
	{"np_min_time_between_cnps", "cnp_interval_seconds", "N", micro},
	{"rp_ai_rate", "increase_bytes_per_second", "R_AI", mega},
	{"rp_byte_reset", "increase_bytes", "B", 1},
	{"rp_clamp_tgt_rate", "clamp_target_rate", "", 1},
	{"rp_clamp_tgt_rate_ati", "clamp_target_rate_after_time", "", 1},
	{"rp_dce_tcp_g", "alpha_gain_ratio", "g", alpha},
	{"rp_dce_tcp_rtt", "alpha_interval_seconds", "K", micro},
	{"rp_gd", "decrease_exponent", "log2(Gd)", 1},
	{"rp_hai_rate", "hyper_increase_bytes_per_second", "R_HAI", mega},
	{"rp_initial_alpha_value", "initial_alpha_ratio", "alpha", alpha},
	{"rp_max_rate", "max_rate_bytes_per_second", "", mega},
	{"rp_min_dec_fac", "max_decrease_ratio", "", percent},
	{"rp_min_rate", "min_rate_bytes_per_second", "R_min", mega},
	{"rp_rate_reduce_monitor_period", "decrease_interval_seconds", "", micro},
	{"rp_rate_to_set_on_first_cnp", "first_cnp_rate_bytes_per_second", "", mega},
	{"rp_threshold", "fast_recovery_stages", "F", 1},
	{"rp_time_reset", "increase_interval_seconds", "T", micro},
	{"rtt_resp_dscp", "rtt_response_dscp", "", 1},
	{"rtt_resp_dscp_valid", "rtt_response_dscp_set", "", 1},
}

// ofed are the files of the folder ecn (NVIDIA's driver package, en_ecn.c).
var ofed = []known{
	{"roce_np/cnp_dscp", "cnp_dscp", "", 1},
	{"roce_np/cnp_802p_prio", "cnp_priority", "", 1},
	{"roce_np/min_time_between_cnps", "cnp_interval_seconds", "N", micro},
	{"roce_rp/rpg_ai_rate", "increase_bytes_per_second", "R_AI", mega},
	{"roce_rp/rpg_byte_reset", "increase_bytes", "B", 1},
	{"roce_rp/clamp_tgt_rate", "clamp_target_rate", "", 1},
	{"roce_rp/clamp_tgt_rate_after_time_inc", "clamp_target_rate_after_time", "", 1},
	{"roce_rp/dce_tcp_g", "alpha_gain_ratio", "g", alpha},
	{"roce_rp/dce_tcp_rtt", "alpha_interval_seconds", "K", micro},
	{"roce_rp/rpg_gd", "decrease_exponent", "log2(Gd)", 1},
	{"roce_rp/rpg_hai_rate", "hyper_increase_bytes_per_second", "R_HAI", mega},
	{"roce_rp/initial_alpha_value", "initial_alpha_ratio", "alpha", alpha},
	{"roce_rp/rpg_max_rate", "max_rate_bytes_per_second", "", mega},
	{"roce_rp/rpg_min_dec_fac", "max_decrease_ratio", "", percent},
	{"roce_rp/rpg_min_rate", "min_rate_bytes_per_second", "R_min", mega},
	{"roce_rp/rate_reduce_monitor_period", "decrease_interval_seconds", "", micro},
	{"roce_rp/rate_to_set_on_first_cnp", "first_cnp_rate_bytes_per_second", "", mega},
	{"roce_rp/rpg_threshold", "fast_recovery_stages", "F", 1},
	{"roce_rp/rpg_time_reset", "increase_interval_seconds", "T", micro},
}

// broadcom are the files of bnxt_re's cc_config (drivers/infiniband/hw/bnxt_re/debugfs.c).
// Units of times and rates are the firmware's own there and stay as they are.
var broadcom = []known{
	{"run_avg_weight_g", "bnxt_run_avg_weight_g", "g", 1},
	{"num_phase_per_state", "bnxt_num_phase_per_state", "F", 1},
	{"init_cr", "bnxt_init_cr", "", 1},
	{"init_tr", "bnxt_init_tr", "", 1},
	{"tos_ecn", "tos_ecn", "", 1},
	{"tos_dscp", "tos_dscp", "", 1},
	{"alt_vlan_pcp", "cnp_priority", "", 1},
	{"alt_vlan_dscp", "cnp_dscp", "", 1},
	{"rtt", "bnxt_rtt", "", 1},
	{"cc_mode", "bnxt_cc_mode", "", 1},
	{"tcp_cp", "bnxt_tcp_cp", "", 1},
	{"inactivity_cp", "bnxt_inactivity_cp", "", 1},
}

// intel are the module parameters of Intel's own irdma; the kernel's has none.
var intel = []known{
	{"dcqcn_min_dec_factor", "max_decrease_ratio", "", percent},
	{"dcqcn_min_rate_MBps", "min_rate_bytes_per_second", "R_min", mega}, // megabits, says its description
	{"dcqcn_F", "fast_recovery_stages", "F", 1},
	{"dcqcn_T", "increase_interval_seconds", "T", micro},
	{"dcqcn_B", "increase_bytes", "B", 1},
	{"dcqcn_rai_factor", "irdma_rai_factor", "R_AI", 1},
	{"dcqcn_hai_factor", "irdma_hai_factor", "R_HAI", 1},
	{"dcqcn_rreduce_mperiod", "decrease_interval_seconds", "", micro},
}

// Read reads an interface's settings: netdev is its directory in sysfs, address
// its function's, driver that of the function. Where there are none, the error
// is fs.ErrNotExist; fs.ErrPermission is not allowed to look.
func Read(h *probes.Host, netdev, address, driver string) (*Settings, error) {
	debug := path.Join("sys/kernel/debug/mlx5", address, "cc_params")
	if s, err := readFolder(h, path.Join(netdev, "ecn"), ofed); err == nil {
		s.Notification = s.switches(h, "roce_np/enable")
		s.Reaction = s.switches(h, "roce_rp/enable")
		if !s.empty() {
			return s, nil
		}
	}
	switch {
	case driver == "mlx5_core":
		return some(readFolder(h, debug, upstream))
	case driver == "bnxt_en":
		return readSwitched(h, path.Join("sys/kernel/debug/bnxt_re", address, "cc_config"), broadcom, "enable_cc")
	case driver == "ice" || driver == "i40e":
		return readSwitched(h, "sys/module/irdma/parameters", intel, "dcqcn_enable")
	}
	return nil, &fs.PathError{Op: "open", Path: debug, Err: fs.ErrNotExist}
}

// empty says that nothing was found, nor failed.
func (s *Settings) empty() bool {
	return len(s.Parameters) == 0 && !s.Notification.Told() && !s.Reaction.Told() && !s.All.OK && s.Err == nil
}

// some takes a folder that is there and has nothing for none.
func some(s *Settings, err error) (*Settings, error) {
	if err == nil && s.empty() {
		return nil, &fs.PathError{Op: "open", Path: s.Source, Err: fs.ErrNotExist}
	}
	return s, err
}

// readFolder reads what a folder has of a table.
func readFolder(h *probes.Host, folder string, table []known) (*Settings, error) {
	if _, err := h.ReadDir(folder); err != nil {
		return nil, err
	}
	s := &Settings{Source: "/" + folder}
	for _, k := range table {
		v, err := s.number(h, k.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.Err = err
			continue
		}
		s.Parameters = append(s.Parameters, Parameter{k.name, k.paper, path.Base(k.file), float64(v) * k.unit})
	}
	return s, nil
}

// readSwitched reads a folder that has one switch for all.
func readSwitched(h *probes.Host, folder string, table []known, file string) (*Settings, error) {
	s, err := readFolder(h, folder, table)
	if err != nil {
		return nil, err
	}
	if v, err := s.number(h, file); err == nil {
		s.All = probes.Some(v != 0)
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.Err = err
	}
	return some(s, nil)
}

// switches reads a file for each priority. They read empty where the firmware
// does not answer, which is no 0.
func (s *Settings) switches(h *probes.Host, folder string) (list Switches) {
	for i := range list {
		v, err := s.number(h, path.Join(folder, strconv.Itoa(i)))
		switch {
		case err == nil:
			list[i] = probes.Some(v != 0)
		case !errors.Is(err, fs.ErrNotExist):
			s.Err = err
		}
	}
	return list
}

// number reads one file; module parameters may be Y or N.
func (s *Settings) number(h *probes.Host, file string) (uint64, error) {
	name := path.Join(s.Source[1:], file)
	b, err := h.ReadFile(name)
	if err != nil {
		return 0, err
	}
	switch text := strings.TrimSpace(string(b)); text {
	case "":
		return 0, fmt.Errorf("/%s reads empty: its firmware does not answer", name)
	case "Y":
		return 1, nil
	case "N":
		return 0, nil
	default:
		v, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("/%s: %q is no number", name, probes.Printable(text))
		}
		return v, nil
	}
}
