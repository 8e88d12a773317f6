// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"bytes"
	"encoding/hex"
)

// maxFrames bounds the frames of one recorded moment.
const maxFrames = 4096

// Frames reads a recording's frames: one a line in hex, from the destination
// address on. Empty lines and those that begin with # are passed over; what is
// no hex is heard as a frame of nothing, which is malformed.
func Frames(b []byte) [][]byte {
	var list [][]byte
	for line := range bytes.Lines(b) {
		line = bytes.Join(bytes.Fields(line), nil)
		if len(line) == 0 || line[0] == '#' || len(list) == maxFrames {
			continue
		}
		frame, err := hex.AppendDecode(nil, line)
		if err != nil {
			frame = nil
		}
		list = append(list, frame)
	}
	return list
}
