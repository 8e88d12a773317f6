// SPDX-License-Identifier: Apache-2.0

// Package web serves what the engine published: metrics, findings, and a page
// for a person. It knows HTTP; it touches no device and changes nothing.
package web

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

//go:embed assets
var files embed.FS

// Limits of the server: its clients are few and its answers small.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
	maxHeader     = 64 << 10
	maxScrapes    = 8               // built at once
	maxHeld       = 256             // and sent at once: each is held in memory
	slotPatience  = 3 * time.Second // of a scrape that others are before: less than a scrape timeout
)

// A Site is what the server shows.
type Site struct {
	Host    string // the machine's name
	Version string
	Engine  *collectors.Engine
	// Through, where there is one, changes what is gathered before it is shown.
	Through func(prometheus.Gatherer) prometheus.Gatherer
	// Over, where there is one, is closed when another Site takes this one's
	// place: pages that are live turn to that one.
	Over <-chan struct{}

	trend *trend
}

// shutdown is the key under which requests find the channel that is closed
// when their server shuts down.
type shutdown struct{}

// NewServer makes the HTTP server of one or many sites.
func NewServer(h http.Handler) *http.Server {
	ending := make(chan struct{})
	server := &http.Server{
		Handler: guard(h), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(context.Background(), shutdown{}, ending) },
	}
	server.RegisterOnShutdown(func() { close(ending) })
	return server
}

// Handler answers for the site, whose engine does not run yet. log receives what goes wrong while metrics are gathered.
func (s *Site) Handler(log promhttp.Logger) (http.Handler, error) {
	pages, err := template.ParseFS(files, "assets/page.html")
	if err != nil {
		return nil, err
	}
	s.trend = newTrend(s.Engine)
	s.Engine.Follow(s.trend.observe)
	live := newLive(s, pages)
	mux := http.NewServeMux()
	all, rest, err := s.registries()
	if err != nil {
		return nil, err
	}
	if s.Through != nil {
		mux.Handle("GET /metrics", &kept{engine: s.Engine, next: library(s.Through(all), log)})
	} else {
		mux.Handle("GET /metrics", newMetrics(s.Engine, all, rest, log))
	}
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "fabricd is alive") })
	mux.HandleFunc("GET /-/ready", s.ready)
	mux.HandleFunc("GET /api/v1/findings", s.findings)
	mux.HandleFunc("GET /api/v1/queues/heat", s.heat)
	mux.HandleFunc("GET /{$}", live.serve)
	mux.HandleFunc("GET /events", live.events)
	for _, asset := range []string{"style.css", "live.js", "icon.svg"} {
		mux.Handle("GET /assets/"+asset, http.FileServerFS(files))
	}
	return mux, nil
}

// Assets serves what the pages look like, below assets/.
func Assets() http.Handler { return http.FileServerFS(files) }

// registries gather what the daemon exports: everything, and what the engine
// does not write itself.
func (s *Site) registries() (all, rest *prometheus.Registry, err error) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: collectors.Prefix + "build_info", Help: "1; the labels name fabricd's version and the Go release it was built with.",
		ConstLabels: prometheus.Labels{"version": s.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	all, rest = prometheus.NewRegistry(), prometheus.NewRegistry()
	common := []prometheus.Collector{build, promcollectors.NewGoCollector(), promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{})}
	for _, c := range common {
		if err := errors.Join(all.Register(c), rest.Register(c)); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range s.Engine.Rest() {
		if err := rest.Register(c); err != nil {
			return nil, nil, err
		}
	}
	return all, rest, all.Register(s.Engine)
}

// guard sets what every answer carries: nothing is to be guessed, framed or run.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'")
		next.ServeHTTP(w, r)
	})
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	w.Write([]byte(text + "\n"))
}

func (s *Site) ready(w http.ResponseWriter, _ *http.Request) {
	if s.Engine.State() == nil {
		plain(w, http.StatusServiceUnavailable, "the first readings are not there yet")
		return
	}
	plain(w, http.StatusOK, "fabricd is ready")
}

// Report gives the newest findings as a report; nil before the first.
func Report(e *collectors.Engine, host string) *collectors.Report {
	state := e.State()
	if state == nil {
		return nil
	}
	return e.Report(host, state)
}

func (s *Site) findings(w http.ResponseWriter, _ *http.Request) {
	report := Report(s.Engine, s.Host)
	if report == nil {
		plain(w, http.StatusServiceUnavailable, "the first readings are not there yet")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(report) //nolint:errcheck // the client went away
}
