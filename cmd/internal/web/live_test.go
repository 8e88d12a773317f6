// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serve lets a site answer on a real connection; what the tests end is the server.
func serve(t *testing.T, name string) (*Site, *http.Server, string) {
	t.Helper()
	s, _ := site(t, name)
	pages, err := s.Handler(log.New(io.Discard, "", 0))
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(pages)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l) //nolint:errcheck // ends with the test
	t.Cleanup(func() { server.Close() })
	return s, server, "http://" + l.Addr().String()
}

// event reads the next event of a stream.
func event(t *testing.T, r *bufio.Reader) page {
	t.Helper()
	var p page
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &p); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
}

func stream(t *testing.T, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// A page that stays open is sent everything once, then what changes.
func TestEvents(t *testing.T) {
	t.Parallel()
	s, server, url := serve(t, "meta-8hca-downgraded.txtar")
	again := func() {
		if err := s.Engine.Play(); err != nil {
			t.Fatal(err)
		}
	}
	again() // from now on there is a history
	answer := stream(t, url)
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("%s %s", answer.Status, kind)
	}
	r := bufio.NewReader(answer.Body)
	first := event(t, r)
	if len(first.Parts) != len(parts()) || !strings.Contains(string(first.Parts[1].HTML), "pcie_speed") || !strings.HasPrefix(first.Title, "fail · node-1") {
		t.Errorf("%s with %d parts", first.Title, len(first.Parts))
	}
	again()
	if next := event(t, r); len(next.Parts) != 0 {
		t.Errorf("sent, though the same as before: %v", next.Parts)
	}
	done := make(chan error, 1)
	go func() { done <- server.Shutdown(t.Context()) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("an open page keeps the server from ending")
	}
}

// Hundreds of streams are served, one more is told when to ask again, and one that ends makes room.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	_, _, url := serve(t, "dgx-gb10.txtar")
	var open []*http.Response
	for range maxStreams {
		answer := stream(t, url)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %s", len(open), answer.Status)
		}
		open = append(open, answer)
	}
	over := stream(t, url)
	text, _ := io.ReadAll(over.Body)
	if over.StatusCode != http.StatusServiceUnavailable || over.Header.Get("Retry-After") != "10" || string(text) != "512 pages are live already\n" {
		t.Fatalf("one more than %d: %s %q, %v", maxStreams, over.Status, text, over.Header)
	}
	if p := event(t, bufio.NewReader(open[maxStreams-1].Body)); len(p.Parts) != len(parts()) {
		t.Errorf("the last of many was sent %d parts", len(p.Parts))
	}
	open[0].Body.Close()
	for deadline := time.Now().Add(20 * time.Second); stream(t, url).StatusCode != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("a stream that ended is not forgotten")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A stream is sent what changed since the page that it saw, and everything
// where that was not the page before.
func TestFollow(t *testing.T) {
	pages := []*page{
		{Parts: []part{{"head", "1"}, {"act", "a"}}},
		{Parts: []part{{"head", "2"}, {"act", "a"}}},
		{Parts: []part{{"head", "2"}, {"act", "b"}}},
	}
	for i, p := range pages {
		var last *page
		if i > 0 {
			last = pages[i-1]
		}
		if err := p.follow(last); err != nil {
			t.Fatal(err)
		}
	}
	const both = `"parts":[{"id":"head","html":"2"},{"id":"act","html":"b"}]`
	for seen, want := range []string{both, both, `"parts":[{"id":"act","html":"b"}]`} {
		if text := string(pages[2].event(seen)); text != "event: page\ndata: {\"title\":\"\","+want+"}\n\n" {
			t.Errorf("who saw page %d is sent %q", seen, text)
		}
	}
}

// The page's own files are there, and no others.
func TestAssets(t *testing.T) {
	t.Parallel()
	_, h := site(t, "dgx-gb10.txtar")
	for path, want := range map[string]string{
		"/assets/style.css": "text/css; charset=utf-8", "/assets/live.js": "text/javascript; charset=utf-8", "/assets/icon.svg": "image/svg+xml",
	} {
		if a := get(h, path); a.Code != http.StatusOK || a.Header().Get("Content-Type") != want {
			t.Errorf("%s: %d %s", path, a.Code, a.Header().Get("Content-Type"))
		}
	}
	for _, path := range []string{"/assets/page.html", "/assets/", "/assets"} {
		if a := get(h, path); a.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.Code)
		}
	}
}

// What a judgement's first reader costs, and each other one.
func BenchmarkPage(b *testing.B) {
	s, h := site(b, "hgx-h100-8gpu.txtar")
	pages, err := template.ParseFS(files, "assets/page.html")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.render(pages); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			get(h, "/")
		}
		b.ReportMetric(float64(get(h, "/").Body.Len()), "bytes/page")
	})
}
