// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

// A State is the logical state of a port. The zero State is not known.
type State uint8

// States (enum ib_port_state). NOP, which is the kernel's zero, says as little
// as a state that could not be read.
const (
	Down        State = 1
	Init        State = 2
	Armed       State = 3
	Active      State = 4
	ActiveDefer State = 5
)

var stateNames = [...]string{"unknown", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}

// String gives the state as the kernel spells it.
func (s State) String() string { return stateNames[s] }

// A PhysState is the physical state of a port. The zero PhysState is not known.
type PhysState uint8

// Physical states (enum ib_port_phys_state).
const (
	Sleep        PhysState = 1
	Polling      PhysState = 2
	Disabled     PhysState = 3
	Training     PhysState = 4
	LinkUp       PhysState = 5
	LinkRecovery PhysState = 6
	PhyTest      PhysState = 7
)

var physNames = [...]string{"unknown", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"}

// String gives the state as the kernel spells it.
func (s PhysState) String() string { return physNames[s] }

// ParseState reads "4: ACTIVE".
func ParseState(b []byte) State { return State(leading(b, len(stateNames))) }

// ParsePhysState reads "5: LinkUp".
func ParsePhysState(b []byte) PhysState { return PhysState(leading(b, len(physNames))) }

// leading reads the number before the colon; 0 for one that is none below limit.
func leading(b []byte, limit int) int {
	digits, _, ok := bytes.Cut(b, []byte(":"))
	if n, valid := parseUint(digits); ok && valid && n < uint64(limit) {
		return int(n)
	}
	return 0
}

// A Rate is what a port signals at: the sum of its lanes.
type Rate struct {
	Gbps  float64
	Lanes int    // 0 where the kernel tells none
	Speed string // of a lane: SDR … XDR
}

// String gives the rate as people say it: "200 Gb/s (2X HDR)" is 100 Gb/s (2X HDR).
func (r Rate) String() string {
	text := strconv.FormatFloat(r.Gbps, 'g', -1, 64) + " Gb/s"
	if r.Lanes > 0 {
		text += " (" + strconv.Itoa(r.Lanes) + "X " + r.Speed + ")"
	}
	return text
}

// ParseRate reads a port's rate: "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)", "10".
func ParseRate(s string) (Rate, bool) {
	var r Rate
	gbps, ok := probes.ParseRate(s)
	if !ok {
		return r, false
	}
	r.Gbps = gbps
	_, rest, _ := strings.Cut(s, "(")
	lanes, speed, ok := strings.Cut(strings.TrimSuffix(rest, ")"), "X ")
	if n, err := strconv.Atoi(lanes); ok && err == nil && n > 0 && n <= 12 && len(speed) < 16 {
		r.Lanes, r.Speed = n, probes.Printable(speed)
	}
	return r, true
}
