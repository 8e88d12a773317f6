// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/queue"
)

// Of makes the collector of interfaces that need not be hardware's, which are
// sampled in one way.
func Of(way queue.Way, netdevs ...string) collectors.Collector {
	s := newSpec()
	s.Open = func(_ context.Context, h *probes.Host, _ string) (collectors.Reader[Reading], error) {
		r := newReader(h)
		r.options.Way, r.options.Netdevs = way, netdevs
		return r, nil
	}
	return collectors.New(s)
}
