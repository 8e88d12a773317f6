// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
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
