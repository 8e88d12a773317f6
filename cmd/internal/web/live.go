// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// Bounds of the streams that keep pages live.
const (
	maxStreams    = 512
	lookEvery     = time.Second // at the engine for a new judgement
	eventPatience = 10 * time.Second
	askAgain      = 10 // seconds, of one too many
)

// A live page is rendered once for each judgement, whoever looks at it, and
// streamed to those who stay, the same bytes to all.
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
	if err == nil {
		err = p.follow(l.page)
	}
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
// "page" for each judgement, with the parts that are not as they were before.
func (l *live) events(w http.ResponseWriter, r *http.Request) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	default:
		w.Header().Set("Retry-After", strconv.Itoa(askAgain))
		plain(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are live already", maxStreams))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	ending, _ := r.Context().Value(shutdown{}).(chan struct{}) // nil in a test without a server
	seen := 0
	for {
		if p, err := l.current(); err == nil && p.number != seen {
			if control.SetWriteDeadline(time.Now().Add(eventPatience)) != nil || send(w, p.event(seen)) != nil || control.Flush() != nil {
				return
			}
			seen = p.number
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

func send(w http.ResponseWriter, event []byte) error {
	_, err := w.Write(event)
	return err
}

// follow numbers the page as the one after last, which may be nil, and writes its events.
func (p *page) follow(last *page) error {
	p.number = 1
	changed := &page{Title: p.Title, Time: p.Time, Parts: p.Parts}
	if last != nil {
		p.number = last.number + 1
		changed.Parts = slices.DeleteFunc(slices.Clone(p.Parts), func(part part) bool { return slices.Contains(last.Parts, part) })
	}
	var errs [2]error
	p.whole, errs[0] = encode(p)
	p.changed, errs[1] = encode(changed)
	return errors.Join(errs[:]...)
}

// event is what a stream is sent that saw page number seen last: what changed
// since then, where that was the page before, or everything.
func (p *page) event(seen int) []byte {
	if seen == p.number-1 {
		return p.changed
	}
	return p.whole
}

func encode(p *page) ([]byte, error) {
	text, err := json.Marshal(p)
	return fmt.Appendf(nil, "event: page\ndata: %s\n\n", text), err // JSON has no line breaks
}
