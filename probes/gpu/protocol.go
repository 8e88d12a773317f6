// SPDX-License-Identifier: Apache-2.0

package gpu

// The daemon and its child fabricd-nvml speak in lines of JSON. The child says
// that it is ready, then answers one request after the other, and ends when
// its standard input does.

// What can be asked.
const (
	AskSnapshot = "snapshot" // all that is cheap, of all GPUs
	AskCosts    = "costs"    // what the child's questions to the driver cost it
)

// Exit codes of the child that mean more than a failure.
const (
	ExitUsage  = 64 // this program cannot ask: it was built without a C compiler
	ExitAbsent = 69 // there is no driver, or no library of it
)

// A Request is a line to the child.
type Request struct {
	ID   uint64 `json:"id"`
	Kind string `json:"kind"`
	// DeadlineMS is when the answer is no longer waited for. The child leaves
	// out what it did not get to, rather than be late.
	DeadlineMS int64 `json:"deadline_ms,omitempty"`
	// Exclude lists globs over PCI addresses: these GPUs are asked nothing.
	Exclude []string `json:"exclude,omitempty"`
	// Without lists the parts of an answer that killed a child before.
	Without []string    `json:"without,omitempty"`
	GDR     *GDRRequest `json:"gdr,omitempty"`
}

// An Answer is a line from the child: that it is ready, that it begins a part
// of its work, or the answer to a request.
type Answer struct {
	ID    uint64 `json:"id"`
	Ready *Ready `json:"ready,omitempty"`
	// Doing names the part that begins: should the child not survive it, the
	// daemon knows what killed it.
	Doing    string    `json:"doing,omitempty"`
	Error    string    `json:"error,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// SameLinks says that the NVLinks, the bulk of a snapshot, are as they were
	// in the last answer, and left out of this one.
	SameLinks bool            `json:"same_links,omitempty"`
	Costs     map[string]Cost `json:"costs,omitempty"`

	GDRDevices []GDRDevice `json:"gdr_devices,omitempty"`
	GDR        *GDRSize    `json:"gdr,omitempty"`
}

// Ready is the child's first line.
type Ready struct {
	Protocol int    `json:"protocol"`
	Driver   string `json:"driver_version"`
}

// Protocol is the version of this protocol.
const Protocol = 1

// A Cost is what one part took, summed over GPUs and rounds.
type Cost struct {
	Calls        int64 `json:"calls"`
	Microseconds int64 `json:"microseconds"`
	Longest      int64 `json:"longest_microseconds"`
}
