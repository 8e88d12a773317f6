// SPDX-License-Identifier: Apache-2.0

package web

import (
	"maps"
	"net/http"
	"sync"

	"github.com/fabricd/fabricd/collectors"
)

// mostKept bounds the kinds of answers: clients choose the headers.
const mostKept = 16

// kept gives each client of the same wishes the same answer, until there is a
// new judgement: a recording has one in ten seconds, and its answers are costly.
type kept struct {
	engine *collectors.Engine
	next   http.Handler

	mu      sync.Mutex
	state   *collectors.State
	answers map[string]*answer
}

// ServeHTTP implements http.Handler.
func (k *kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := k.answer(r)
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.code)
	w.Write(a.body.Bytes()) //nolint:errcheck // the client went away
}

func (k *kept) answer(r *http.Request) *answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if state := k.engine.State(); state != k.state || len(k.answers) >= mostKept {
		k.state, k.answers = state, map[string]*answer{}
	}
	key := r.URL.RawQuery + "\n" + r.Header.Get("Accept") + "\n" + r.Header.Get("Accept-Encoding")
	a := k.answers[key]
	if a == nil {
		a = &answer{header: http.Header{}, code: http.StatusOK}
		k.next.ServeHTTP(a, r)
		k.answers[key] = a
	}
	return a
}
