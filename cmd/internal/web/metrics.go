// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"github.com/fabricd/fabricd/collectors"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// metrics answers scrapes. Text formats are written by the engine itself, the
// few families that live on by the library; protobuf (for native histograms)
// and selections by name are the library's altogether.
type metrics struct {
	engine  *collectors.Engine
	rest    prometheus.Gatherer // what the engine does not write
	library http.Handler
	slots   chan struct{}
	pool    sync.Pool // of *scratch
}

// A scratch is what one answer is built in.
type scratch struct {
	text []byte
	rest bytes.Buffer
	out  bytes.Buffer
	zip  *gzip.Writer
}

func newMetrics(e *collectors.Engine, all, rest prometheus.Gatherer, errors promhttp.Logger) http.Handler {
	return &metrics{
		engine: e, rest: rest, slots: make(chan struct{}, maxScrapes),
		library: promhttp.HandlerFor(all, promhttp.HandlerOpts{
			EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError, ErrorLog: errors,
		}),
	}
}

func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	kind := format.FormatType()
	if r.URL.RawQuery != "" || kind != expfmt.TypeTextPlain && kind != expfmt.TypeOpenMetrics {
		m.library.ServeHTTP(w, r)
		return
	}
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	default:
		plain(w, http.StatusServiceUnavailable, "too many scrapes at once")
		return
	}
	s, _ := m.pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer m.pool.Put(s)
	if err := m.build(s, format); err != nil {
		plain(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.answer(w, r, format)
}

// build writes the exposition into s.text and s.rest.
func (m *metrics) build(s *scratch, format expfmt.Format) error {
	s.text = m.engine.AppendText(s.text[:0], collectors.Exposition{OpenMetrics: format.FormatType() == expfmt.TypeOpenMetrics})
	s.rest.Reset()
	families, err := m.rest.Gather()
	if err != nil && len(families) == 0 {
		return err
	}
	encoder := expfmt.NewEncoder(&s.rest, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return err
		}
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		return closer.Close() // OpenMetrics' # EOF
	}
	return nil
}

func (s *scratch) answer(w http.ResponseWriter, r *http.Request, format expfmt.Format) {
	h := w.Header()
	h.Set("Content-Type", string(format))
	h.Add("Vary", "Accept, Accept-Encoding")
	if !acceptsGzip(r) {
		w.Write(s.text)         //nolint:errcheck // the client went away
		w.Write(s.rest.Bytes()) //nolint:errcheck
		return
	}
	s.out.Reset()
	if s.zip == nil {
		s.zip, _ = gzip.NewWriterLevel(&s.out, gzip.BestSpeed)
	} else {
		s.zip.Reset(&s.out)
	}
	s.zip.Write(s.text)         //nolint:errcheck // into memory
	s.zip.Write(s.rest.Bytes()) //nolint:errcheck
	s.zip.Close()               //nolint:errcheck
	h.Set("Content-Encoding", "gzip")
	w.Write(s.out.Bytes()) //nolint:errcheck // the client went away
}

// acceptsGzip reads Accept-Encoding; a quality of 0 refuses.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" || name == "*" {
			q := strings.ReplaceAll(quality, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}
