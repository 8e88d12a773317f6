// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/pcie"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// finding is one about a function.
func finding(check string, status collectors.Status, f *probes.Function) collectors.Finding {
	return collectors.Finding{Check: check, Status: status, Subject: collectors.Subject{{Name: "address", Value: f.Address}}}
}

// read gives the machine readings: all links at their maximum but for those named.
func (s *small) read(m *Machine, links map[*probes.Function]pci.Link) *Machine {
	for _, f := range []*probes.Function{s.up, s.gpu, s.nic} {
		l := m.tree.LinkOf(f)
		now, named := links[f]
		if !named {
			now = l.Max
		}
		m.readings[f.Address] = &pcie.Reading{Address: f.Address, Link: now}
	}
	m.findLimits()
	return m
}

func TestStatus(t *testing.T) {
	slow := pci.Link{Speed: pci.Gen1, Width: 16}
	half := pci.Link{Speed: pci.Gen5, Width: 8}
	gen4 := pci.Link{Speed: pci.Gen4, Width: 16}
	muted := func(f *probes.Function) collectors.Finding {
		x := finding(checkWidth, collectors.Info, f)
		x.Muted = &collectors.Muted{Status: collectors.Fail, Reason: "known"}
		return x
	}
	tests := []struct {
		name   string
		change func(*small)
		links  func(*small) map[*probes.Function]pci.Link
		of     func(*small) *probes.Function
		want   Status
		shows  string // what text says on the line of the link
	}{
		{name: "as it should be", of: theNIC, want: StatusOK, shows: "32 GT/s x16"},
		{name: "a GPU idles", want: StatusIdle, of: theGPU, shows: "2.5 GT/s x16 of 32 GT/s x16 (idle)",
			change: func(s *small) { s.findings = append(s.findings, finding(checkSpeed, collectors.Info, s.gpu)) },
			links:  func(s *small) map[*probes.Function]pci.Link { return map[*probes.Function]pci.Link{s.gpu: slow} }},
		{name: "a NIC does not idle", want: StatusBelow, of: theNIC, shows: "2.5 GT/s x16 of 32 GT/s x16 (not judged) <- limits to 32 Gb/s",
			change: func(s *small) { s.findings = append(s.findings, finding(checkSpeed, collectors.Info, s.nic)) },
			links:  func(s *small) map[*probes.Function]pci.Link { return map[*probes.Function]pci.Link{s.nic: slow} }},
		{name: "a busy GPU at half its width", want: StatusDefect, of: theGPU, shows: "32 GT/s x8   of 32 GT/s x16 <- bottleneck 252 Gb/s",
			change: func(s *small) { s.findings = append(s.findings, finding(checkWidth, collectors.Fail, s.gpu)) },
			links:  func(s *small) map[*probes.Function]pci.Link { return map[*probes.Function]pci.Link{s.gpu: half} }},
		{name: "the operator knows", want: StatusMuted, of: theNIC, shows: "of 32 GT/s x16 (muted) <- limits to 252 Gb/s",
			change: func(s *small) { s.findings = append(s.findings, muted(s.nic)) },
			links:  func(s *small) map[*probes.Function]pci.Link { return map[*probes.Function]pci.Link{s.nic: half} }},
		{name: "the slot is slower than the card", want: StatusSlot, of: theNIC, shows: "16 GT/s x16  of 32 GT/s x16 (slot limit, 252 Gb/s)",
			change: func(s *small) {
				s.portB.Max = gen4
				s.findings = append(s.findings, finding(checkSlot, collectors.Info, s.nic))
			}},
		{name: "and slower than its ports", want: StatusSlot, of: theNIC, shows: "of 32 GT/s x16 (slot limit, 252 of 400 Gb/s)",
			change: func(s *small) {
				s.portB.Max = gen4
				s.nic.Netdevs = []*probes.Netdev{{Name: "eth0", Port: true, Carrier: probes.Some(true), SpeedMbps: probes.Some(400000)}}
				s.findings = append(s.findings, finding(checkSlot, collectors.Info, s.nic), finding(checkBudget, collectors.Warn, s.nic))
			}},
		{name: "the switch is slower than what is below", want: StatusOK, of: theSwitch, shows: "8 GT/s x16   <- limits to 126 Gb/s",
			change: func(s *small) { s.root.Max = pci.Link{Speed: pci.Gen3, Width: 16}; s.up.Max = s.root.Max }},
		{name: "nobody can be asked", want: StatusUnknown, of: theNIC, shows: "? GT/s x?",
			links: func(s *small) map[*probes.Function]pci.Link { return map[*probes.Function]pci.Link{s.nic: {}} }},
		{name: "gone", want: StatusLost, of: theNIC, shows: "LOST: does not answer",
			change: func(s *small) { s.findings = append(s.findings, finding(checkLost, collectors.Fail, s.nic)) }},
		{name: "inside the card", want: StatusInner, of: theGPU, shows: "2.5 GT/s x16 (internal)",
			change: func(s *small) { s.up.Vendor, s.portA.Vendor = pci.VendorNVIDIA, pci.VendorNVIDIA },
			links:  func(s *small) map[*probes.Function]pci.Link { return map[*probes.Function]pci.Link{s.gpu: slow} }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSmall(t)
			if test.change != nil {
				test.change(s)
			}
			var links map[*probes.Function]pci.Link
			if test.links != nil {
				links = test.links(s)
			}
			m := s.read(s.machine(), links)
			f := test.of(s)
			if got := m.status(m.tree.LinkOf(f)); got != test.want {
				t.Errorf("status %s, want %s", got, test.want)
			}
			for line := range strings.Lines(text(t, m, Look{})) {
				if strings.Contains(line, f.Address+" ") && !strings.HasPrefix(line, "NIC") && !strings.Contains(line, test.shows) {
					t.Errorf("%q lacks %q", line, test.shows)
				}
			}
		})
	}
}

func theGPU(s *small) *probes.Function    { return s.gpu }
func theNIC(s *small) *probes.Function    { return s.nic }
func theSwitch(s *small) *probes.Function { return s.up }

// A GPU whose link sleeps has the bandwidth that it would wake up to.
func TestIdleIsNoBottleneck(t *testing.T) {
	s := newSmall(t)
	s.findings = append(s.findings, finding(checkSpeed, collectors.Info, s.gpu))
	m := s.read(s.machine(), map[*probes.Function]pci.Link{s.gpu: {Speed: pci.Gen1, Width: 16}})
	if len(m.limits) != 0 {
		t.Errorf("limits %v", m.limits)
	}
	if now, most := m.bandwidth(s.gpu); now != 32e9 || most < 500e9 {
		t.Errorf("bandwidth %g of %g", now, most)
	}
}

func TestLabels(t *testing.T) {
	s := newSmall(t)
	second := function(t, "0000:17:02.0", s.up, 0x1000, classBridge)
	other := function(t, "0000:1a:00.0", second, pci.VendorNVIDIA, classGPU)
	s.view.Inventory.Functions = append(s.view.Inventory.Functions, second, other)
	m := s.machine()
	if m.labels[s.gpu] != "GPU0" || m.labels[other] != "GPU1" {
		t.Errorf("without a driver: %v", m.labels)
	}
	m.snapshot = snapshotOf(3, other.Address)
	m.label()
	if m.labels[s.gpu] != "GPU?0" || m.labels[other] != "GPU3" || m.gpus[0] != other {
		t.Errorf("with a driver that names one: %v", m.labels)
	}
}
