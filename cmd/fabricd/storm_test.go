// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	frames "github.com/fabricd/fabricd/probes/lldp"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// What a thousand frames a second on a port cost the whole daemon, in percent
// of a processor: none, the same again, of a thousand systems, garbage.
func BenchmarkLLDPStorm(b *testing.B) {
	p := program(b)
	c := newCable(b)
	const address = "127.0.0.1:9794"
	c.start(p, "run", "--web.listen-address="+address)
	for c.get(address, "/-/ready") == "" {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(2 * time.Second) // what is done once at the start
	for _, storm := range lldpStorms() {
		b.Run(storm.name, func(b *testing.B) {
			ctx, stop := context.WithCancel(b.Context())
			var sending sync.WaitGroup
			sending.Go(func() { c.storm(ctx, storm.frames) })
			time.Sleep(time.Second)
			heard, lost := c.heard(address)
			used, begin := c.used(), time.Now()
			for b.Loop() {
				time.Sleep(10 * time.Second)
			}
			passed := time.Since(begin).Seconds()
			b.ReportMetric(100*(c.used()-used).Seconds()/passed, "%cpu")
			heardNow, lostNow := c.heard(address)
			b.ReportMetric((heardNow-heard)/passed, "frames/s")
			b.ReportMetric((lostNow-lost)/passed, "lost/s")
			stop()
			sending.Wait()
		})
	}
}

type lldpStorm struct {
	name   string
	frames [][]byte // sent in turn
}

func lldpStorms() []lldpStorm {
	list := []lldpStorm{{name: "none"}, {name: "same"}, {name: "strangers"}, {name: "garbage"}}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		chassis := binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0}, uint16(i))
		f := frames.Frame{
			Destination: frames.Destinations()[0], Source: frames.MAC(chassis), TTL: 120,
			Chassis: frames.ChassisID{Subtype: frames.ChassisMAC, Value: string(chassis)},
			Port:    frames.PortID{Subtype: frames.PortName, Value: "Ethernet12"}, SystemName: "leaf-01",
			SystemDescription: string(make([]byte, 200)), PFC: frames.PFC{Enabled: 1 << 3, Present: true},
		}
		own := f.Append(nil)
		list[2].frames = append(list[2].frames, own)
		garbage := f.Append(nil)
		for j := 14; j < len(garbage); j++ {
			garbage[j] = byte(random.Uint32())
		}
		list[3].frames = append(list[3].frames, garbage)
	}
	list[1].frames = list[2].frames[:1]
	return list
}

// storm sends a thousand frames a second, each by itself.
func (c *cable) storm(ctx context.Context, list [][]byte) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for sent := 0; len(list) > 0 && ctx.Err() == nil; <-tick.C {
		for ; sent < int(time.Since(begin)/time.Millisecond); sent++ {
			f := list[sent%len(list)]
			if _, err := c.far.WriteTo(f, &packet.Addr{HardwareAddr: f[:6]}); err != nil {
				c.tb.Error(err)
				return
			}
		}
	}
}

// used is the daemon's processor time: its clock, clock_getcpuclockid(3).
func (c *cable) used() time.Duration {
	var t unix.Timespec
	c.must(unix.ClockGettime(int32(^c.daemon.Process.Pid<<3|2), &t))
	return time.Duration(t.Nano())
}

// heard is how many frames the daemon counted, and how many of them the kernel
// dropped, whose buffer was full.
func (c *cable) heard(address string) (all, lost float64) {
	for line := range strings.Lines(c.get(address, "/metrics")) {
		if !strings.HasPrefix(line, "fabricd_lldp_frames_total{") {
			continue
		}
		fields := strings.Fields(line)
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			c.tb.Error(line)
		}
		all += n
		if strings.Contains(line, `result="lost"`) {
			lost = n
		}
	}
	return all, lost
}
