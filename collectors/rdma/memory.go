// SPDX-License-Identifier: Apache-2.0

package rdma

import "sync"

// memory knows which ports were ever seen active: a port that was, and is not,
// has lost its partner, also if its device was replaced meanwhile.
type memory struct {
	mu     sync.Mutex
	active map[portKey]bool
}

type portKey struct {
	address, device string
	number          int
}

// note files a port and says whether it was ever active.
func (m *memory) note(key portKey, active bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if active && !m.active[key] {
		if m.active == nil {
			m.active = map[portKey]bool{}
		}
		m.active[key] = true
	}
	return m.active[key]
}
