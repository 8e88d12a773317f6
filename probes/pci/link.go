// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"bytes"
	"fmt"
	"strconv"
)

// A Speed is a link's signalling rate in units of 0.1 GT/s a lane: 25 is
// 2.5 GT/s (Gen1), 320 is 32 GT/s (Gen5). Zero is no speed.
type Speed uint16

// Speeds by generation, as in PCI Express Base Specification 7.0.
const (
	Gen1 Speed = 25
	Gen2 Speed = 50
	Gen3 Speed = 80
	Gen4 Speed = 160
	Gen5 Speed = 320
	Gen6 Speed = 640
	Gen7 Speed = 1280
)

// Widths that are no number of lanes.
const (
	WidthLost = 63  // the 6-bit field of a read that returned all ones
	WidthNone = 255 // the kernel's word for "no link capability"
)

// ParseSpeed reads sysfs current_link_speed and max_link_speed in the spellings
// of all kernels: "16.0 GT/s PCIe", "16 GT/s". What names no PCI Express speed
// ("Unknown", "33 MHz PCI") is not ok. It does not allocate.
func ParseSpeed(b []byte) (s Speed, ok bool) {
	number, rest, found := bytes.Cut(bytes.TrimSpace(b), []byte(" "))
	if !found || !bytes.HasPrefix(rest, []byte("GT/s")) || len(number) == 0 || len(number) > 6 {
		return 0, false
	}
	whole, fraction, _ := bytes.Cut(number, []byte("."))
	n, ok := atoi(whole)
	if !ok || n > 6000 {
		return 0, false
	}
	n *= 10
	if len(fraction) > 0 {
		if fraction[0] < '0' || fraction[0] > '9' {
			return 0, false
		}
		n += int(fraction[0] - '0')
	}
	return Speed(n), n > 0
}

// ParseWidth reads sysfs current_link_width and max_link_width: a number of
// lanes, 0 for no link, WidthLost or WidthNone. It does not allocate.
func ParseWidth(b []byte) (lanes int, ok bool) {
	lanes, ok = atoi(bytes.TrimSpace(b))
	return lanes, ok && lanes <= WidthNone
}

func atoi(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// SpeedOf gives the speed of a generation as link registers and NVML number
// it, from 1; zero if there is none.
func SpeedOf(generation int) Speed {
	if generation < 1 || generation > 7 {
		return 0
	}
	return [...]Speed{Gen1, Gen2, Gen3, Gen4, Gen5, Gen6, Gen7}[generation-1]
}

// String gives "2.5 GT/s", "16 GT/s".
func (s Speed) String() string {
	return strconv.FormatFloat(float64(s)/10, 'f', -1, 64) + " GT/s"
}

// GigaTransfers gives the speed in GT/s.
func (s Speed) GigaTransfers() float64 { return float64(s) / 10 }

// TransfersPerSecond gives the speed in transfers a second and lane.
func (s Speed) TransfersPerSecond() float64 { return float64(s) * 1e8 }

// laneBits gives the bits a second that one lane carries after line encoding
// (8b/10b, 128b/130b, flits): the kernel's own figures, PCIE_SPEED2MBS_ENC in
// drivers/pci/pci.h.
func (s Speed) laneBits() float64 {
	switch s {
	case Gen1:
		return 2000e6
	case Gen2:
		return 4000e6
	case Gen3:
		return 7876e6
	case Gen4:
		return 15753e6
	case Gen5:
		return 31507e6
	}
	return s.TransfersPerSecond()
}

// A Link is what two ports agreed on, or what one of them could do.
type Link struct {
	Speed Speed
	Width int
}

// Known says whether both parts are there.
func (l Link) Known() bool { return l.Speed > 0 && l.Width > 0 && l.Width < WidthLost }

// BitsPerSecond gives the usable bandwidth in one direction: line encoding is
// taken off, packet overhead is not. Zero if the link is not known.
func (l Link) BitsPerSecond() float64 {
	if !l.Known() {
		return 0
	}
	return l.Speed.laneBits() * float64(l.Width)
}

// String gives "16 GT/s x8"; an unknown part is a question mark.
func (l Link) String() string {
	speed, width := "? GT/s", "x?"
	if l.Speed > 0 {
		speed = l.Speed.String()
	}
	if l.Width > 0 && l.Width < WidthLost {
		width = fmt.Sprintf("x%d", l.Width)
	}
	return speed + " " + width
}

// Min gives the part-wise smaller link: what two ports can agree on. A part
// that one of them does not know is the other's.
func (l Link) Min(m Link) Link {
	if l.Speed == 0 || m.Speed > 0 && m.Speed < l.Speed {
		l.Speed = m.Speed
	}
	if l.Width == 0 || m.Width > 0 && m.Width < l.Width {
		l.Width = m.Width
	}
	return l
}
