// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

func TestParse(t *testing.T) {
	t.Parallel()
	s := parseStatus([]byte("Name:\tpython3\nVmRSS:\t   12 kB\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\nMems_allowed_list:\t0-1\n"))
	if s != (Status{CPUs: "0-3,8", Mems: "0-1", Resident: 12 << 10}) {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]Pages{
		"": {},
		"55d1a0000000 default heap anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4\n":          {0: 8192, 1: 4096},
		"7f10c8000000 bind:1 huge anon=1 N1=1 kernelpagesize_kB=2048\n7f10 default N0=1":    {0: 4096, 1: 2 << 20},
		"7f10 default file=/opt/N0=7\\040x mapped=2 N0=2 kernelpagesize_kB=64\n":            {0: 128 << 10},
		"7f10 default N=1 N-1=1 N9999999=1 N2=x N3=18446744073709551616 N1024=1 Nx=2 NODE=": {},
	} {
		if got := parsePages([]byte(text)); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// A real process: this one's child.
func TestLive(t *testing.T) {
	t.Parallel()
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s, err := ReadStatus(h, c.Process.Pid)
	if err != nil || s.CPUs == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if p, err := ReadPages(h, c.Process.Pid); os.Getuid() == 0 && (err != nil || p.Sum() == 0) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", p, err) // a kernel without NUMA has no such file
	}
	c.Process.Kill() //nolint:errcheck // it sleeps
	c.Wait()         //nolint:errcheck // killed
	if _, err := ReadStatus(h, c.Process.Pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of one that ended: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("55d1a0000000 default heap anon=3 N0=2 N1=1 kernelpagesize_kB=4\nCpus_allowed_list:\t0-3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseStatus(b)
		if len(parsePages(b)) > maxNodes {
			t.Error("more nodes than there are")
		}
	})
}
