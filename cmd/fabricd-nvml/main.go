// SPDX-License-Identifier: Apache-2.0

//go:build cgo

// Command fabricd-nvml asks NVIDIA's driver what fabricd wants to know. It is
// a program of its own, since the driver's library can block or kill whoever
// calls it: fabricd starts it, asks by lines of JSON on its standard input,
// takes the answers from its standard output, and goes on without it.
//
// It can be asked by hand:
//
//	echo '{"id": 1, "kind": "snapshot"}' | fabricd-nvml
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/fabricd/fabricd/probes/gpu"
)

// version is set by the linker.
var version = "devel"

const exitInternal = 70

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, in io.Reader, out, complaints io.Writer) int {
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	if len(args) > 0 {
		switch args[0] {
		case "--version":
			fmt.Fprintln(out, "fabricd-nvml", version)
			return 0
		case gpu.ProbeGDR:
			if err := register(in, answers); err != nil {
				fmt.Fprintln(complaints, err)
				return exitCode(err)
			}
			return 0
		}
		fmt.Fprintln(complaints, "fabricd-nvml takes no arguments; fabricd starts it. By hand: echo '{\"id\": 1, \"kind\": \"snapshot\"}' | fabricd-nvml")
		return gpu.ExitUsage
	}
	s := &server{out: answers}
	requests := make(chan []byte)
	go receive(in, requests, func() { os.Exit(0) })
	if err := s.serve(nvml.New(), os.DirFS(driverGPUs), requests); err != nil {
		fmt.Fprintln(complaints, err)
		return exitCode(err)
	}
	return 0
}

const (
	maxRequest = 1 << 20
	// lastWords is how long an answer may take after the end of input: by hand
	// the end comes at once. From fabricd it means that nobody listens.
	lastWords = 3 * time.Second
)

// receive hands over requests until the input ends, and then sees to it that
// the program does too: it may be inside a call that does not return.
func receive(in io.Reader, requests chan<- []byte, exit func()) {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxRequest)
	for s.Scan() {
		requests <- append([]byte(nil), s.Bytes()...)
	}
	close(requests)
	time.AfterFunc(lastWords, exit)
}

// A server answers requests.
type server struct {
	out     *json.Encoder
	session *session
	id      uint64 // of the request at hand
}

// serve answers until there are no more requests. An error ends the program:
// fabricd starts it anew.
func (s *server) serve(lib nvml.Interface, gpus fs.FS, requests <-chan []byte) error {
	if err := s.doing("initialisation"); err != nil {
		return err
	}
	var err error
	if s.session, err = open(lib, gpus); err != nil {
		return err
	}
	if err := s.out.Encode(gpu.Answer{Ready: &gpu.Ready{Protocol: gpu.Protocol, Driver: s.session.driver}}); err != nil {
		return err
	}
	for b := range requests {
		if err := s.answer(b); err != nil {
			return err
		}
	}
	return nil
}

// doing says what comes next.
func (s *server) doing(part string) error {
	return s.out.Encode(gpu.Answer{ID: s.id, Doing: part})
}

func (s *server) answer(b []byte) error {
	begin := time.Now()
	var r gpu.Request
	if err := json.Unmarshal(b, &r); err != nil {
		return s.out.Encode(gpu.Answer{Error: "not a request: " + err.Error()})
	}
	s.id = r.ID
	switch r.Kind {
	case gpu.AskSnapshot:
		o := round{at: begin, exclude: r.Exclude, without: r.Without, doing: s.doing}
		if r.DeadlineMS > 0 {
			o.until = begin.Add(time.Duration(r.DeadlineMS) * time.Millisecond / 2)
		}
		snapshot, err := s.session.snapshot(o)
		if err != nil {
			return err
		}
		return s.out.Encode(gpu.Answer{ID: r.ID, Snapshot: snapshot, SameLinks: !s.session.newLinks})
	case gpu.AskCosts:
		return s.out.Encode(gpu.Answer{ID: r.ID, Costs: s.session.costs})
	}
	return s.out.Encode(gpu.Answer{ID: r.ID, Error: fmt.Sprintf("no such question: %q", r.Kind)})
}
