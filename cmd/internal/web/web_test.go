// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const hosts = "../../../collectors/testdata/hosts/"

// site plays a recorded host and serves it.
func site(tb testing.TB, name string) (*Site, http.Handler) {
	tb.Helper()
	h, err := probes.OpenRecording(hosts+name, probes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return siteOf(tb, h)
}

func siteOf(tb testing.TB, h *probes.Host) (*Site, http.Handler) {
	tb.Helper()
	s := &Site{Host: "node-1", Version: "test", Engine: collectors.NewEngine(collectors.Options{Host: h, Collectors: all.List()})}
	pages, err := s.Handler(log.New(io.Discard, "", 0))
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Engine.Play(); err != nil {
		tb.Fatal(err)
	}
	return s, NewServer(pages).Handler
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// parse reads a text exposition into its families.
func parse(t *testing.T, b []byte) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// lines gives the sample lines of a text exposition but those of the process itself.
func lines(b []byte) []string {
	var list []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "go_") && !strings.HasPrefix(line, "process_") && !strings.Contains(line, " go_") && !strings.Contains(line, " process_") {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

// The engine's own exposition says the same as the library's.
func TestMetricsAsTheLibrary(t *testing.T) {
	for _, name := range []string{"hgx-h100-8gpu.txtar", "meta-8hca-downgraded.txtar", "h200-vm-loaded.txtar"} {
		t.Run(name, func(t *testing.T) {
			_, h := site(t, name)
			own := get(h, "/metrics").Body.Bytes()
			library := get(h, "/metrics?library").Body.Bytes() // any query is the library's
			if d := cmp.Diff(lines(library), lines(own)); d != "" {
				t.Errorf("library (-), own (+):\n%s", d)
			}
			if n := len(parse(t, own)); n < 20 {
				t.Errorf("%d families", n)
			}
		})
	}
}

func TestOpenMetrics(t *testing.T) {
	_, h := site(t, "meta-8hca-downgraded.txtar")
	const accept = "application/openmetrics-text;version=1.0.0"
	own := get(h, "/metrics", "Accept", accept)
	library := get(h, "/metrics?library", "Accept", accept)
	if a, b := own.Header().Get("Content-Type"), library.Header().Get("Content-Type"); a != b || !strings.HasPrefix(a, "application/openmetrics-text") {
		t.Errorf("Content-Type %q, the library's is %q", a, b)
	}
	if !bytes.HasSuffix(own.Body.Bytes(), []byte("# EOF\n")) {
		t.Error("does not end in # EOF")
	}
	normal := func(b []byte) []string { // the library writes whole numbers as 1.0
		list := lines(b)
		for i, l := range list {
			list[i] = strings.TrimSuffix(strings.TrimSuffix(l, "\n"), ".0")
		}
		return list
	}
	if d := cmp.Diff(normal(library.Body.Bytes()), normal(own.Body.Bytes())); d != "" {
		t.Errorf("library (-), own (+):\n%s", d)
	}
}

func TestGzipAndProtobuf(t *testing.T) {
	_, h := site(t, "meta-8hca-good.txtar")
	plainText := get(h, "/metrics").Body.Bytes()
	for range 2 { // the second one reuses the writer
		w := get(h, "/metrics", "Accept-Encoding", "zstd, gzip;q=0.5")
		if w.Header().Get("Content-Encoding") != "gzip" {
			t.Fatal("not gzip")
		}
		r, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(lines(plainText), lines(b)); d != "" {
			t.Error(d)
		}
	}
	if w := get(h, "/metrics", "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("gzip in spite of q=0")
	}
	w := get(h, "/metrics", "Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	families := map[string]*dto.MetricFamily{}
	d := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
	for {
		f := &dto.MetricFamily{}
		if err := d.Decode(f); err != nil {
			break
		}
		families[f.GetName()] = f
	}
	if families["fabricd_pcie_link_width_lanes"] == nil {
		t.Errorf("protobuf has %v", slices.Sorted(maps.Keys(families)))
	}
}

func TestFindings(t *testing.T) {
	_, h := site(t, "meta-8hca-downgraded.txtar")
	w := get(h, "/api/v1/findings")
	var r collectors.Report
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Host != "node-1" || r.Status != collectors.Fail || r.Findings[0].Check != "pcie_speed" {
		t.Errorf("%s %s %s", r.Host, r.Status, r.Findings[0].Check)
	}
}

func TestPage(t *testing.T) {
	_, h := site(t, "meta-8hca-downgraded.txtar")
	text := get(h, "/").Body.String()
	for _, want := range []string{"pcie_speed", "0000:8d:00.0", "8 GT/s of 16 GT/s", "api/v1/findings", "To act on"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

func TestBeforeTheFirstReading(t *testing.T) {
	h, err := probes.OpenRecording(hosts+"h200-vm-idle.txtar", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Site{Engine: collectors.NewEngine(collectors.Options{Host: h, Collectors: all.List()})}
	pages, err := s.Handler(log.New(io.Discard, "", 0))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/": 200, "/metrics": 200, "/-/healthy": 200, "/-/ready": 503, "/api/v1/findings": 503, "/nothing": 404} {
		if got := get(pages, path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/metrics", nil)
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// Scrapes of a node of 8 GPUs and 517 PCI functions, with gzip, both ways.
func BenchmarkScrapeNode(b *testing.B) {
	_, h := site(b, "hgx-h100-8gpu.txtar")
	for name, path := range map[string]string{"own": "/metrics", "library": "/metrics?library"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := get(h, path, "Accept-Encoding", "gzip")
				b.SetBytes(int64(w.Body.Len()))
			}
		})
	}
}
