// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/cmd/internal/heatmap"
	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	promconfig "github.com/prometheus/common/config"
	"golang.org/x/term"
)

// heatmapFlags are those of the heatmap command.
type heatmapFlags struct {
	prometheus, httpConfig     string
	metric, by, format, at, in string
	window                     time.Duration
	all                        bool

	status int // of the newest answer, 0 before any
}

// heatmapPatience is how long Prometheus may take for all of it.
const heatmapPatience = time.Minute

func (a *app) heatmapCommand() {
	var f heatmapFlags
	c := a.command("heatmap", "Ask a Prometheus that scrapes fabricd, and show nodes and ports as a matrix: which node, port or leaf stands out.", func() error { return a.heatmap(&f) })
	c.Flag("prometheus", "Address of the Prometheus, such as http://localhost:9090.").PlaceHolder("URL").Required().StringVar(&f.prometheus)
	c.Flag("http.config.file", "How to log in to it: Prometheus' HTTP client configuration (basic_auth, authorization, tls_config).").PlaceHolder("FILE").StringVar(&f.httpConfig)
	var names []string
	for _, m := range heatmap.Metrics() {
		names = append(names, m.Name)
	}
	enumVar(c.Flag("metric", strings.Join(names, ", ")+"."), "--metric", &f.metric, names...)
	enumVar(c.Flag("by", "A column for each port's name or each rail (compute NICs in the order of their addresses), or a line for each InfiniBand LID."), "--by", &f.by, "port", "rail", "lid")
	c.Flag("at", "When: a time (2026-11-30T12:00:00Z), seconds since 1970, or how long ago (2h, 30d). Default: now.").PlaceHolder("TIME").StringVar(&f.at)
	durationVar(c.Flag("window", "Over how long rates are taken (5m)."), "--window", &f.window, 5*time.Minute, time.Second, 365*24*time.Hour)
	c.Flag("match", `Label matchers that choose nodes, such as cluster="a".`).PlaceHolder("MATCHERS").StringVar(&f.in)
	enumVar(c.Flag("format", "text, csv or svg."), "--format", &f.format, "text", "csv", "svg")
	c.Flag("all", "In text, print every node: also where nothing stands out.").BoolVar(&f.all)
}

func (a *app) heatmap(f *heatmapFlags) error {
	q := heatmap.Query{By: f.by, Window: f.window, Match: f.in}
	for _, m := range heatmap.Metrics() {
		if m.Name == f.metric {
			q.Metric = m
		}
	}
	var err error
	if q.At, err = moment(f.at, time.Now()); err != nil {
		return err
	}
	prometheus, err := prometheusAPI(f)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, heatmapPatience)
	defer cancel()
	m, err := heatmap.Fetch(ctx, prometheus, q)
	if err != nil {
		return cannotAsk(f, err)
	}
	return m.Write(a.stdout, f.format, width(a.stdout), f.all)
}

// moment reads --at.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return now, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if d, err := duration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e11 {
		return time.UnixMilli(int64(n * 1e3)), nil
	}
	return time.Time{}, usage("--at %s: want a time such as 2026-11-30T12:00:00Z, seconds since 1970, or how long ago, such as 2h", s)
}

// prometheusAPI makes the client; nothing is sent yet.
func prometheusAPI(f *heatmapFlags) (v1.API, error) {
	u, err := url.Parse(f.prometheus)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("--prometheus %s: not an address such as http://localhost:9090", redacted(f.prometheus))
	}
	c := api.Config{Address: apiAddress(u), RoundTripper: api.DefaultRoundTripper}
	if f.httpConfig != "" {
		login, _, err := promconfig.LoadHTTPConfigFile(f.httpConfig)
		if err != nil {
			return nil, usage("--http.config.file %s: %s", f.httpConfig, oneLine(err))
		}
		if c.RoundTripper, err = promconfig.NewRoundTripperFromConfig(*login, "fabricd", promconfig.WithUserAgent("fabricd/"+version)); err != nil {
			return nil, usage("--http.config.file %s: %s", f.httpConfig, oneLine(err))
		}
	}
	c.RoundTripper = statusNoter{c.RoundTripper, &f.status}
	client, err := api.NewClient(c)
	if err != nil {
		return nil, usage("--prometheus %s: %s", redacted(f.prometheus), oneLine(err))
	}
	return v1.NewAPI(client), nil
}

// apiAddress gives what the API is below: an address of Prometheus' pages, copied from a
// browser, will do.
func apiAddress(u *url.URL) string {
	base := *u
	base.RawQuery, base.Fragment, base.RawPath = "", "", ""
	base.Path = strings.TrimRight(base.Path, "/")
	for _, page := range []string{"/graph", "/query", "/alerts", "/targets"} {
		base.Path = strings.TrimSuffix(base.Path, page)
	}
	return base.String()
}

// redacted gives an address, which may be no valid one, without its password.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Redacted()
	}
	if i := strings.LastIndex(address, "@"); i >= 0 {
		return "…" + address[i:]
	}
	return address
}

// cannotAsk says in one line why there is no answer. What the user can mend in
// the query is a usage error; that nothing could be learnt is unknown.
func cannotAsk(f *heatmapFlags, err error) error {
	var answer *v1.Error
	switch {
	case errors.Is(err, heatmap.ErrEmpty):
		return exitError{exitUnknown, err}
	case !errors.As(err, &answer):
		return exitError{exitUnknown, fmt.Errorf("--prometheus: %s", oneLine(err))}
	case answer.Type == v1.ErrBadData:
		return usage("--match %s: Prometheus says %s", f.in, oneLine(err))
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		return exitError{exitUnknown, fmt.Errorf("--prometheus: %s wants another login (%s): see --http.config.file", redacted(f.prometheus), oneLine(err))}
	case answer.Type == v1.ErrBadResponse || answer.Type == v1.ErrClient:
		return exitError{exitUnknown, fmt.Errorf("--prometheus: %s does not answer as Prometheus does (%s)", redacted(f.prometheus), oneLine(err))}
	}
	return exitError{exitUnknown, fmt.Errorf("--prometheus: %s%s", oneLine(err), saidBy(answer))}
}

// saidBy gives what Prometheus says of an error of its own beside the status.
func saidBy(answer *v1.Error) string {
	var text struct{ Error string }
	if json.Unmarshal([]byte(answer.Detail), &text) != nil || text.Error == "" {
		return ""
	}
	return ": " + oneLine(errors.New(text.Error))
}

// A statusNoter keeps the status of the newest answer.
type statusNoter struct {
	next   http.RoundTripper
	status *int
}

func (s statusNoter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err == nil {
		*s.status = resp.StatusCode
	}
	return resp, err
}

// width gives the columns of a terminal, 80 where there is none.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return max(columns, 40)
		}
	}
	return 80
}
