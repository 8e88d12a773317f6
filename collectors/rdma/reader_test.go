// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/probes"
	probe "github.com/fabricd/fabricd/probes/rdma"
)

// mlx5 names what a ConnectX shows below hw_counters.
const mlx5 = `rx_write_requests rx_read_requests rx_atomic_requests rx_dct_connect out_of_buffer out_of_sequence duplicate_request rnr_nak_retry_err
	packet_seq_err implied_nak_seq_err local_ack_timeout_err resp_local_length_error resp_cqe_error req_cqe_error req_remote_invalid_request
	req_remote_access_errors resp_remote_access_errors resp_cqe_flush_error req_cqe_flush_error req_transport_retries_exceeded
	req_rnr_retries_exceeded roce_adp_retrans roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans
	rp_cnp_ignored rp_cnp_handled np_ecn_marked_roce_packets np_cnp_sent rx_icrc_encapsulated`

const pma = `VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery local_link_integrity_errors multicast_rcv_packets
	multicast_xmit_packets port_rcv_constraint_errors port_rcv_data port_rcv_errors port_rcv_packets port_rcv_remote_physical_errors
	port_rcv_switch_relay_errors port_xmit_constraint_errors port_xmit_data port_xmit_discards port_xmit_packets port_xmit_wait
	symbol_error unicast_rcv_packets unicast_xmit_packets`

// ten is a node with ten RoCE ports of mlx5, with all of their counters.
func ten(tb testing.TB) *host {
	h := server(tb, 10, roce)
	for i := range 10 {
		for _, name := range strings.Fields(mlx5) {
			port(h.Dev(nic(i)), fmt.Sprintf("mlx5_%d", i), "hw_counters/"+name+" 1234567")
		}
		for _, name := range strings.Fields(pma) {
			port(h.Dev(nic(i)), fmt.Sprintf("mlx5_%d", i), "counters/"+name+" 3")
		}
	}
	return h
}

func openAll(tb testing.TB, h *probes.Host) (all []collectors.Reader[rdma.Reading]) {
	for _, d := range h.Inventory().RDMA {
		r, err := rdma.OpenDevice(h, d.Name)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(r.Close)
		all = append(all, r)
	}
	return all
}

// One reading of ten ports, at the period at which hw_counters are read, and
// each second, when the rest is.
func BenchmarkRead(b *testing.B) {
	for _, step := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second} {
		b.Run(step.String(), func(b *testing.B) {
			h, _ := ten(b).Mount()
			all := openAll(b, h)
			b.ReportAllocs()
			at := time.Duration(0)
			for b.Loop() {
				at += step
				for _, r := range all {
					if _, err := r.Read(at); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// A reading in which nothing changed is the one before; one in which something
// did costs its own values, and nothing for names.
func TestAllocations(t *testing.T) {
	h, root := ten(t).Mount()
	r := openAll(t, h)[0]
	first, err := r.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Duration(0)
	if n := testing.AllocsPerRun(25, func() { at += time.Second; _, _ = r.Read(at) }); n > 0 {
		t.Errorf("%v allocations for a reading without news", n)
	}
	if again, _ := r.Read(at); again.Ports[0].HW.Names[0] != first.Ports[0].HW.Names[0] || again.Ports[0].Get(rdma.ReceivedBytes) != (rdma.Count{V: 12, OK: true}) {
		t.Errorf("%+v", again)
	}
	name := filepath.Join(root, h.Inventory().RDMA[0].Path, "ports/1/hw_counters/out_of_buffer")
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	digit := []byte("2")
	n := testing.AllocsPerRun(100, func() {
		digit[0] ^= 1
		_, _ = f.WriteAt(digit, 0)
		at += 10 * time.Millisecond
		_, _ = r.Read(at)
	})
	if n > 6 {
		t.Errorf("%v allocations for a reading with news", n)
	}
}

// What costs the firmware a command is not asked at every tick, and what was
// refused not before something happened.
func TestCadence(t *testing.T) {
	machine := oneRoCE(t)
	port(machine.Dev(nic(0)), "mlx5_0", "counters/symbol_error N/A (no PMA)")
	h, root := machine.Mount()
	r := openAll(t, h)[0]
	dir := filepath.Join(root, h.Inventory().RDMA[0].Path, "ports/1")
	set := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(at time.Duration) *rdma.Port {
		t.Helper()
		got, err := r.Read(at)
		if err != nil {
			t.Fatal(err)
		}
		return &got.Ports[0]
	}
	was := read(0)
	if was.State != probe.Active || was.Rate.Gbps != 400 || was.PMA.Find("symbol_error").OK || !was.GIDs.HasV2 || was.Netdev.Name != "eth0" || was.Lifespan != 10*time.Millisecond {
		t.Fatalf("%+v", was)
	}
	set("state", "1: DOWN")
	set("phys_state", "3: Disabled")
	set("counters/port_xmit_data", "7000000000")
	set("counters/symbol_error", "5")
	set("hw_counters/out_of_buffer", "17")
	p := read(100 * time.Millisecond)
	if p.State != probe.Active || p.Get(rdma.TransmittedBytes).V != 4e9 || p.Get(rdma.OutOfBuffer).V != 17 {
		t.Errorf("after 100 ms: %v, %v, %v", p.State, p.Get(rdma.TransmittedBytes), p.Get(rdma.OutOfBuffer))
	}
	if was.Get(rdma.OutOfBuffer).V != 0 {
		t.Error("a reading was changed")
	}
	p = read(time.Second)
	if p.State != probe.Down || p.Phys != probe.Disabled || !p.WasActive || p.Rate.Gbps != 0 || p.Get(rdma.TransmittedBytes).V != 28e9 {
		t.Errorf("after 1 s: %+v", p)
	}
	set("state", "4: ACTIVE")
	set("rate", "200 Gb/sec (4X HDR)")
	if p = read(2 * time.Second); p.Rate.Gbps != 200 {
		t.Errorf("the rate of a port that came up: %v", p.Rate)
	}
	if p = read(20 * time.Second); p.PMA.Find("symbol_error").OK {
		t.Error("what was refused is asked again though nothing happened")
	}
	h.Refresh()
	if p = read(30 * time.Second); p.PMA.Find("symbol_error").V != 5 {
		t.Error("what was refused is not asked again")
	}
	set("rate", "100 Gb/sec (2X HDR)")
	h.Refresh()
	if p = read(35 * time.Second); p.Rate.Gbps != 200 {
		t.Errorf("asked again too soon: %v", p.Rate)
	}
	if p = read(40 * time.Second); p.Rate.Gbps != 100 {
		t.Errorf("an event is forgotten that came soon after the one before: %v", p.Rate)
	}
}

// A device that went is reported, one that came back is opened anew.
func TestReplaced(t *testing.T) {
	h, root := oneRoCE(t).Mount()
	r := openAll(t, h)[0]
	if _, err := r.Read(0); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, h.Inventory().RDMA[0].Path)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	h.Refresh()
	if _, err := r.Read(time.Second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
	if err := os.CopyFS(dir, os.DirFS(dir+".old")); err != nil {
		t.Fatal(err)
	}
	h.Refresh()
	if _, err := r.Read(2 * time.Second); !errors.Is(err, collectors.ErrReopen) {
		t.Errorf("back: %v", err)
	}
}

// How often values are new is measured, not believed.
func TestRefresh(t *testing.T) {
	h, root := oneRoCE(t).Mount()
	r := openAll(t, h)[0]
	name := filepath.Join(root, h.Inventory().RDMA[0].Path, "ports/1/hw_counters/out_of_sequence")
	last := time.Duration(0)
	for i := range 100 {
		at := time.Duration(i) * 100 * time.Millisecond
		if i%20 == 0 { // a driver that asks its firmware every two seconds
			if err := os.WriteFile(name, fmt.Append(nil, i), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.Read(at)
		if err != nil {
			t.Fatal(err)
		}
		last = got.Ports[0].Refresh
	}
	if last != 2*time.Second {
		t.Errorf("refreshed every %s", last)
	}
}

// Words that are more bytes than can be counted are no count.
func TestWords(t *testing.T) {
	for words, want := range map[string]rdma.Count{"4611686018427387903": {V: 1<<64 - 4, OK: true}, "4611686018427387904": {}} {
		h := oneRoCE(t)
		port(h.Dev(nic(0)), "mlx5_0", "counters/port_xmit_data "+words, "counters/port_rcv_data "+words)
		live, _ := h.Mount()
		got, err := openAll(t, live)[0].Read(0)
		if err != nil {
			t.Fatal(err)
		}
		if p := &got.Ports[0]; p.Get(rdma.TransmittedBytes) != want || p.Get(rdma.ReceivedBytes) != want {
			t.Errorf("%s words: %v sent, %v received, want %v", words, p.Get(rdma.TransmittedBytes), p.Get(rdma.ReceivedBytes), want)
		}
	}
}
