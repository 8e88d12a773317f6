// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// A stuck client takes the headers and then reads nothing.
type stuck struct {
	*httptest.ResponseRecorder
	begun   chan []byte // what it is to read
	release chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	s.begun <- b
	<-s.release
	return len(b), nil
}

// Clients that do not read lock nobody out, and what they are going to read is
// not written over meanwhile.
func TestStuckClients(t *testing.T) {
	_, h := site(t, "h200-vm-idle.txtar")
	for _, path := range []string{"/metrics", "/metrics?library"} {
		release := make(chan struct{})
		var clients sync.WaitGroup
		var bodies, copies [][]byte
		for range 3 * maxScrapes {
			s := &stuck{httptest.NewRecorder(), make(chan []byte), release}
			clients.Go(func() { h.ServeHTTP(s, httptest.NewRequest(http.MethodGet, path, nil)) })
			b := <-s.begun
			bodies, copies = append(bodies, b), append(copies, bytes.Clone(b))
		}
		if code := get(h, path).Code; code != http.StatusOK {
			t.Errorf("%s: %d while others do not read", path, code)
		}
		for i := range bodies {
			if !bytes.Equal(bodies[i], copies[i]) {
				t.Fatalf("%s: what client %d is to read has changed", path, i)
			}
		}
		close(release)
		clients.Wait()
	}
}

// Many scrapes at once are all answered: they wait for one another.
func TestManyScrapes(t *testing.T) {
	s, _ := site(t, "h200-vm-idle.txtar")
	all, rest, err := s.registries()
	if err != nil {
		t.Fatal(err)
	}
	h := newMetrics(s.Engine, all, rest, nil)
	h.patience = time.Minute // the race detector takes its time
	var scrapes sync.WaitGroup
	for range 100 {
		scrapes.Go(func() {
			if code := get(h, "/metrics", "Accept-Encoding", "gzip").Code; code != http.StatusOK {
				t.Errorf("answered with %d", code)
			}
		})
	}
	scrapes.Wait()
}

// There is an end to what is held in memory for clients that do not read.
func TestHeldIsBounded(t *testing.T) {
	m := &metrics{held: make(chan struct{}, 1), slots: make(chan struct{}, 1)}
	m.held <- struct{}{}
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("answered with %d", w.Code)
	}
}
