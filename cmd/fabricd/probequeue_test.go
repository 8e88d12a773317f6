// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
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
		if code, out, stderr := fabricd(append([]string{"probe", "queue", "--host", film}, bad...)...); code != exitUsage || out != "" || !strings.Contains(stderr, bad[0]) || strings.Contains(stderr, "to 1s, such as 3s") {
			t.Errorf("%v: %d %s\n%s", bad, code, stderr, out)
		}
	}
	const nic = "-- sys/devices/pci0000:00/0000:00:01.0/"
	unread := filepath.Join(t.TempDir(), "unread.txtar")
	err := os.WriteFile(unread, []byte("-- sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:01.0/net/eth0 --\n"+
		nic+"vendor --\n0x15b3\n"+nic+"net/eth0/queues/tx-0/byte_queue_limits/inflight.err --\nEIO\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "csv"} {
		code, out, stderr := fabricd("probe", "queue", "--host", unread, "--format", format)
		if code != exitUnknown || !strings.Contains(out+stderr, "could not be read: eth0: queues/tx-0") || !strings.Contains(stderr, "no queue could be read") {
			t.Errorf("%s: %d %s\n%s", format, code, stderr, out)
		}
	}
}

// An interface that went twice is named once.
func TestQueueWatch(t *testing.T) {
	w := queueWatch{gone: []string{"qb", "qa", "qb"}, seen: true}
	if err := w.verdict(); err == nil || !strings.HasSuffix(err.Error(), ": qa, qb") {
		t.Error(err)
	}
}
