// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// OpenDevice opens a device as the collector does.
func OpenDevice(h *probes.Host, name string) (collectors.Reader[Reading], error) {
	return openDevice(h, name, &memory{})
}
