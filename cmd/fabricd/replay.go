// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/fabricd/fabricd/cmd/internal/replay"
)

// replay is run on recordings: one as the daemon itself, or a fleet of them.
func (a *app) replay(f *runFlags, log *slog.Logger) error {
	pages, work, err := a.recorded(f, log)
	if err != nil {
		return err
	}
	return serve(pages, f, log, work, func() { log.Warn("a replay does not reload its configuration: start it anew") })
}

// recorded gives what is served, and what has to run for it.
func (a *app) recorded(f *runFlags, log *slog.Logger) (http.Handler, func(context.Context), error) {
	failed := func(name string, err error) { log.Error("the recording cannot go on", "node", name, "error", err) }
	if f.fleet == "" {
		node, err := a.node(a.host.recording, log)
		if err != nil {
			return nil, nil, err
		}
		log.Info("fabricd plays a recording", "version", version, "file", a.host.recording)
		return node, func(ctx context.Context) {
			if err := node.Run(ctx); err != nil {
				failed(node.Name, err)
			}
		}, nil
	}
	if a.host.recording != "" {
		return nil, nil, usage("--fleet plays all recordings of a directory: it takes no --host")
	}
	nodes, err := a.fleet(f.fleet, log)
	if err != nil {
		return nil, nil, err
	}
	fleet, err := replay.NewFleet(nodes)
	if err != nil {
		return nil, nil, usage("--fleet %s: %w", f.fleet, err)
	}
	log.Info("fabricd plays recordings", "version", version, "directory", f.fleet, "nodes", len(nodes))
	return fleet.Handler(), func(ctx context.Context) { fleet.Run(ctx, failed) }, nil
}

// fleet opens the recordings of a directory. Links to one file are names of
// one node, so that a thousand nodes need not be a thousand files.
func (a *app) fleet(dir string, log *slog.Logger) (map[string]*replay.Node, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		return nil, usage("--fleet %s: there are no recordings (*.txtar)", dir)
	}
	nodes, byFile := map[string]*replay.Node{}, map[string]*replay.Node{}
	for _, name := range files {
		file, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil, usage("--fleet: %w", err)
		}
		if byFile[file] == nil {
			if byFile[file], err = a.node(file, log); err != nil {
				return nil, err
			}
		}
		nodes[nodeName(name)] = byFile[file]
	}
	return nodes, nil
}

func nodeName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// node opens a recording as a node.
func (a *app) node(file string, log *slog.Logger) (*replay.Node, error) {
	h, c, err := a.openHost(file)
	if err != nil {
		return nil, err
	}
	n := &replay.Node{Name: nodeName(file), Version: version, Host: h, Config: c, Collectors: a.enabled(c), Log: errorLog{log}}
	return n, n.Start()
}
