// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fabricd/fabricd/probes"
)

// Two interfaces and two RDMA devices whose names differ only in what is not
// shown, and a driver that would turn a terminal's text around.
const hostileNames = halfWidth +
	"-- proc/sys/kernel/hostname --\nnode\x1b[31m\u202e\n" +
	"-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/driver -> ../../../../bus/pci/drivers/\u202emlx --\n" +
	"-- sys/class/net/\u202eth0 -> ../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/\u202eth0 --\n" +
	"-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/\u202eth0/mtu --\n9000\n" +
	"-- sys/class/net/\u2066th0 -> ../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/\u2066th0 --\n" +
	"-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/\u2066th0/mtu --\n1500\n" +
	"-- sys/class/infiniband/\u200bx -> ../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/\u200bx --\n" +
	"-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/\u200bx/ports/1/state --\n4: ACTIVE\n" +
	"-- sys/class/infiniband/\u200cx -> ../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/\u200cx --\n" +
	"-- sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/\u200cx/ports/1/state --\n4: ACTIVE\n"

func TestHostileNamesEverywhere(t *testing.T) {
	host := file(t, "hostile.txtar", hostileNames)
	for _, args := range [][]string{{"read"}, {"check", "--all"}, {"check", "--format", "json"}, {"topo"}, {"topo", "--format", "json"}, {"topo", "--format", "csv"}, {"topo", "--format", "dot"}} {
		code, out, errs := fabricd(append(args, "--host", host)...)
		if code >= exitUsage || args[0] == "read" && code != exitOK || errs != "" {
			t.Errorf("%v: exit status %d: %s", args, code, errs)
		}
		bad := func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
		if strings.ContainsFunc(out, bad) || !utf8.ValidString(out) {
			t.Errorf("%v prints what is not to be printed: %q", args, out)
		}
		if args[0] == "read" && !strings.Contains(out, probes.Printable("\u202emlx")) {
			t.Errorf("the driver is not in %s", out)
		}
	}
}

func TestNameThatIsNoUTF8(t *testing.T) {
	code, _, errs := fabricd("read", "--host", file(t, "bytes.txtar", halfWidth+"-- sys/class/net/a\xffb --\n1\n"))
	if code != exitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "UTF-8") || !utf8.ValidString(errs) {
		t.Errorf("exit status %d: %q", code, errs)
	}
}
