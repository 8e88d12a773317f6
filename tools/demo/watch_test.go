// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Prometheus is started when the fleet is there, and not if it has ended.
func TestReady(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked < 3 || r.URL.Path != "/-/ready" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	if err := ready(t.Context(), strings.TrimPrefix(s.URL, "http://"), nil); err != nil || asked != 3 {
		t.Errorf("%v after %d questions", err, asked)
	}
	ended := make(chan error, 1)
	ended <- errors.New("ended")
	if err := ready(t.Context(), "127.0.0.1:1", ended); err == nil {
		t.Error("waits for a fleet that has ended")
	}
}

// A port that another program has is told of before anything starts, with the flag that chooses another.
func TestPortsAreFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := l.Addr().String()
	defer l.Close()
	if err := free("127.0.0.1:0", taken); err == nil || !strings.Contains(err.Error(), "-prometheus=127.0.0.1:PORT") {
		t.Error(err)
	}
	if err := free(taken, "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "-fleet=127.0.0.1:PORT") {
		t.Error(err)
	}
	if err := free("127.0.0.1:0", "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
}
