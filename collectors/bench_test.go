// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/probes"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// node is the recorded host that costs are measured on.
const node = "testdata/hosts/hgx-h100-8gpu.txtar"

func engine(tb testing.TB, name string) *collectors.Engine {
	tb.Helper()
	h, err := probes.OpenRecording(name, probes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: all.List()})
	if err := e.Play(); err != nil {
		tb.Fatal(err)
	}
	return e
}

// One full reading of the node once everything is open.
func BenchmarkReadNode(b *testing.B) {
	e := engine(b, node)
	b.ReportAllocs()
	at := time.Duration(0)
	for b.Loop() {
		at += time.Second
		e.ReadNow(at)
	}
}

// One judgement of the node, as each second in the daemon.
func BenchmarkJudgeNode(b *testing.B) {
	e := engine(b, node)
	b.ReportAllocs()
	at := time.Duration(0)
	for b.Loop() {
		at += time.Second
		e.JudgeNow(at)
	}
}

// One scrape of the node with gzip, through the library alone.
func BenchmarkScrapeNodeLibrary(b *testing.B) {
	e := engine(b, node)
	r := prometheus.NewRegistry()
	if err := e.Register(r); err != nil {
		b.Fatal(err)
	}
	scrape(b, promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
}

func scrape(b *testing.B, h http.Handler) {
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		req.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

func body(tb testing.TB, w *httptest.ResponseRecorder) []byte {
	tb.Helper()
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
