// SPDX-License-Identifier: Apache-2.0

// Package qdisc asks the kernel for the queueing disciplines above transmit
// queues and what they have counted. It knows the messages (rtnetlink) and the
// form that recordings have, which is that of tc -j -s qdisc show; what a
// discipline does it does not know.
package qdisc

import (
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

// A Qdisc is one queueing discipline.
type Qdisc struct {
	Kind       string `json:"kind"`
	Handle     string `json:"handle"`
	Dev        string `json:"dev"`
	Root       bool   `json:"root,omitempty"`
	Parent     string `json:"parent,omitempty"` // "1:5", in hexadecimal; "" at the root
	Bytes      uint64 `json:"bytes"`
	Packets    uint64 `json:"packets"`
	Drops      uint64 `json:"drops"`
	Overlimits uint64 `json:"overlimits"`
	Requeues   uint64 `json:"requeues"`
	Backlog    uint64 `json:"backlog"` // bytes
	Qlen       uint64 `json:"qlen"`    // packets
}

// Queue gives the transmit queue that a discipline below mq is for.
func (q *Qdisc) Queue() (index int, ok bool) {
	_, minor, ok := strings.Cut(q.Parent, ":")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(minor, 16, 16)
	return int(n) - 1, err == nil && n > 0
}

// maxQdiscs bounds what is taken of a recording: a leaf for each of 16,384
// queues, twice.
const maxQdiscs = 1 << 15

// Get lists the queueing disciplines of all interfaces that sysfs shows.
func Get(h *probes.Host) ([]Qdisc, error) {
	if !h.Recorded() {
		return dump(names(h))
	}
	b, err := h.ReadFile("qdisc.json")
	if err != nil {
		return nil, err
	}
	return parseJSON(b)
}

func parseJSON(b []byte) ([]Qdisc, error) {
	var list []Qdisc
	if err := probes.ParseJSON(b, &list); err != nil {
		return nil, fmt.Errorf("qdisc.json: %w", err)
	}
	return list[:min(len(list), maxQdiscs)], nil
}

// names gives the interfaces by index: those that are the same in sysfs, which
// may be another network namespace's, and in our own.
func names(h *probes.Host) map[uint32]string {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	ours := map[uint32]string{}
	for _, i := range all {
		b, err := h.ReadFile(path.Join("sys/class/net", i.Name, "ifindex"))
		if err == nil && strings.TrimSpace(string(b)) == strconv.Itoa(i.Index) {
			ours[uint32(i.Index)] = probes.Printable(i.Name)
		}
	}
	return ours
}
