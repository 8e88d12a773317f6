// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"testing"
	"time"
)

func TestHeatOfARecording(t *testing.T) {
	_, h := site(t, "h200-vm-loaded.txtar")
	if w := get(h, "/api/v1/queues/heat?since=2m"); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get(h, "/api/v1/queues/heat?since=yesterday"); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestMoment(t *testing.T) {
	now := time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)
	for _, text := range []string{"2m", "1796043480", "1796043480.0", "2026-11-30T12:58:00Z", "2026-11-30T13:58:00+01:00"} {
		if got, ok := moment(text, now); !ok || !got.Equal(now.Add(-2*time.Minute)) {
			t.Errorf("%q: %s %t", text, got.UTC(), ok)
		}
	}
	for text, all := range map[string]bool{"1796043600": false, "1796043700": true, "2026-11-30T14:00:00Z": true, "": true} {
		if got, ok := moment(text, now); !ok || got.IsZero() != all {
			t.Errorf("%q: %s %t", text, got.UTC(), ok)
		}
	}
	for _, text := range []string{"-2m", "x", "NaN", "1e300", "-1", "Inf"} {
		if got, ok := moment(text, now); ok {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}
