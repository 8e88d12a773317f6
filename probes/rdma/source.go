// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"

	"github.com/fabricd/fabricd/probes"
)

// A source answers what sysfs does not: RDMA netlink, or a recording of it.
type source interface {
	// netdev names the interface of a port, "" if it has none in this network namespace.
	netdev(port int) (string, error)
	// statistics gives all counters of a port, also those that are optional and
	// were enabled. It always asks the firmware.
	statistics(port int, each func(name []byte, v uint64)) error
	close()
}

// openSource opens the source for a device; nil where there is none.
func openSource(h *probes.Host, device string) source {
	if h.Recorded() {
		return recorded{h, path.Join("rdma", device)}
	}
	n, err := dialNLDev(device)
	if err != nil {
		return nil
	}
	return n
}

// recorded answers from rdma/DEVICE/PORT/link and rdma/DEVICE/PORT/statistic,
// which hold a line as rdma(8) prints them: rdma link show, rdma statistic show.
type recorded struct {
	h   *probes.Host
	dir string
}

func (r recorded) read(port int, name string) ([]byte, error) {
	return r.h.ReadFile(path.Join(r.dir, strconv.Itoa(port), name))
}

func (r recorded) netdev(port int) (string, error) {
	b, err := r.read(port, "link")
	name := ""
	eachPair(b, func(key, value []byte) {
		if string(key) == "netdev" {
			name = probes.Printable(string(value))
		}
	})
	return name, err
}

func (r recorded) statistics(port int, each func(name []byte, v uint64)) error {
	b, err := r.read(port, "statistic")
	eachPair(b, func(key, value []byte) {
		if v, ok := parseUint(value); ok && len(key) <= maxName {
			each(key, v)
		}
	})
	return err
}

func (r recorded) close() {}

// eachPair gives the pairs of a line: link mlx5_0/1 state ACTIVE netdev eth0.
func eachPair(b []byte, pair func(key, value []byte)) {
	fields := bytes.Fields(b)
	for i := 0; i+1 < len(fields); i += 2 {
		pair(fields[i], fields[i+1])
	}
}

// Netdev names the port's interface, "" where it has none in this network
// namespace or nobody tells.
func (p *Port) Netdev() string {
	if p.device.source == nil {
		return ""
	}
	name, err := p.device.source.netdev(p.Number)
	if err != nil {
		return ""
	}
	return probes.Printable(name)
}

// An Optional is a counter that has to be enabled, and is then told by netlink only.
type Optional struct {
	Name string
	V    uint64
}

// Optionals asks for the port's optional counters that are enabled: those that
// hw_counters does not hold. Where there are none the answer is empty.
func (p *Port) Optionals(list []Optional) ([]Optional, error) {
	list = list[:0]
	if p.device.source == nil {
		return list, fs.ErrNotExist
	}
	err := p.device.source.statistics(p.Number, func(name []byte, v uint64) {
		if p.HW.has(name) || v == math.MaxUint64 || len(list) == maxCounters {
			return
		}
		list = append(list, Optional{"", v})
		o := &list[len(list)-1]
		if n := len(list) - 1; n < len(p.optional) && p.optional[n] == string(name) {
			o.Name = p.optional[n] // as last time: no new string
			return
		}
		o.Name = probes.Printable(string(name))
		p.optional = append(p.optional[:min(len(list)-1, len(p.optional))], o.Name)
	})
	if err != nil {
		return list[:0], fmt.Errorf("optional counters of port %d: %w", p.Number, err)
	}
	return list, nil
}

// has says whether hw_counters has a file of this name.
func (c *Counters) has(name []byte) bool {
	if c == nil {
		return false
	}
	for _, n := range c.Names {
		if n == string(name) {
			return true
		}
	}
	return false
}

// AppendLink writes what a recording holds of the port's interface.
func (p *Port) AppendLink(b []byte, device string) []byte {
	name := p.Netdev()
	if name == "" {
		return b
	}
	return fmt.Appendf(b, "link %s/%d netdev %s\n", device, p.Number, name)
}

// AppendStatistic writes what a recording holds of the port's optional counters.
func (p *Port) AppendStatistic(b []byte, device string) []byte {
	list, err := p.Optionals(nil)
	if err != nil || len(list) == 0 {
		return b
	}
	b = fmt.Appendf(b, "link %s/%d", device, p.Number)
	for _, o := range list {
		b = fmt.Appendf(b, " %s %d", o.Name, o.V)
	}
	return append(b, '\n')
}
