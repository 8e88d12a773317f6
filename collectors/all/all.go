// SPDX-License-Identifier: Apache-2.0

// Package all is the one list of collectors. It knows that they exist and
// nothing else of them.
package all

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/gdr"
	"github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/collectors/irq"
	"github.com/fabricd/fabricd/collectors/lldp"
	"github.com/fabricd/fabricd/collectors/numa"
	"github.com/fabricd/fabricd/collectors/pcie"
	"github.com/fabricd/fabricd/collectors/process"
	"github.com/fabricd/fabricd/collectors/queue"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/collectors/roce"
)

// List makes all collectors, in the order of the manuals.
func List() []collectors.Collector {
	return []collectors.Collector{pcie.New(), numa.New(), gpu.New(), gdr.New(), irq.New(), process.New(), rdma.New(), roce.New(), queue.New(), lldp.New()}
}
