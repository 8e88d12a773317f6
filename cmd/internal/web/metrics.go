// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// metrics answers scrapes. Text formats are written by the engine itself, the
// few families that live on by the library; protobuf (for native histograms)
// and selections by name are the library's altogether.
type metrics struct {
	engine   *collectors.Engine
	rest     prometheus.Gatherer // what the engine does not write
	library  http.Handler
	slots    chan struct{} // of answers being built
	held     chan struct{} // of answers being built or sent
	pool     sync.Pool     // of *scratch
	patience time.Duration
}

// A scratch is what one answer is built in.
type scratch struct {
	text []byte
	rest bytes.Buffer
	out  bytes.Buffer
	zip  *gzip.Writer
}

func newMetrics(e *collectors.Engine, all, rest prometheus.Gatherer, log promhttp.Logger) *metrics {
	return &metrics{
		engine: e, rest: rest, slots: make(chan struct{}, maxScrapes), held: make(chan struct{}, maxHeld), patience: slotPatience,
		library: library(all, log),
	}
}

func library(g prometheus.Gatherer, log promhttp.Logger) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError, ErrorLog: log})
}

// ServeHTTP builds an answer whole and sends it then: a client that does not
// read keeps its own answer waiting, and no slot from others.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case m.held <- struct{}{}:
		defer func() { <-m.held }()
	default:
		plain(w, http.StatusServiceUnavailable, errBusy.Error())
		return
	}
	a, err := m.answer(r)
	if err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.code)
	w.Write(a.body.Bytes()) //nolint:errcheck // the client went away
}

var errBusy = errors.New("too many scrapes at once")

// answer builds an answer as soon as there is a slot.
func (m *metrics) answer(r *http.Request) (*answer, error) {
	patience := time.NewTimer(m.patience)
	defer patience.Stop()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-patience.C:
		return nil, errBusy
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	a := &answer{header: http.Header{}, code: http.StatusOK}
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	kind := format.FormatType()
	if r.URL.RawQuery != "" || kind != expfmt.TypeTextPlain && kind != expfmt.TypeOpenMetrics {
		m.library.ServeHTTP(a, r)
		return a, nil
	}
	s, _ := m.pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer m.pool.Put(s)
	if err := m.build(s, format); err != nil {
		plain(a, http.StatusInternalServerError, err.Error())
		return a, nil
	}
	a.take(s, r, format)
	return a, nil
}

// An answer is a response kept in memory.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

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

// take copies what is built, for the next answer uses the scratch again while
// this one is still being sent.
func (a *answer) take(s *scratch, r *http.Request, format expfmt.Format) {
	a.header.Set("Content-Type", string(format))
	a.header.Add("Vary", "Accept, Accept-Encoding")
	if !acceptsGzip(r) {
		a.body.Grow(len(s.text) + s.rest.Len())
		a.body.Write(s.text)
		a.body.Write(s.rest.Bytes())
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
	a.header.Set("Content-Encoding", "gzip")
	a.body.Write(s.out.Bytes())
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
