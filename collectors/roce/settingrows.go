// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/dcb"
)

// A settingRow is one number of a port's configuration.
type settingRow struct {
	netdev, metric string
	key, more      string // values of the labels beside netdev
	v              float64
}

// Names of metrics of the configuration, and of their labels.
const (
	metricClass     = "roce_priority_class"
	metricShare     = "roce_class_bandwidth_ratio"
	metricAlgorithm = "roce_class_info"
	metricDSCP      = "roce_dscp_priority"
	metricBuffer    = "roce_buffer_bytes"
	metricIn        = "roce_priority_buffer"
	metricTotal     = "roce_buffer_total_bytes"
	metricPeer      = "roce_peer_pfc_enabled"
	metricMode      = "roce_dcb_info"
	metricDCQCN     = "dcqcn_parameter"
	metricPoint     = "dcqcn_enabled"
)

// settingRows lists the configuration of all ports.
func settingRows(v *collectors.View, units []collectors.Unit[Reading]) []settingRow {
	var rows []settingRow
	for _, u := range units {
		r := u.Reading
		add := func(metric, key, more string, v float64) {
			rows = append(rows, settingRow{r.Netdev, metric, key, more, v})
		}
		if r.DCB != nil {
			r.bridging(add)
		}
		if b := r.buffer(); b != nil {
			sharing(b, add)
		}
		if r.DCQCN != nil {
			r.congestion(add)
		}
	}
	return rows
}

// trust is what sets a packet's priority: what the driver says, its own
// package's file, or what a map of DSCPs implies; "" is not known.
func (r *Reading) trust() string {
	c := r.DCB
	switch trust := strings.Join(c.Trust, ","); {
	case trust != "":
		return probes.Printable(trust)
	case r.Trust != "":
		return r.Trust
	case c.App != nil && c.TrustsDSCP():
		return "dscp"
	case c.App != nil:
		return "pcp"
	}
	return ""
}

func (r *Reading) bridging(add func(metric, key, more string, v float64)) {
	c := r.DCB
	trust := r.trust()
	add(metricMode, probes.Printable(strings.Join(c.DCBX, ",")), trust, 1)
	for n := range dcb.Priorities {
		key := strconv.Itoa(n)
		if c.ETS != nil {
			add(metricClass, key, "", float64(c.ETS.Class[n]))
			if c.ETS.Algorithm[n] != "strict" || c.ETS.Bandwidth[n] > 0 {
				add(metricShare, key, "", float64(c.ETS.Bandwidth[n])/100)
				add(metricAlgorithm, key, probes.Printable(c.ETS.Algorithm[n]), 1)
			}
		}
		if c.Peer != nil && c.Peer.PFC != nil {
			on := dcb.PFC{Enabled: c.Peer.PFC.Enabled}
			add(metricPeer, key, "", flag(on.On(n)))
		}
	}
	for _, a := range c.App {
		if a.Selector == "dscp" {
			add(metricDSCP, strconv.Itoa(a.Protocol), "", float64(a.Priority))
		}
	}
}

// buffer is how the receive buffer is shared: as dcbnl says or, where it does
// not, NVIDIA's own driver package.
func (r *Reading) buffer() *dcb.Buffer {
	if r.DCB != nil && r.DCB.Buffer != nil {
		return r.DCB.Buffer
	}
	return r.Buffer
}

func sharing(b *dcb.Buffer, add func(metric, key, more string, v float64)) {
	for n := range dcb.Priorities {
		key := strconv.Itoa(n)
		add(metricIn, key, "", float64(b.Priority[n]))
		if b.Size[n] > 0 {
			add(metricBuffer, key, "", float64(b.Size[n]))
		}
	}
	add(metricTotal, "", "", float64(b.Total))
}

func (r *Reading) congestion(add func(metric, key, more string, v float64)) {
	for _, p := range r.DCQCN.Parameters {
		add(metricDCQCN, p.Name, p.Paper, p.Value)
	}
	for n := range dcb.Priorities {
		if v := r.DCQCN.Notification[n]; v.OK {
			add(metricPoint, strconv.Itoa(n), "notification", flag(v.V))
		}
		if v := r.DCQCN.Reaction[n]; v.OK {
			add(metricPoint, strconv.Itoa(n), "reaction", flag(v.V))
		}
	}
	if v := r.DCQCN.All; v.OK {
		add(metricPoint, "", "both", flag(v.V))
	}
}

func settingColumns() collectors.Columns[settingRow] {
	netdev := collectors.Label[settingRow]{Name: "netdev", Get: func(r *settingRow) string { return r.netdev }}
	key := func(name string) collectors.Label[settingRow] {
		return collectors.Label[settingRow]{Name: name, Get: func(r *settingRow) string { return r.key }}
	}
	more := func(name string) collectors.Label[settingRow] {
		return collectors.Label[settingRow]{Name: name, Get: func(r *settingRow) string { return r.more }}
	}
	row := func(name, source, help string, labels ...collectors.Label[settingRow]) collectors.Metric[settingRow] {
		return collectors.Metric[settingRow]{Name: name, Source: source, Help: help, Labels: append([]collectors.Label[settingRow]{netdev}, labels...),
			Get: func(r *settingRow) (float64, bool) { return r.v, r.metric == name }}
	}
	return collectors.Columns[settingRow]{
		Labels: []collectors.Label[settingRow]{netdev, {Name: "metric", Get: func(r *settingRow) string { return r.metric }}, key("key"), more("more")},
		Metrics: []collectors.Metric[settingRow]{
			row(metricMode, "dcbnl DCBX, IEEE_APP", "1 for each port that answers dcbnl: who speaks DCBX (host or firmware: lld-managed), and what sets a packet's priority (dscp, pcp).", key("dcbx"), more("trust")),
			row(metricClass, "dcbnl IEEE_ETS", "Traffic class of a priority.", key("priority")),
			row(metricShare, "dcbnl IEEE_ETS", "Share of the link that a traffic class is granted; of classes that are not strict.", key("class")),
			row(metricAlgorithm, "dcbnl IEEE_ETS", "1 for the way in which a traffic class is served, unless that is strict.", key("class"), more("algorithm")),
			row(metricDSCP, "dcbnl IEEE_APP", "Priority to which a DSCP leads, of those in the map.", key("dscp")),
			row(metricIn, "dcbnl BUFFER, sysfs qos/prio2buffer", "Receive buffer that a priority goes to.", key("priority")),
			row(metricBuffer, "dcbnl BUFFER, sysfs qos/buffer_size", "Size of a receive buffer, of those that have any.", key("buffer")),
			row(metricTotal, "dcbnl BUFFER, sysfs qos/buffer_size", "Size of all receive buffers."),
			row(metricPeer, "dcbnl IEEE_PEER_PFC", "1 if the peer says that it has PFC on for the priority; where firmware speaks DCBX.", key("priority")),
			row(metricDCQCN, "debugfs cc_params, sysfs ecn, debugfs cc_config, irdma's module parameters", "Parameter of congestion control, in base units, with the name that the paper on DCQCN gives it. Names with a driver's prefix are in the driver's own unit.", key("parameter"), more("paper")),
			row(metricPoint, "sysfs ecn/roce_np/enable, ecn/roce_rp/enable, cc_config/enable_cc", "1 if a point of congestion control is on for the priority: notification tells senders of marks, reaction slows down.", key("priority"), more("point")),
		},
	}
}
