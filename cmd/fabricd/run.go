// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/cmd/internal/web"
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// runFlags are those of the daemon.
type runFlags struct {
	web                 *toolkit.FlagConfig
	logLevel, logFormat string
	checkOnly           bool
	fleet               string
	announce            bool
}

func (a *app) runCommand() {
	var f runFlags
	c := a.command("run", "Run the daemon: read, judge, and serve /metrics and findings. With --host it plays a recording in real time, as if it ran there.", func() error { return a.run(&f) }).Default()
	f.register(c)
	c.Flag("collector.lldp.send", "Announce this machine on its Ethernet ports with link by LLDP, every 30 s, and take it back at the end.").BoolVar(&f.announce)
	c.Flag("fleet", "Play all recordings (*.txtar) of a directory, each as a node of its own at /NAME/; /targets lists them for Prometheus' http_sd_configs.").PlaceHolder("DIR").StringVar(&f.fleet)
}

func (f *runFlags) register(c *kingpin.CmdClause) {
	f.web = kingpinflag.AddFlags(c, ":9794")
	enumVar(c.Flag("log.level", "Log from this level on: info, debug, warn or error."), "--log.level", &f.logLevel, "info", "debug", "warn", "error")
	enumVar(c.Flag("log.format", "text or json."), "--log.format", &f.logFormat, "text", "json")
	c.Flag("config.check", "Check the configuration file and exit.").BoolVar(&f.checkOnly)
}

// noStacks is above all levels: an error is about the machine or its
// configuration, where a stack of this program explains nothing.
const noStacks = slog.Level(math.MaxInt)

// logger makes the daemon's log on standard error.
func (a *app) logger(f *runFlags) *slog.Logger {
	level := zap.NewAtomicLevel()
	level.UnmarshalText([]byte(f.logLevel)) //nolint:errcheck // the flag is an enumeration
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.RFC3339TimeEncoder
	encoder := zapcore.NewConsoleEncoder(encoding)
	if f.logFormat == "json" {
		encoder = zapcore.NewJSONEncoder(encoding)
	}
	return slog.New(zapslog.NewHandler(zapcore.NewCore(encoder, zapcore.AddSync(a.stderr), level), zapslog.AddStacktraceAt(noStacks)))
}

func (a *app) run(f *runFlags) error {
	if f.checkOnly {
		return a.checkConfig()
	}
	if err := toolkit.Validate(*f.web.WebConfigFile); err != nil {
		return usage("--web.config.file: %s", oneLine(err))
	}
	if err := f.checkAddresses(); err != nil {
		return err
	}
	log := a.logger(f)
	if f.fleet != "" || a.host.recording != "" {
		return a.replay(f, log)
	}
	a.announce = f.announce
	h, c, err := a.open()
	if err != nil {
		return err
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: a.enabled(c), Config: c, Log: func(problem string, gone bool) {
		if gone {
			log.Info("well again", "was", problem)
		} else {
			log.Warn("a source gives trouble", "what", problem)
		}
	}})
	site := &web.Site{Host: hostName(h), Version: version, Engine: e}
	pages, err := site.Handler(errorLog{log})
	if err != nil {
		return err
	}
	log.Info("fabricd starts", "version", version, "pid", os.Getpid())
	return serve(pages, f, log, e.Run, func() { a.reload(e, h, log) })
}

// checkAddresses refuses addresses at which nothing could listen, before
// anything is said to start.
func (f *runFlags) checkAddresses() error {
	for _, address := range *f.web.WebListenAddresses {
		if strings.HasPrefix(address, "vsock://") {
			continue
		}
		if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
			return usage("--web.listen-address %q: %s", address, oneLine(err))
		}
	}
	return nil
}

// checkConfig is --config.check.
func (a *app) checkConfig() error {
	if a.host.configFile == "" {
		return usage("--config.check needs --config.file")
	}
	c, err := a.loadConfig(nil)
	if err == nil {
		err = a.readCables(c, "localhost")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s is valid\n", a.host.configFile)
	return err
}

// errorLog takes what the metrics handler has to say.
type errorLog struct{ *slog.Logger }

func (l errorLog) Println(v ...any) { l.Error("metrics", "error", fmt.Sprint(v...)) }

const shutdownPatience = 2 * time.Second

// reloadOn reloads at each signal, beside all else: the file may be on a
// file system that hangs.
func reloadOn(ctx context.Context, hup <-chan os.Signal, reload func()) {
	for {
		select {
		case <-hup:
			reload()
		case <-ctx.Done():
			return
		}
	}
}

// serve serves pages of what work does, until a signal ends both.
func serve(pages http.Handler, f *runFlags, log *slog.Logger, work func(context.Context), reload func()) error {
	server := web.NewServer(pages)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	failed := make(chan error, 1)
	go func() { failed <- toolkit.ListenAndServe(server, f.web, log) }()
	ended := make(chan struct{})
	go func() { work(ctx); close(ended) }()
	go reloadOn(ctx, hup, reload)
	for {
		select {
		case err := <-failed:
			stop()
			<-ended
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return cannotServe(err)
		case <-ctx.Done():
			log.Info("fabricd ends")
			ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
			defer cancel()
			server.Shutdown(ctx) //nolint:errcheck // what is left is cut off
			<-ended
			return nil
		}
	}
}

func cannotServe(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return usage("cannot serve: %s (another fabricd, or another program, at this address? see --web.listen-address)", oneLine(err))
	}
	return usage("cannot serve: %s", oneLine(err))
}

// oneLine joins the lines of an error; YAML's has one for each mistake. What a server
// says in it does not reach the terminal as it is.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return probes.Printable(strings.Join(parts, " "))
}

// reload reads the configuration file again. A bad one changes nothing.
func (a *app) reload(e *collectors.Engine, h *probes.Host, log *slog.Logger) {
	var c *config.Config
	c, err := a.loadConfig(nil)
	if err == nil {
		err = checkExcludes(c.Devices.Exclude)
	}
	if err == nil {
		err = a.readCables(c, hostName(h))
	}
	if err != nil {
		log.Error("configuration not reloaded; the old one stays in force", "error", err)
		return
	}
	h.SetExclude(append(a.host.exclude[:len(a.host.exclude):len(a.host.exclude)], c.Devices.Exclude...))
	e.SetConfig(c)
	log.Info("configuration reloaded; collectors' intervals and switches change at a restart", "file", a.host.configFile)
}
