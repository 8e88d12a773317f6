// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"errors"
	"strconv"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
	"github.com/fabricd/fabricd/probes/topo"
)

// A portRow is one port of an RDMA device.
type portRow struct {
	*Port
	device   *probes.RDMADevice
	f        *probes.Function // nil if software makes the device
	role     topo.Role
	sisters  string
	virtual  bool           // of a virtual function, a subfunction or software: others decide what it does
	ethernet *probes.Netdev // its own interface; nil if it has none
	leg      *leg           // the row stands for a leg of a bond; nil otherwise
	lacks    int            // ports that the plan counts and the machine does not have; with them the row stands for no port
}

// absent says that only the row's state is judged: there is no such RDMA port.
func (r *portRow) absent() bool { return r.Err == errGone || r.lacks > 0 || r.leg != nil }

// portRows lists the ports of all RDMA devices. A device whose reading is not
// fresh has those that the inventory knows, with nothing read of them.
func portRows(v *collectors.View, list []collectors.Unit[Reading]) []portRow {
	fresh := make(map[string]*Reading, len(list))
	for _, u := range list {
		fresh[u.Name] = u.Reading
	}
	var rows []portRow
	for _, d := range v.Inventory.RDMA {
		if reading := fresh[d.Name]; reading != nil {
			for i := range reading.Ports {
				rows = append(rows, portRowOf(v, d, &reading.Ports[i]))
			}
			continue
		}
		for _, p := range d.Ports {
			unread := &Port{Device: d.Name, Address: d.Address(), Number: p.Number, LinkLayer: p.LinkLayer, Err: errStale}
			rows = append(rows, portRowOf(v, d, unread))
		}
	}
	return rows
}

// errStale stands for a port of which there is no fresh reading.
var errStale = errors.New("no fresh reading")

func portRowOf(v *collectors.View, d *probes.RDMADevice, p *Port) portRow {
	f := d.Function
	if f == nil {
		return portRow{Port: p, device: d, virtual: true}
	}
	r := portRow{Port: p, device: d, f: f, role: v.Topology.Role(f), sisters: v.Topology.Sisters(f), virtual: f.Virtual() || !d.Port}
	for _, n := range f.Netdevs {
		if n.Name == p.Netdev.Name && p.Protocol != InfiniBand {
			r.ethernet = n
		}
	}
	return r
}

func portColumns() collectors.Columns[portRow] {
	c := collectors.Columns[portRow]{Labels: portLabels(), Metrics: portMetrics(), Checks: []portCheck{
		rateCheck(), layerCheck(), errorsCheck(), lossCheck(), receiverCheck(), gidCheck(),
	}}
	for i := range c.Metrics {
		get := c.Metrics[i].Get
		c.Metrics[i].Get = func(r *portRow) (float64, bool) {
			if r.absent() {
				return 0, false
			}
			return get(r)
		}
	}
	for i := range c.Checks {
		eval := c.Checks[i].Eval
		c.Checks[i].Eval = func(r *portRow, e *portEnv) verdict {
			if r.absent() {
				return verdict{}
			}
			return eval(r, e)
		}
	}
	c.Checks = append([]portCheck{stateCheck()}, c.Checks...)
	return c
}

type (
	portCheck = collectors.Check[portRow]
	portEnv   = collectors.Env[portRow]
	portPast  = []collectors.Sample[portRow]
	verdict   = collectors.Verdict
)

// portSubject names a port in findings: with its interface, if that is wanted.
func portSubject(netdev bool) []collectors.Label[portRow] {
	labels := portLabels()[1:]
	if netdev {
		labels = append(labels, collectors.Label[portRow]{Name: "netdev", Get: func(r *portRow) string { return r.Netdev.Name }})
	}
	return labels
}

// sistersOf lists the ports that are compared with r, itself among them: of the
// same model and role, and no virtual functions.
func sistersOf(r *portRow, e *portEnv) []*portRow {
	var list []*portRow
	for i := range e.Rows {
		if o := &e.Rows[i]; o.sisters == r.sisters && o.virtual == r.virtual {
			list = append(list, o)
		}
	}
	return list
}

// software says whether the kernel makes the port of an interface.
func (r *portRow) software() bool { return r.f == nil }

// whose says why a virtual port is no port of this host's.
func (r *portRow) whose() string {
	if r.software() {
		return "software makes it of " + r.netdevName()
	}
	return "it is a virtual function's"
}

// rise sums the rises of a counter of the port since it came.
func (r *portRow) rise(past portPast, get func(*Port) Count) uint64 {
	return collectors.Growth(past, func(o *portRow) (uint64, bool) {
		c := get(o.Port)
		return c.V, c.OK && o.Epoch == r.Epoch
	})
}

func portLabels() []collectors.Label[portRow] {
	return []collectors.Label[portRow]{
		{Name: "address", Get: func(r *portRow) string { return r.Address }},
		{Name: "device", Get: func(r *portRow) string { return r.Device }},
		{Name: "port", Get: func(r *portRow) string {
			switch {
			case r.lacks > 0:
				return ""
			case r.leg != nil:
				return r.Netdev.Name
			}
			return strconv.Itoa(r.Number)
		}},
	}
}

// with adds labels of one fixed value each to those of a port.
func with(name, value string) []collectors.Label[portRow] {
	return append(portLabels(), collectors.Label[portRow]{Name: name, Get: func(*portRow) string { return value }})
}

type portMetric = collectors.Metric[portRow]

func portMetrics() []portMetric {
	list := []portMetric{
		{Name: "rdma_port_info", Help: "1 for each port of an RDMA device: what it speaks, its interface, the firmware, and the GUID of the card. The address is empty where software makes the device (soft-RoCE, soft-iWARP).", Source: "sysfs link_layer, node_type, fw_ver, sys_image_guid",
			Labels: append(portLabels(),
				collectors.Label[portRow]{Name: "link_layer", Get: func(r *portRow) string { return r.LinkLayer }},
				collectors.Label[portRow]{Name: "protocol", Get: func(r *portRow) string { return r.Protocol.String() }},
				collectors.Label[portRow]{Name: "netdev", Get: func(r *portRow) string { return r.Netdev.Name }},
				collectors.Label[portRow]{Name: "firmware", Get: func(r *portRow) string { return r.device.Firmware }},
				collectors.Label[portRow]{Name: "hca", Get: func(r *portRow) string { return r.device.HCAType }},
				collectors.Label[portRow]{Name: "system_image", Get: func(r *portRow) string { return r.device.SysImageGUID }}),
			Get: func(*portRow) (float64, bool) { return 1, true }},
		{Name: "rdma_port_state", Help: "State of the port: 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER.", Source: "sysfs ports/N/state",
			Get: func(r *portRow) (float64, bool) { return float64(r.State), r.State != 0 }},
		{Name: "rdma_port_physical_state", Help: "Physical state of the port: 1 Sleep, 2 Polling, 3 Disabled, 4 PortConfigurationTraining, 5 LinkUp, 6 LinkErrorRecovery, 7 Phy Test.", Source: "sysfs ports/N/phys_state",
			Get: func(r *portRow) (float64, bool) { return float64(r.Phys), r.Phys != 0 }},
		{Name: "rdma_port_rate_bytes_per_second", Help: "Rate of the port in one direction. Absent while it is not active: the file means nothing then.", Source: "sysfs ports/N/rate",
			Get: func(r *portRow) (float64, bool) {
				return r.Rate.Gbps * 1e9 / 8, r.State == rdma.Active && r.Rate.Gbps > 0
			}},
		{Name: "rdma_port_width_lanes", Help: "Lanes of an active InfiniBand port. On Ethernet the kernel makes the number up.", Source: "sysfs ports/N/rate",
			Get: func(r *portRow) (float64, bool) {
				return float64(r.Rate.Lanes), r.Protocol == InfiniBand && r.State == rdma.Active && r.Rate.Lanes > 0
			}},
		{Name: "rdma_port_lid", Help: "Local identifier that the subnet manager gave to the port.", Source: "sysfs ports/N/lid",
			Get: func(r *portRow) (float64, bool) { return float64(r.LID), r.LID != 0 }},
		{Name: "rdma_port_gid_index", Help: "Index of the best RoCE v2 address that routes: what NCCL_IB_GID_INDEX may be set to.", Source: "sysfs ports/N/gids, gid_attrs",
			Get: func(r *portRow) (float64, bool) { return float64(r.GIDs.Best.Index), r.GIDs.HasV2 }},
	}
	list = append(list, trafficMetrics()...)
	list = append(list, troubleMetrics()...)
	return append(list, errorMetrics()...)
}

func family(f Family, name, help, source string, labels []collectors.Label[portRow]) portMetric {
	return portMetric{Name: name, Kind: collectors.Counter, Help: help, Source: source, Labels: labels, Get: func(r *portRow) (float64, bool) {
		c := r.Get(f)
		return float64(c.V), c.OK
	}}
}

func trafficMetrics() []portMetric {
	const bytes, packets = "sysfs counters/port_*_data (words of 4 bytes), or the driver's hw_counters", "sysfs counters/port_*_packets, or the driver's hw_counters"
	return []portMetric{
		family(TransmittedBytes, "rdma_transmitted_bytes_total", "Bytes of RDMA traffic sent.", bytes, nil),
		family(ReceivedBytes, "rdma_received_bytes_total", "Bytes of RDMA traffic received.", bytes, nil),
		family(TransmittedPackets, "rdma_transmitted_packets_total", "Packets of RDMA traffic sent.", packets, nil),
		family(ReceivedPackets, "rdma_received_packets_total", "Packets of RDMA traffic received.", packets, nil),
		{Name: "rdma_transmit_wait_ticks_total", Kind: collectors.Counter, Source: "sysfs counters/port_xmit_wait",
			Help: "Ticks in which the port had something to send and no credit or permission to. The length of a tick is the device's: compare it only with itself.",
			Get: func(r *portRow) (float64, bool) {
				c := r.PMA.Find(waitCounter)
				return float64(c.V), c.OK
			}},
		{Name: "rdma_hw_counters_lifespan_seconds", Source: "sysfs hw_counters/lifespan",
			Help: "For how long the kernel answers reads of hw_counters from the values that it got last.",
			Get:  func(r *portRow) (float64, bool) { return r.Lifespan.Seconds(), r.Lifespan > 0 }},
		{Name: "rdma_hw_counters_refresh_seconds", Source: "sysfs hw_counters, measured",
			Help: "Shortest time seen between two changes of the port's hw_counters, at most as fine as they are read: rates over less time are artefacts.",
			Get:  func(r *portRow) (float64, bool) { return r.Refresh.Seconds(), r.Refresh > 0 }},
	}
}

func troubleMetrics() []portMetric {
	const source = "sysfs hw_counters, names by driver"
	list := []portMetric{
		family(OutOfBuffer, "rdma_out_of_buffer_total", "Packets that found no receive buffer posted on this host.", source, nil),
		family(RNRSent, "rdma_receiver_not_ready_total", "Receiver-not-ready answers by direction: sent to the peer, received from it.", source, with("direction", "sent")),
		family(RNRReceived, "rdma_receiver_not_ready_total", "Receiver-not-ready answers by direction: sent to the peer, received from it.", source, with("direction", "received")),
		family(RetriesExceeded, "rdma_retries_exceeded_total", "Connections that broke because the network did not deliver after all retries.", source, nil),
		family(ECNMarked, "roce_ecn_marked_packets_total", "RoCE packets received with a mark of congestion (CE).", source, nil),
	}
	for _, c := range []struct {
		family Family
		event  string
	}{{CNPSent, "sent"}, {CNPHandled, "handled"}, {CNPIgnored, "ignored"}} {
		list = append(list, family(c.family, "roce_cnp_total", "Congestion notification packets by event: sent to the sender of marked packets, received and handled, received and ignored.", source, with("event", c.event)))
	}
	for f := AckTimeout; f.Lossy(); f++ {
		list = append(list, family(f, "rdma_loss_events_total", "Events that tell of lost or late packets, by cause: ack_timeout, sequence_nak (the peer missed a packet), out_of_sequence (this host did), implied_nak, adaptive (retransmissions).", source, with("cause", f.cause())))
	}
	return list
}

// cause names a lossy family in labels.
func (f Family) cause() string {
	return [...]string{"ack_timeout", "sequence_nak", "out_of_sequence", "implied_nak", "adaptive"}[f-AckTimeout]
}

func errorMetrics() []portMetric {
	list := []portMetric{{
		Name: "rdma_port_saturated_counters", Source: "sysfs counters",
		Help: "How many of the port's narrow counters (4, 8, 16 or 32 bits) stand at their maximum, where they stick until they are reset. Absent without any.",
		Get: func(r *portRow) (float64, bool) {
			full, narrow := r.saturated()
			return float64(len(full)), narrow > 0
		}}}
	for _, name := range errorNames() {
		list = append(list, portMetric{Name: "rdma_port_errors_total", Kind: collectors.Counter, Source: "sysfs counters",
			Help: "Errors and events of the port by the kernel's name of the counter. Narrow ones stick at their maximum (15, 255 or 65535).", Labels: with("error", name),
			Get: func(r *portRow) (float64, bool) {
				c := r.PMA.Find(name)
				return float64(c.V), c.OK
			}})
	}
	return list
}

// saturated lists the narrow counters that stand at their maximum, and counts
// all narrow ones.
func (p *Port) saturated() (full []string, narrow int) {
	for i, name := range p.PMA.Names {
		limit, ok := rdma.NarrowMax(name)
		if !ok || !p.PMA.Values[i].OK {
			continue
		}
		narrow++
		if p.PMA.Values[i].V == limit {
			full = append(full, name)
		}
	}
	return full, narrow
}
