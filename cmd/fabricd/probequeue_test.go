// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestProbeQueue(t *testing.T) {
	const film = hosts + "cases/134-bql-limit-of-two-frames.txtar"
	code, out, stderr := fabricd("probe", "queue", "--host", film, "--format", "csv")
	if lines := strings.Split(out, "\n"); code != exitOK || len(lines) != 15 || lines[2] != "5.000000,eth0,0,2988,2988," {
		t.Errorf("%d %s\n%s", code, stderr, out)
	}
	code, out, stderr = fabricd("probe", "queue", "--host", film)
	if code != exitOK || !strings.Contains(out, "at its limit (2988 B now) in 69.2 %") {
		t.Errorf("%d %s\n%s", code, stderr, out)
	}
	for _, bad := range [][]string{{"--interval", "1us"}, {"--netdev", "eth9"}, {"--format", "json"}, {"--for", "0s"}} {
		if code, out, stderr := fabricd(append([]string{"probe", "queue", "--host", film}, bad...)...); code != exitUsage || out != "" || !strings.Contains(stderr, bad[0]) {
			t.Errorf("%v: %d %s\n%s", bad, code, stderr, out)
		}
	}
}
