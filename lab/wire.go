// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Send sends a frame from the switch's port at the end of one of the scenario's wires, to the guest.
func Send(wire int, frame []byte) Action {
	return func(_ context.Context, g *Guest) error { return g.machine.Wire(wire).Send(frame) }
}

// Announce sends a frame every second from now on, in the place of what was sent so before, as a switch speaks LLDP.
func Announce(wire int, frame []byte) Action {
	return func(_ context.Context, g *Guest) error { return g.machine.Wire(wire).Announce(frame) }
}

// Hush ends what is sent every second.
func Hush(wire int) Action { return Announce(wire, nil) }

// Receive waits for a frame of the guest's that is meant.
func Receive(wire int, what string, meant func(frame []byte) bool) Action {
	return func(ctx context.Context, g *Guest) error {
		for began := time.Now(); !slices.ContainsFunc(g.machine.Wire(wire).Received(), meant); {
			if time.Since(began) > checkPatience {
				return mismatch{"the guest sends no " + what}
			}
			if err := Wait(second/10)(ctx, g); err != nil {
				return err
			}
		}
		return nil
	}
}

// Shows runs a script in the guest until it ends well and says all of the words, and none of those that follow a "!".
func Shows(script string, words ...string) Action {
	return func(ctx context.Context, g *Guest) error {
		for began := time.Now(); ; {
			text, err := g.Run(ctx, script)
			wrong := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
				unwanted, not := strings.CutPrefix(word, "!")
				return err == nil && strings.Contains(text, unwanted) != not
			})
			if err == nil && len(wrong) == 0 {
				return nil
			}
			if ctx.Err() != nil || time.Since(began) > checkPatience {
				return mismatch{fmt.Sprintf("%s: not as wanted: %q (%v); it says:", script, wrong, err), text}
			}
			if err := Wait(second/4)(ctx, g); err != nil {
				return err
			}
		}
	}
}

// Addresses of frames that end at a link, and the types of what is in them.
const (
	lldpAddress  = "\x01\x80\xc2\x00\x00\x0e"
	pauseAddress = "\x01\x80\xc2\x00\x00\x01"
	switchMAC    = "\x02\x00\x00\x00\x5a\x01"
	addresses    = 12 // bytes of both
	vlanType     = 0x8100
	lldpType     = 0x88cc
	controlType  = 0x8808
	pfcOpcode    = 0x0101
	leastFrame   = 60
)

// frame makes an Ethernet frame from the switch.
func frame(to string, kind uint16, content []byte) []byte {
	b := append([]byte(to+switchMAC), binary.BigEndian.AppendUint16(nil, kind)...)
	b = append(b, content...)
	return append(b, make([]byte, max(0, leastFrame-len(b)))...)
}

// Tagged puts a VLAN tag into a frame: its priority and its VLAN.
func Tagged(priority, vlan uint16, frame []byte) []byte {
	b := append(slices.Clone(frame[:addresses]), vlanType>>8, vlanType&0xff)
	return append(binary.BigEndian.AppendUint16(b, priority<<13|vlan), frame[addresses:]...)
}

// LLDP makes a frame in which a switch names itself and its port, with further TLVs.
func LLDP(system, port string, more ...[]byte) []byte {
	tlvs := [][]byte{
		TLV(1, append([]byte{7}, system...)), // chassis, by a name
		TLV(2, append([]byte{5}, port...)),   // port, by its interface's name
		TLV(3, []byte{0, 120}),               // seconds that this is good for
		TLV(5, []byte(system)),
	}
	return frame(lldpAddress, lldpType, bytes.Join(append(append(tlvs, more...), TLV(0, nil)), nil))
}

// TLV makes a part of an LLDP frame.
func TLV(kind int, value []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(kind<<9|len(value))), value...)
}

// PFCTLV makes the part in which a switch says for which priorities it has PFC on, a bit each (IEEE 802.1Qaz).
func PFCTLV(willing bool, enabled byte) []byte {
	head := byte(8) // classes that can
	if willing {
		head |= 0x80
	}
	return TLV(127, []byte{0x00, 0x80, 0xc2, 0x0b, head, enabled})
}

// PFC makes a frame that pauses priorities, a bit each, for so many quanta (of 512 bits; 0 resumes).
func PFC(priorities byte, quanta uint16) []byte {
	b := binary.BigEndian.AppendUint16(nil, pfcOpcode)
	b = append(b, 0, priorities)
	for priority := range 8 {
		if priorities>>priority&1 != 0 {
			b = binary.BigEndian.AppendUint16(b, quanta)
		} else {
			b = append(b, 0, 0)
		}
	}
	return frame(pauseAddress, controlType, b)
}
