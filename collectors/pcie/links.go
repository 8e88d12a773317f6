// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

type (
	linkCheck = collectors.Check[linkRow]
	linkEnv   = collectors.Env[linkRow]
	verdict   = collectors.Verdict
)

func linkColumns() collectors.Columns[linkRow] {
	return collectors.Columns[linkRow]{
		Labels: []collectors.Label[linkRow]{{Name: "address", Get: func(r *linkRow) string { return r.Lower.Address }}},
		Checks: []linkCheck{widthCheck(), speedCheck(), slotCheck(), flapsCheck(), aspmCheck()},
	}
}

// linkSubject names a link: both ends, and the devices below it.
func linkSubject() []collectors.Label[linkRow] {
	return []collectors.Label[linkRow]{
		{Name: "address", Get: func(r *linkRow) string { return r.Lower.Address }},
		{Name: "upstream", Get: func(r *linkRow) string { return addressOf(r.Upper) }},
		{Name: "devices", Get: func(r *linkRow) string { return addresses(r.Devices) }},
		{Name: "device", Get: func(r *linkRow) string { return joined(r.ends(), true) }},
		{Name: "netdev", Get: func(r *linkRow) string { return joined(r.ends(), false) }},
	}
}

// ends gives the devices at the very end of a link: those whose names belong
// into its subject.
func (r *linkRow) ends() []*probes.Function {
	var list []*probes.Function
	for _, f := range r.Functions {
		if f.Kind != pci.Bridge {
			list = append(list, f)
		}
	}
	return list
}

func addressOf(f *probes.Function) string {
	if f == nil {
		return ""
	}
	return f.Address
}

// unread says why a link's state cannot be judged at all; a verdict of None
// status says that it can. Where the speed could be read and the width could
// not, only pcie_width has nothing to judge.
func (r *linkRow) unread() verdict {
	switch {
	case r.none:
		return collectors.Verdictf(collectors.Unknown, "virtual machine: the device shows no PCI Express link").
			Remedyf("ask on the host")
	case r.at == nil:
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of %s", r.Lower.Address)
	case r.at.Lost != "":
		return collectors.Verdictf(collectors.Unknown, "the device does not answer: see pcie_lost")
	case r.at.Trouble != "" && r.now.Speed == 0:
		return collectors.Verdictf(collectors.Unknown, "%s", r.at.Trouble)
	}
	return verdict{}
}

// quiet drops what is not known of links that lead to no GPU, NIC or NVSwitch.
func (r *linkRow) quiet(v verdict) verdict {
	if v.Status == collectors.Unknown && len(r.Devices) == 0 {
		return verdict{}
	}
	return v
}

// unseenPort says that a link below its own maximum cannot be judged because
// the port above is not visible, or is one that a hypervisor made up.
func (r *linkRow) unseenPort(what, now, own string) verdict {
	why := "the port above it is not visible"
	if r.guest {
		why = "virtual machine: the real port above it is not visible"
	}
	return collectors.Verdictf(collectors.Unknown, "%s %s of the device's %s; %s", what, now, own, why).Remedyf("ask on the host: lspci -vv")
}

func lanesText(n int) string { return fmt.Sprintf("x%d", n) }

func widthCheck() linkCheck {
	return linkCheck{
		Name:    "pcie_width",
		Help:    "Fails when a link on the way to a GPU, NIC or NVSwitch uses fewer lanes than both of its ends have. One finding a link, at its lower end; links to other devices are info.",
		Silent:  "virtual functions, functions integrated into the root complex, lost devices (pcie_lost), links inside a card that has a switch of its own, a slot that is narrower than the card (pcie_slot). In a virtual machine a narrow link is unknown: the port above it is not the real one.",
		Subject: linkSubject(),
		Eval:    func(r *linkRow, e *linkEnv) verdict { return r.quiet(evalWidth(r, e)) },
	}
}

func evalWidth(r *linkRow, e *linkEnv) verdict {
	if v := r.unread(); v.Status != collectors.None {
		return v
	}
	now, most := r.now.Width, r.Max.Width
	own := r.Lower.Max.Width
	switch {
	case now == 0:
		return collectors.Verdictf(collectors.Unknown, "%s", r.at.Trouble)
	case most == 0 || own == 0 && now < most:
		return collectors.Verdictf(collectors.Unknown, "runs with %s; the device does not say how many lanes it has", lanesText(now))
	case now >= most:
		return collectors.Verdictf(collectors.OK, "%s of %s", lanesText(now), lanesText(most)).With("current_link_width", now).With("max_link_width of both ends", most)
	case r.guest || r.Upper == nil || r.Upper.Max.Width == 0:
		return r.unseenPort("runs with", lanesText(now), lanesText(own))
	}
	status := collectors.Fail
	if len(r.Devices) == 0 {
		status = collectors.Info
	}
	return collectors.Verdictf(status, "%s of %s lanes: %s has %s, the port %s has %s; path: %s",
		lanesText(now), lanesText(most), named(r.Lower), lanesText(own), r.Upper.Address, lanesText(r.Upper.Max.Width), hops(e.View, r.Lower)).
		Remedyf("look at both ends with lspci -vv -s %s and -s %s; reseat the card, its riser or cable, and look for bent or dirty contacts; check the slot's bifurcation in the firmware setup", r.Lower.Address, r.Upper.Address).
		With(r.Lower.Address+" current_link_width", now).With(r.Lower.Address+" max_link_width", own).With(r.Upper.Address+" max_link_width", r.Upper.Max.Width)
}

func speedCheck() linkCheck {
	return linkCheck{
		Name:    "pcie_speed",
		Help:    "Fails when a link on the way to a NIC or NVSwitch is slower than both of its ends can be. A link to GPUs alone fails only when it has been slow for 10 seconds and a GPU busy all the while, by what its driver told of several moments: GPUs slow their links down when idle. One finding a link, at its lower end; links to other devices are info.",
		Silent:  "a GPU that idles, or whose load nobody told in the last 5 seconds, is info; so is the link above only such GPUs. Same exceptions as pcie_width.",
		Over:    time.Minute,
		Subject: linkSubject(),
		Uses:    []string{"gpu"},
		Thresholds: []collectors.Threshold{
			{Name: "busy_percent", Default: 10, Unit: "percent", Help: "utilisation from which a GPU is busy"},
			{Name: "busy_for", Default: 10, Unit: "seconds", Help: "least time that the GPU has to be busy on the slow link"},
		},
		Eval: func(r *linkRow, e *linkEnv) verdict { return r.quiet(evalSpeed(r, e)) },
	}
}

func evalSpeed(r *linkRow, e *linkEnv) verdict {
	if v := r.unread(); v.Status != collectors.None {
		return v
	}
	now, most, own := r.now.Speed, r.Max.Speed, r.Lower.Max.Speed
	switch {
	case now == 0:
		return collectors.Verdictf(collectors.Unknown, "the kernel has no name for the link's speed")
	case most == 0 || own == 0 && now < most:
		return collectors.Verdictf(collectors.Unknown, "runs at %s; the kernel does not say how fast the device can be", now)
	case now >= most:
		return collectors.Verdictf(collectors.OK, "%s of %s", now, most).With("current_link_speed", now).With("max_link_speed of both ends", most)
	case r.guest || r.Upper == nil || r.Upper.Max.Speed == 0:
		if r.onlyGPUs && r.load.known && r.load.most < int(e.Threshold("busy_percent")) {
			return collectors.Verdictf(collectors.Info, "%s of %s while the GPU is idle: usual", now, own)
		}
		return r.unseenPort("runs at", now.String(), own.String())
	}
	v := collectors.Verdictf(collectors.Fail, "%s of %s: %s can do %s, the port %s %s; path: %s", now, most, named(r.Lower), own, r.Upper.Address, r.Upper.Max.Speed, hops(e.View, r.Lower)).
		Remedyf("look at both ends with lspci -vv -s %s and -s %s; reseat the card, its riser or cable; check the link speed setting of the slot in the firmware setup and the retimers", r.Lower.Address, r.Upper.Address).
		With(r.Lower.Address+" current_link_speed", now).With(r.Lower.Address+" max_link_speed", own).With(r.Upper.Address+" max_link_speed", r.Upper.Max.Speed)
	if r.target != "" {
		v.Reason += "; deliberately capped: " + r.target
	}
	switch {
	case len(r.Devices) == 0:
		v.Status = collectors.Info
	case r.onlyGPUs:
		return gpuSpeed(r, e, v)
	}
	return v
}

func slotCheck() linkCheck {
	return linkCheck{
		Name:    "pcie_slot",
		Help:    "Info when a device could do more than the port that it is plugged into: a limit of the platform, not a fault.",
		Subject: linkSubject(),
		Eval:    func(r *linkRow, _ *linkEnv) verdict { return evalSlot(r) },
	}
}

func evalSlot(r *linkRow) verdict {
	if len(r.Devices) == 0 || r.guest || r.Upper == nil {
		return verdict{}
	}
	own, port := r.Lower.Max, r.Upper.Max
	slower := own.Speed > 0 && port.Speed > 0 && port.Speed < own.Speed
	narrower := own.Width > 0 && port.Width > 0 && port.Width < own.Width
	if !slower && !narrower {
		if !own.Known() || !port.Known() {
			return collectors.Verdictf(collectors.Unknown, "%s can do %s, its port %s %s: not all of that is known", r.Lower.Address, own, r.Upper.Address, port)
		}
		return collectors.Verdictf(collectors.OK, "the port %s (%s) is no limit to %s (%s)", r.Upper.Address, port, r.Lower.Address, own)
	}
	return collectors.Verdictf(collectors.Info, "platform limit: %s can do %s, its port %s %s (together %s)", named(r.Lower), own, r.Upper.Address, port, r.Max).
		Remedyf("none needed; a slot that can do more would give it more").
		With(r.Lower.Address+" max_link_speed/width", own).With(r.Upper.Address+" max_link_speed/width", port)
}

func aspmCheck() linkCheck {
	return linkCheck{
		Name:    "pcie_aspm",
		Help:    "Info when the power state L1 is enabled on a link of a GPU's or NIC's path: leaving it costs microseconds at the first packet.",
		Subject: linkSubject(),
		Eval: func(r *linkRow, _ *linkEnv) verdict {
			switch {
			case len(r.Devices) == 0:
				return verdict{}
			case r.guest && !r.l1.OK:
				return collectors.Verdictf(collectors.Unknown, "virtual machine: the link's power management is not visible")
			case !r.l1.OK:
				return collectors.Verdictf(collectors.Unknown, "%s", r.l1Why)
			case r.l1.V:
				return collectors.Verdictf(collectors.Info, "ASPM L1 is enabled on the link of %s", named(r.Lower)).
					Remedyf("if latency matters: pcie_aspm.policy=performance on the kernel command line, or the firmware setup").With("LNKCTL", "L1")
			}
			return collectors.Verdictf(collectors.OK, "ASPM L1 is off")
		},
	}
}
