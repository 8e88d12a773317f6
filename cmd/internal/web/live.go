// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// Bounds of the streams that keep pages live.
const (
	maxStreams    = 64
	lookEvery     = time.Second // at the engine for a new judgement
	eventPatience = 10 * time.Second
)

// A live page is rendered once for each judgement, whoever looks at it, and
// streamed to those who stay.
type live struct {
	site  *Site
	pages *template.Template
	slots chan struct{} // of streams

	mu    sync.Mutex
	state *collectors.State // that page shows
	page  *page
}

func newLive(s *Site, pages *template.Template) *live {
	return &live{site: s, pages: pages, slots: make(chan struct{}, maxStreams)}
}

// current gives the page of the newest judgement. It is never changed.
func (l *live) current() (*page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.site.Engine.State()
	if l.page != nil && l.state == state {
		return l.page, nil
	}
	p, err := l.site.render(l.pages)
	if err != nil {
		return nil, err
	}
	l.state, l.page = state, p
	return p, nil
}

// serve answers with the page as it is now.
func (l *live) serve(w http.ResponseWriter, _ *http.Request) {
	p, err := l.current()
	var b bytes.Buffer
	if err == nil {
		err = l.pages.ExecuteTemplate(&b, "page.html", p)
	}
	if err != nil {
		plain(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(b.Bytes()) //nolint:errcheck // the client went away
}

// events streams what changes of the page, as server-sent events: one event
// "page" for each judgement, with the parts that are not as they were sent before.
func (l *live) events(w http.ResponseWriter, r *http.Request) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	default:
		plain(w, http.StatusServiceUnavailable, "too many pages are live at once")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	ending, _ := r.Context().Value(shutdown{}).(chan struct{}) // nil in a test without a server
	sent := map[string]template.HTML{}
	var last *page
	for {
		if p, err := l.current(); err == nil && p != last {
			last = p
			if control.SetWriteDeadline(time.Now().Add(eventPatience)) != nil || writeEvent(w, p.since(sent)) != nil || control.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-ending:
			return
		case <-l.site.Over:
			return
		}
	}
}

// since gives the page with those parts alone that are not as in sent, which
// is brought up to date.
func (p *page) since(sent map[string]template.HTML) *page {
	changed := &page{Title: p.Title, Time: p.Time}
	for _, part := range p.Parts {
		if html, ok := sent[part.ID]; !ok || html != part.HTML {
			sent[part.ID] = part.HTML
			changed.Parts = append(changed.Parts, part)
		}
	}
	return changed
}

func writeEvent(w http.ResponseWriter, p *page) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: page\ndata: %s\n\n", text) // JSON has no line breaks
	return err
}
