// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"math"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
	"github.com/prometheus/client_golang/prometheus"
)

// Options are what an Engine is made with.
type Options struct {
	Host       *probes.Host
	Collectors []Collector
	Config     *config.Config
	Budget     Budget
	// Window replaces each check's own window; for one-shot judgements.
	Window time.Duration
	// Replay is for Engine.Replay: a recording's time is the machine's, and
	// begins now.
	Replay bool
	// Only and Skip are globs over check names.
	Only, Skip []string
	// Log is called when a unit's state changes. Nil is silence.
	Log func(problem string, gone bool)
}

const (
	judgeEvery   = time.Second
	judgeMost    = 5 * time.Second
	keepEnded    = time.Minute // a finding is shown for so long after its condition ended
	gapPeriods   = 10          // a pause of so many judgements starts all histories anew
	firstPatient = 200 * time.Millisecond
	stopPatience = time.Second

	inventoryPatience = 20 * time.Second
)

// An Engine runs collectors on a host and judges what they read.
type Engine struct {
	options  Options
	clock    *clock
	epoch    time.Time // wall time of the clock's zero; zero for a recording without one
	runners  []runner
	config   atomic.Pointer[config.Config]
	load     atomic.Uint64
	state    atomic.Pointer[State]
	changed  chan struct{} // the inventory is new
	ready    chan struct{} // closed with the first judgement
	judged   func(*State)  // nil, or told of each
	lastStep time.Duration
	period   time.Duration // between judgements
	cost     time.Duration // of a judgement, smoothed
	tree     *topo.Tree    // of the newest inventory and plan
	treeOf   *probes.Inventory
	treePlan *config.Config
	memory   map[string]*remembered // findings by check and subject
	problems map[problem]bool

	docs  [][][]MetricDoc // a collector's tables' metrics
	descs [][]tableDescs
	self  selfMetrics
}

// A State is everything that views show of one judgement. It is never changed.
type State struct {
	View     *View
	Findings []Finding
	sheets   [][]sheet // a collector's tables
	stats    []stats
}

// remembered is what the engine keeps of a finding between judgements.
type remembered struct {
	finding Finding
	since   time.Duration // of the status
	badFrom time.Duration // since when the condition holds; -1: it does not
	bad     Finding       // the newest one that alarmed
	badAt   time.Duration // when it was last true; -1: never
	seen    time.Duration
}

// NewEngine makes an engine; it does nothing until Run or Play.
func NewEngine(o Options) *Engine {
	if o.Config == nil {
		o.Config = &config.Config{}
	}
	o.Budget = o.Budget.or(budgetOf(o.Config.Budget)).or(DefaultBudget())
	e := &Engine{options: o, clock: &clock{time.Now()}, changed: make(chan struct{}, 1), ready: make(chan struct{}), memory: map[string]*remembered{}, problems: map[problem]bool{}}
	e.epoch = e.clock.start
	if o.Host.Recorded() && !o.Replay {
		e.epoch = time.Time{}
		if m := o.Host.Manifest(); m != nil {
			e.epoch = m.Time
		}
	}
	e.config.Store(o.Config)
	e.self = newSelfMetrics()
	for _, c := range o.Collectors {
		name := c.Doc().Name
		e.docs, e.descs = append(e.docs, c.Doc().tables), append(e.descs, newDescs(c.Doc()))
		e.runners = append(e.runners, c.start(setting{
			every:  o.interval(name),
			window: o.Window,
			host:   o.Host, clock: e.clock,
			meter: func() *meter { return e.newMeter(name) },
		}))
	}
	return e
}

// interval is how often a collector is read; zero is as its Spec says.
func (o *Options) interval(collector string) time.Duration {
	if o.Replay {
		return slowest(o.Host.Marks())
	}
	return o.Config.Collectors[collector].Interval
}

func (e *Engine) newMeter(name string) *meter {
	return &meter{
		budget: e.options.Budget, load: &e.load,
		histo:  e.self.reads.WithLabelValues(name),
		errors: func(reason string) { e.self.errors.WithLabelValues(name, reason).Inc() },
	}
}

// SetConfig puts a new configuration in force, with what the host now
// excludes. Running readers and their histories go on; intervals stay as they were.
func (e *Engine) SetConfig(c *config.Config) {
	e.config.Store(c)
	e.options.Host.Wake()
	e.poke()
}

// poke makes Run look at the inventory anew.
func (e *Engine) poke() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// State gives the newest judgement, or nil before the first.
func (e *Engine) State() *State { return e.state.Load() }

// Ready is closed with the first judgement.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// wants says whether the options let a check be judged.
func (e *Engine) wants(check string) bool {
	match := func(glob string) bool { ok, _ := path.Match(glob, check); return ok }
	if slices.ContainsFunc(e.options.Skip, match) {
		return false
	}
	return len(e.options.Only) == 0 || slices.ContainsFunc(e.options.Only, match)
}

// view shows the machine at a moment, as yet without readings.
func (e *Engine) view(at time.Duration) *View {
	inv, c := e.options.Host.Inventory(), e.config.Load()
	if e.tree == nil || e.treeOf != inv || e.treePlan != c {
		e.tree, e.treeOf, e.treePlan = topo.New(inv, c.Plan), inv, c
	}
	return &View{
		At: at, Inventory: inv, Topology: e.tree, Manifest: e.options.Host.Manifest(),
		Recorded: e.options.Host.Recorded(),
		Excludes: e.options.Host.Excludes(),
		Still:    e.options.Host.Recorded() && len(e.options.Host.Marks()) == 1,
		readings: map[string]any{}, config: c,
	}
}

// A pace is how time passes for an engine.
type pace uint8

const (
	live     pace = iota // readers run by themselves, and what is too old is not believed
	played               // through a recording at once: it is judged over all of its length
	replayed             // through a recording in real time: judged as live
)

// judge looks at the newest readings, judges them and publishes the outcome.
func (e *Engine) judge(at time.Duration, p pace) {
	v := e.view(at)
	if p == live && e.lastStep > 0 && at-e.lastStep > gapPeriods*max(e.period, e.judgePeriod()) {
		e.forget()
	}
	e.lastStep = at
	s := &State{View: v}
	for _, r := range e.runners {
		r.publish(v, p != live)
	}
	var list []judged
	o := over{window: e.options.Window, all: p == played}
	for _, r := range e.runners {
		sheets, more := r.step(v, e.wants, o)
		s.sheets, list = append(s.sheets, sheets), append(list, more...)
		s.stats = append(s.stats, r.stats(at, p != live))
	}
	s.Findings = e.remember(list, at, p != played)
	e.balance(s.stats)
	e.logProblems(s.stats)
	if e.judged != nil {
		e.judged(s)
	}
	if e.state.Swap(s) == nil {
		close(e.ready)
	}
}

// Follow has f called with each state before it is shown, by the goroutine that
// judges: it is to be quick. It is set before the engine runs.
func (e *Engine) Follow(f func(*State)) { e.judged = f }

// balance tells the units how far all of them together are over the budget.
func (e *Engine) balance(all []stats) {
	sum := 0.0
	for _, s := range all {
		sum += s.demand
	}
	e.load.Store(math.Float64bits(sum))
}

// Register adds the engine to a registry.
func (e *Engine) Register(r prometheus.Registerer) error { return r.Register(e) }
