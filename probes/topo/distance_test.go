// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	const (
		flat     = "00/00:04.0 gpu\n00/00:05.0 nic\n01/0001:00:00.0 nic\n"
		twoRoots = "00/00:01.0 port\n00/00:01.0/01:00.0 gpu\n00/00:02.0 port\n00/00:02.0/02:00.0 nic\n40/40:01.0 port node=%\n40/40:01.0/41:00.0 nic node=%\n"
	)
	roots := func(node string) string { return strings.ReplaceAll(twoRoots, "%", node) }
	tests := []struct {
		name, machine, a, b string
		want                Distance
		why                 string
	}{
		{"ports of one switch", box, "18:00.0", "19:00.0", PIX, ""},
		{"a disk and a NIC", box, "1a:00.0", "19:00.1", PIX, ""},
		{"functions of one card", box, "19:00.0", "19:00.1", PIX, ""},
		{"a virtual function", box, "18:00.0", "19:00.2", PIX, ""},
		{"itself", box, "18:00.0", "18:00.0", PIX, ""},
		{"host bridges of one node", box, "18:00.0", "29:00.0", NODE, ""},
		{"another node", box, "18:00.0", "98:00.0", SYS, ""},
		{"one host bridge", "nodes 2\n" + roots("0"), "01:00.0", "02:00.0", PHB, ""},
		{"two host bridges", "nodes 2\n" + roots("0"), "01:00.0", "41:00.0", NODE, ""},
		{"two host bridges of two nodes", "nodes 2\n" + roots("1"), "01:00.0", "41:00.0", SYS, ""},
		{"one node", "nodes 1\nsockets 1\n" + roots("0"), "01:00.0", "41:00.0", NODE, ""},
		{"one node, that the firmware does not name", "nodes 1\nsockets 1\n" + roots("-1"), "01:00.0", "41:00.0", NODE, ""},
		{"the second has no node", "nodes 2\n" + roots("-1"), "01:00.0", "41:00.0", Unknown, "0000:41:00.0 has no NUMA node"},
		{"the first has no node", "nodes 2\n" + roots("-1"), "41:00.0", "01:00.0", Unknown, "0000:41:00.0 has no NUMA node"},
		{"no node matters below one switch", "nodes 2\n00/00:01.0 port node=-1\n00/00:01.0/01:00.0 gpu node=-1\n00/00:01.0/01:01.0 nic node=-1", "01:00.0", "01:01.0", PIX, ""},
		{"NUMA turned off", "nodes 1\nsockets 2\n" + roots("0"), "01:00.0", "41:00.0", Unknown, "NUMA is not known to the kernel on this machine of several sockets"},
		{"NUMA turned off, one host bridge", "nodes 1\nsockets 2\n" + roots("0"), "01:00.0", "02:00.0", PHB, ""},
		{"a kernel without NUMA, one socket", "sockets 1\n" + roots("0"), "01:00.0", "41:00.0", NODE, ""},
		{"a kernel without NUMA, two sockets", "sockets 2\n" + roots("0"), "01:00.0", "41:00.0", Unknown, "NUMA is not known to the kernel on this machine of several sockets"},
		{"several switches", `
			00/00:01.0 port
			00/00:01.0/01:00.0 switch
			00/00:01.0/01:00.0/02:00.0 switch
			00/00:01.0/01:00.0/02:00.0/03:00.0 amd class=060400
			00/00:01.0/01:00.0/02:00.0/03:00.0/04:00.0 amd class=060400
			00/00:01.0/01:00.0/02:00.0/03:00.0/04:00.0/05:00.0 amd
			00/00:01.0/01:00.0/02:01.0 switch
			00/00:01.0/01:00.0/02:01.0/06:00.0 nic`, "05:00.0", "06:00.0", PXB, ""},
		{"flattened guest", "guest\nnodes 2\n" + flat, "00:04.0", "00:05.0", Unknown, "a virtual machine that puts all devices directly on a root bus: the host's topology is not visible"},
		{"flattened guest, another domain", "guest\nnodes 2\n" + flat, "00:04.0", "0001:00:00.0", Unknown, "a virtual machine"},
		{"guest with a hierarchy", "guest\nnodes 2\n" + roots("1"), "01:00.0", "41:00.0", SYS, ""},
		{"root bus of a host", "nodes 2\n" + flat, "00:04.0", "00:05.0", PHB, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := tree(t, test.machine, config.Plan{})
			find := func(address string) *probes.Function {
				if strings.HasPrefix(address, "0001:") {
					return tree.Inventory.Function(address)
				}
				return fn(t, tree, address)
			}
			a, b := find(test.a), find(test.b)
			d, why := tree.Distance(a, b)
			if d != test.want || !strings.HasPrefix(why, test.why) || (why == "") != (test.why == "") {
				t.Errorf("%v %q, want %v %q", d, why, test.want, test.why)
			}
			if back, _ := tree.Distance(b, a); back != d {
				t.Errorf("there %v, back %v", d, back)
			}
		})
	}
}

// What the operator does not want opened is still on the way.
func TestDistanceExcluded(t *testing.T) {
	t.Parallel()
	for _, exclude := range []string{"0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:1[567]:*"} {
		tree := New(machine(t, box, probes.Options{Exclude: []string{exclude}}), config.Plan{})
		if d, why := tree.Distance(fn(t, tree, "18:00.0"), fn(t, tree, "19:00.0")); d != PIX && d != PXB && d != Unknown {
			t.Errorf("%s excluded: %v, %q", exclude, d, why)
		}
		if d, _ := tree.Distance(fn(t, tree, "18:00.0"), fn(t, tree, "98:00.0")); d != SYS {
			t.Errorf("%s excluded: %v to another node", exclude, d)
		}
		if d, _ := tree.Distance(fn(t, tree, "19:00.0"), fn(t, tree, "19:00.1")); d != PIX {
			t.Errorf("%s excluded: %v within one card", exclude, d)
		}
	}
}

// The recorded hosts' distances, as computed from their origins.
func TestDistanceHosts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../collectors/testdata/hosts/*.distances")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			h, err := probes.OpenRecording(strings.TrimSuffix(file, ".distances")+".txtar", probes.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tree := New(h.Inventory(), config.Plan{})
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pairs := 0
			for line := range strings.Lines(string(b)) {
				fields := strings.Fields(line)
				if strings.HasPrefix(line, "#") || len(fields) != 3 {
					continue
				}
				gpu, nic := tree.Inventory.Function(fields[0]), tree.Inventory.Function(fields[1])
				if gpu == nil || nic == nil {
					t.Fatalf("no such functions: %s", line)
				}
				pairs++
				if d, why := tree.Distance(gpu, nic); d.String() != fields[2] {
					t.Errorf("%s %s is %v (%s), want %s", fields[0], fields[1], d, why, fields[2])
				}
			}
			if want := len(tree.GPUs) * len(tree.Candidates()); pairs < want {
				t.Errorf("%d pairs, but %d GPUs and candidates", pairs, want)
			}
		})
	}
}

func TestDistanceWords(t *testing.T) {
	t.Parallel()
	want := []string{"unknown", "PIX", "PXB", "PHB", "NODE", "SYS"}
	seen := map[string]bool{}
	for i, word := range want {
		d := Distance(i)
		if d.String() != word || d.Meaning() == "" || seen[d.Meaning()] {
			t.Errorf("%d is %q: %q", i, d, d.Meaning())
		}
		seen[d.Meaning()] = true
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	tree := tree(t, box, config.Plan{})
	for _, test := range []struct{ a, b, common, between string }{
		{"18:00.0", "19:00.0", "16:00.0", "17:00.0 17:01.0"},
		{"19:00.0", "18:00.0", "16:00.0", "17:01.0 17:00.0"},
		{"19:00.0", "19:00.1", "17:01.0", ""},
		{"18:00.0", "1a:00.0", "16:00.0", "17:00.0 17:02.0"},
		{"18:00.0", "29:00.0", "", ""},
		{"18:00.0", "98:00.0", "", ""},
		{"18:00.0", "00:1f.0", "", ""},
	} {
		a, b := fn(t, tree, test.a), fn(t, tree, test.b)
		common := ""
		if f := Common(a, b); f != nil {
			common = short([]*probes.Function{f})
		}
		if common != test.common || short(Between(a, b)) != test.between {
			t.Errorf("%s and %s: below %s by way of %s; want %s, %s", test.a, test.b, common, short(Between(a, b)), test.common, test.between)
		}
	}
}

func TestBest(t *testing.T) {
	t.Parallel()
	const far = "nodes 2\n00/00:01.0 port\n00/00:01.0/01:00.0 gpu\n40/40:01.0 port\n40/40:01.0/41:00.0 nic rdma=a:400 node=%\n40/40:02.0 port\n40/40:02.0/42:00.0 nic rdma=b:400 node=1\n"
	tests := []struct {
		name, machine, nics string
		want                Distance
		why                 string
	}{
		{"both functions of one card", box, "19:00.0 19:00.1", PIX, ""},
		{"far ones", strings.ReplaceAll(far, "%", "1"), "41:00.0 42:00.0", SYS, ""},
		{"one on the same node", strings.ReplaceAll(far, "%", "0"), "41:00.0", NODE, ""},
		{"one that may be nearer", strings.ReplaceAll(far, "%", "-1"), "", Unknown, "0000:41:00.0 has no NUMA node"},
		{"one that may not", strings.ReplaceAll(far, "%", "-1") + "00/00:02.0 port\n00/00:02.0/02:00.0 nic rdma=c:400\n", "02:00.0", PHB, ""},
		{"none", "00/00:01.0 port\n00/00:01.0/01:00.0 gpu\n", "", Unknown, ""},
		{"none that counts", "00/00:01.0 port\n00/00:01.0/01:00.0 gpu\n00/00:02.0 port\n00/00:02.0/02:00.0 nic eth=e:400000\n00/00:03.0 port\n00/00:03.0/03:00.0 nic vf=02:00.0 rdma=v:400", "", Unknown, ""},
		{"flattened guest", "guest\nnodes 2\n00/00:04.0 gpu\n00/00:05.0 nic rdma=a:400", "", Unknown, "a virtual machine that puts"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := tree(t, test.machine, config.Plan{})
			best := tree.Best(tree.GPUs[0])
			if best.GPU != tree.GPUs[0] || short(best.NICs) != test.nics || best.Distance != test.want || !strings.HasPrefix(best.Why, test.why) || (best.Why == "") != (test.why == "") {
				t.Errorf("%s at %v %q, want %s at %v %q", short(best.NICs), best.Distance, best.Why, test.nics, test.want, test.why)
			}
		})
	}
}
