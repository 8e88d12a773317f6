// SPDX-License-Identifier: Apache-2.0

package lab

import "testing"

// What is left out of a recording that is kept: no moment, and no digit but zeros at an end.
func TestSlimmed(t *testing.T) {
	const recording = `-- manifest.json --
{"bytes": 1, "capabilities": ["CAP_KILL"], "files": 5, "kernel": "6.1"}
-- proc/interrupts --
1
-- sys/d/config.hex --
00
10
00
00
-- at/1s/rm --
sys/d/x
-- at/1s/proc/interrupts --
2
-- at/2s/proc/interrupts --
3
-- at/2s/sys/devices/system/node/node0/meminfo --
4
-- at/3s/proc/interrupts --
5
-- at/3s/sys/d/config.hex --
00
`
	const want = `-- manifest.json --
{
  "kernel": "6.1"
}
-- proc/interrupts --
1
-- sys/d/config.hex --
00
10
-- at/1s/rm --
sys/d/x
-- at/2s/rm --
-- at/3s/rm --
-- at/3s/sys/d/config.hex --
`
	got, err := slimmed(recording)
	if err != nil || string(got) != want {
		t.Errorf("%s%v", got, err)
	}
}
