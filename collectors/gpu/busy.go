// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
)

// busyPercent is the utilisation from which a GPU is busy; one that was busy
// stays so until it falls below idlePercent, so that the pause between two
// steps of a job ends nothing.
const (
	busyPercent = 10
	idlePercent = 5
)

// busyTimes follows how long GPUs are busy on a slow link.
type busyTimes struct {
	at   time.Duration // when the driver was asked
	gpus map[string]busyTime
	told map[string]time.Duration
}

type busyTime struct {
	busy, slow bool
	total      time.Duration
}

// follow takes the answers of a moment; those that it took before say nothing
// new. A GPU of which load and link are not known keeps what it had and is not
// told of.
func (b *busyTimes) follow(at time.Duration, devices []gpu.Device) map[string]time.Duration {
	switch {
	case b.gpus == nil:
		b.gpus = map[string]busyTime{}
	case at == b.at && b.told != nil:
		return b.told
	}
	told := make(map[string]time.Duration, len(devices))
	for i := range devices {
		d := &devices[i]
		was, known := b.gpus[d.Address]
		now := busyTime{total: was.total}
		slow, ok := belowMax(d.PCIe)
		if d.Utilization == nil || !ok {
			if known {
				b.gpus[d.Address] = now
			}
			continue
		}
		now.busy, now.slow = *d.Utilization >= busyPercent || was.busy && *d.Utilization >= idlePercent, slow
		if was.busy && was.slow && now.busy && now.slow {
			now.total += at - b.at
		}
		b.gpus[d.Address], told[d.Address] = now, now.total
	}
	b.at, b.told = at, told
	return told
}

// interrupt notes that there was no answer: what GPUs do until the next one
// nobody knows.
func (b *busyTimes) interrupt() {
	for address, t := range b.gpus {
		b.gpus[address] = busyTime{total: t.total}
	}
	b.told = nil
}

// belowMax says whether a link is slower or narrower than GPU and slot can be.
func belowMax(p *gpu.PCIe) (below, known bool) {
	if p == nil || p.Generation == nil || p.GenerationMax == nil || p.Width == nil || p.WidthMax == nil {
		return false, false
	}
	return *p.Generation < *p.GenerationMax || *p.Width < *p.WidthMax, true
}
