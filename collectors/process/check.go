// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

func columns() collectors.Columns[row] {
	gpu := collectors.Label[row]{Name: "gpu", Get: func(r *row) string { return r.gpu }}
	pid := collectors.Label[row]{Name: "pid", Get: func(r *row) string {
		if r.Process == nil {
			return ""
		}
		return strconv.Itoa(r.PID)
	}}
	return collectors.Columns[row]{
		Labels: []collectors.Label[row]{gpu, pid},
		Checks: []collectors.Check[row]{{
			Name:   "gpu_process",
			Help:   "Warns when a process on a GPU may run only on processors of another NUMA node than the GPU's, or has most of its resident memory there.",
			Silent: "another node of the GPU's own socket, and a process with GPUs on several nodes, are info; nodes without processors are memory of a device.",
			Thresholds: []collectors.Threshold{
				{Name: "remote_percent", Default: 50, Unit: "percent", Help: "more of the resident memory on other nodes warns"},
			},
			Eval: eval,
		}},
	}
}

func eval(r *row, e *collectors.Env[row]) collectors.Verdict {
	if v := r.unjudged(); v.Status != collectors.None {
		return v
	}
	status, away := collectors.OK, []string(nil)
	note := func(worse collectors.Status, format string, args ...any) {
		status, away = max(status, worse), append(away, fmt.Sprintf(format, args...))
	}
	if at := r.nearestAllowed(); at != same {
		note(severity(at), "may run only on CPUs %s (node %s)", r.Status.CPUs, nodesText(r.allowed))
	}
	most := e.Threshold("remote_percent")
	limit := most / 100 * float64(r.Pages.Sum())
	share := func(n uint64) string { return percentText(100*float64(n)/float64(max(r.Pages.Sum(), 1)), most) }
	switch {
	case float64(r.far) > limit:
		note(collectors.Warn, "has %s of %s on nodes of another socket", share(r.far), sizeText(r.Pages.Sum()))
	case float64(r.far+r.near) > limit:
		note(collectors.Info, "has %s of %s on other nodes", share(r.far+r.near), sizeText(r.Pages.Sum()))
	}
	who := fmt.Sprintf("%s (%d) on the GPU of node %d", r.name(), r.PID, r.own.V)
	if len(away) == 0 {
		return r.well(who, share(r.local))
	}
	v := collectors.Verdictf(status, "%s %s", who, strings.Join(away, " and ")).With("Cpus_allowed_list", r.Status.CPUs)
	if r.Pages != nil {
		v = v.With("resident bytes by node", pagesText(r.Pages))
	} else {
		v.Reason += "; of its memory nothing is known: " + r.Why
	}
	switch {
	case r.several:
		v.Status = collectors.Info
		v.Reason += "; it has GPUs on several nodes"
	case status == collectors.Info && r.unclear():
		v.Reason += "; whether the nodes are of one socket is not known"
	case status == collectors.Info:
		v.Reason += "; the nodes are of one socket"
	}
	return v.Remedyf("start it on the GPU's node: fabricd numa run --gpu %s -- COMMAND, numactl --cpunodebind=%d --preferred=%d, or the launcher's binding", r.gpu, r.own.V, r.own.V)
}

// unjudged says why a process cannot be judged, or need not be.
func (r *row) unjudged() collectors.Verdict {
	switch {
	case r.unknown != "":
		return collectors.Verdictf(collectors.Unknown, "%s", r.unknown)
	case len(r.nodes) == 0:
		return collectors.Verdictf(collectors.Unknown, "the kernel shows no NUMA nodes")
	case len(r.nodes) == 1:
		return collectors.Verdictf(collectors.OK, "the host has one NUMA node")
	case errors.Is(r.Err, fs.ErrNotExist), errors.Is(r.Err, syscall.ESRCH):
		return collectors.Verdictf(collectors.Unknown, "/proc/%d is not there: the process ended meanwhile, or is hidden", r.PID)
	case !r.own.OK:
		return collectors.Verdictf(collectors.Unknown, "the GPU's node is not known: see numa_unknown")
	case r.Err != nil:
		return collectors.Verdictf(collectors.Unknown, "status: %s", probes.Reason(r.Err))
	case len(r.allowed) == 0:
		return collectors.Verdictf(collectors.Unknown, "its CPUs (%s) are of no node that is online", r.Status.CPUs)
	}
	return collectors.Verdict{}
}

// nearestAllowed says how near the nearest node is that the process may run on.
func (r *row) nearestAllowed() closeness {
	nearest := distant
	for i, node := range r.allowed {
		at := r.to(node)
		if i == 0 || at == same || at == near && nearest != same || at == unclear && nearest == distant {
			nearest = at
		}
	}
	return nearest
}

// unclear says whether it is not known how near a node is that the process uses.
func (r *row) unclear() bool {
	for node := range r.Pages {
		if r.to(node) == unclear {
			return true
		}
	}
	return slices.ContainsFunc(r.allowed, func(node int) bool { return r.to(node) == unclear })
}

func severity(c closeness) collectors.Status {
	if c == distant {
		return collectors.Warn
	}
	return collectors.Info
}

// well is the verdict on a process of which nothing is known to be wrong.
func (r *row) well(who, local string) collectors.Verdict {
	if r.Pages == nil {
		return collectors.Verdictf(collectors.Unknown, "%s may run there; of its memory nothing is known: %s", who, r.Why)
	}
	if r.Pages.Sum() == 0 {
		return collectors.Verdictf(collectors.Unknown, "%s may run there; its numa_maps tells of no memory", who)
	}
	return collectors.Verdictf(collectors.OK, "%s may run there and has %s of %s there", who, local, sizeText(r.Pages.Sum()))
}

func (r *row) name() string {
	if r.Name == "" {
		return "process"
	}
	return r.Name
}

func nodesText(nodes []int) string {
	var list []string
	for _, n := range nodes {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ", ")
}

func pagesText(p map[int]uint64) string {
	var list []string
	for node, n := range p {
		list = append(list, fmt.Sprintf("%d: %d", node, n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// percentText writes a share with as many digits as it takes not to seem
// nothing, all, or the limit, which it is not.
func percentText(share, limit float64) string {
	for digits := 0; ; digits++ {
		text := strconv.FormatFloat(share, 'f', digits, 64)
		v, _ := strconv.ParseFloat(text, 64)
		if v == share || digits == 3 || v != 0 && v != 100 && v != limit {
			return text + " %"
		}
	}
}

// sizeText writes a size: "400 KiB", "12 MiB", "3.3 GiB".
func sizeText(n uint64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 1<<30:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
