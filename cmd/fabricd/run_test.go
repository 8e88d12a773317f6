// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// What keeps the daemon from serving is one line, which guesses at another
// program only where there is one.
func TestCannotServe(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	root := unpack(t, hosts+"meta-8hca-good.txtar")
	free := "--web.listen-address=" + freePort(t)
	for _, test := range []struct {
		args []string
		says string
		hint bool
	}{
		{[]string{"--web.listen-address=" + taken.Addr().String()}, "address already in use", true},
		{[]string{"--web.listen-address=127.0.0.1:x"}, "unknown port", false},
		{[]string{"--web.listen-address=nonsense"}, "nonsense", false},
		{[]string{free, "--web.config.file=/nowhere.yml"}, "--web.config.file: open /nowhere.yml", false},
		{[]string{free, "--web.config.file=" + file(t, "a.yml", "tls: 1\nbasic: 2\n")}, "field tls not found", false},
		{[]string{free, "--web.config.file=" + file(t, "b.yml", "tls_server_config:\n  cert_file: nowhere.crt\n  key_file: nowhere.key\n")}, "nowhere.crt", false},
	} {
		code, _, errs := fabricd(append([]string{"run", "--path.rootfs", root, "--log.level", "error"}, test.args...)...)
		if code != exitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, test.says) || strings.Contains(errs, "another fabricd") != test.hint {
			t.Errorf("%v: exit status %d: %s", test.args, code, errs)
		}
	}
	if _, _, errs := fabricd("run", "--path.rootfs", root, "--web.listen-address=nonsense"); strings.Contains(errs, "fabricd starts") {
		t.Errorf("it is said to start: %s", errs)
	}
}

// An error of the log is one line in both formats.
func TestLogHasNoStacks(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		a := newApp(&b, &b)
		a.logger(&runFlags{logLevel: "info", logFormat: format}).Error("something", slog.String("why", "a reason"))
		if got := b.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "stacktrace") || strings.Contains(got, ".go:") {
			t.Errorf("%s: %s", format, got)
		}
	}
}
