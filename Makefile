# SPDX-License-Identifier: Apache-2.0
#
# The commands that matter: `make run`, `make demo` and `make test`. `make help` lists the others.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Given to the test programs, as in: make race TESTFLAGS='-v -run Walls'
TESTFLAGS ?=
# Given to the daemon, as in: make run ARGS='--web.listen-address=:9000'
ARGS ?=
# Given to the demonstration, as in: make demo DEMOFLAGS=-prometheus=127.0.0.1:9091
DEMOFLAGS ?=
# The machine that make lab-shell boots, and how many of the scenario's steps have happened there.
SCENARIO ?= healthy
STEPS    ?= 0

# The same for every command but the race detector's, so that the standard library and all else is compiled once.
export CGO_ENABLED := 0
# What is compiled with cgo: NVIDIA's header marks as deprecated what older drivers need.
export CGO_CFLAGS  := -O2 -g -Wno-deprecated-declarations
export GOFLAGS     := -trimpath -buildvcs=false $(GOFLAGS)

LINK        := -s -w -X main.version=$(VERSION)
LDFLAGS     := -ldflags "$(LINK)"
STATICCHECK := $(GO) run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck

# deploy/prometheus: *_test.yml are promtool's unit tests, prometheus.yml is a scrape configuration, the others are rules.
PROM       := $(wildcard deploy/prometheus/*.yml)
PROM_TESTS := $(filter %_test.yml,$(PROM))
PROM_CONF  := $(filter %/prometheus.yml,$(PROM))
PROM_RULES := $(filter-out $(PROM_TESTS) $(PROM_CONF),$(PROM))

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: build fabricd-nvml run test deps fmt vet race lint generate objects generated rules e2e e2e-latest demo modules cross lab lab-shell bench golden cover clean help

build: ## build the static daemon: ./fabricd
	$(GO) build $(LDFLAGS) -o fabricd ./cmd/fabricd

# The driver's library is looked for when it runs, and its functions when they are called: no driver has them all.
fabricd-nvml: ## build the program that asks NVIDIA's driver, which needs a C compiler: ./fabricd-nvml
	CGO_ENABLED=1 $(GO) build -ldflags "$(LINK) -extldflags=-Wl,-z,lazy" -o fabricd-nvml ./cmd/fabricd-nvml

run: build ## build the daemon and run it on this machine (http://localhost:9794)
	./fabricd run $(ARGS)

test: deps fmt vet race lint generated rules e2e modules cross lab ## everything that CI asks for, on a bare Debian 12 with Go
	@echo "make test: all passed"

deps: ## install what the tests need (apt, as root), or say what is missing
	@scripts/deps

fmt: ## fail if a file is not gofmt's
	@out=$$(gofmt -l .) && if [ -n "$$out" ]; then echo "not formatted, run 'gofmt -w' on:" >&2; echo "$$out" >&2; exit 1; fi

vet: ## go vet
	$(GO) vet ./...
	CGO_ENABLED=1 $(GO) vet ./cmd/fabricd-nvml

lint: ## staticcheck, and the walls between packages (internal/walls)
	$(STATICCHECK) ./...
	CGO_ENABLED=1 $(STATICCHECK) ./cmd/fabricd-nvml
	$(GO) test ./internal/walls

race: ## all tests of the daemon's module with the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout=30m $(TESTFLAGS) ./...

generate: build ## write the manuals, the dashboards and the README's blocks anew
	scripts/replace docs/metrics.md ./fabricd manual metrics
	scripts/replace docs/checks.md ./fabricd manual checks
	scripts/replace docs/fabricd.yaml ./fabricd manual config
	$(GO) -C dashboards run . -o .
	$(GO) -C tools run ./readme ../README.md

objects: ## compile the programs that run in the kernel anew (bpf/), with Debian 12's clang
	$(GO) generate ./bpf

generated: ## fail if `make generate` changes anything
	@scripts/generated

rules: ## Prometheus rules: syntax and unit tests
	$(if $(PROM_CONF),promtool check config --syntax-only $(PROM_CONF))
	promtool check rules $(PROM_RULES)
	promtool test rules $(PROM_TESTS)

e2e: ## Prometheus and Alertmanager watch a daemon and a fleet of recorded nodes: just the right alerts fire
	$(GO) test ./cmd/fabricd -run '^TestAlerts$$' -e2e -count=1 $(TESTFLAGS)

# The newest Prometheus is built from its module once: ten minutes on two cores.
LATEST := v0.316.0
.cache/prometheus-$(LATEST)/prometheus:
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/prometheus/prometheus/cmd/prometheus@$(LATEST)

e2e-latest: .cache/prometheus-$(LATEST)/prometheus ## the same with the newest Prometheus and native histograms
	PROMETHEUS=$(CURDIR)/$< NATIVE_HISTOGRAMS=on $(GO) test ./cmd/fabricd -run '^TestAlerts$$' -e2e -count=1 $(TESTFLAGS)

demo: build ## a Prometheus watches recorded nodes on which faults come and go: see an alert fire, its finding, its clearing
	$(GO) -C tools run ./demo $(DEMOFLAGS) $(CURDIR)

modules: ## the modules beside the daemon's: dashboards, tools
	$(GO) -C dashboards vet ./...
	$(GO) -C dashboards test $(TESTFLAGS) ./...
	$(GO) -C tools vet ./...
	$(GO) -C tools test $(TESTFLAGS) ./...

cross: ## static programs for both architectures, under dist/
	GOOS=linux GOARCH=amd64 $(GO) build $(LDFLAGS) -o dist/linux-amd64/ ./cmd/fabricd
	GOOS=linux GOARCH=arm64 $(GO) build $(LDFLAGS) -o dist/linux-arm64/ ./cmd/fabricd

# Last, and alone on the machine: two of its machines have a processor each on a host of two.
lab: ## fabricd on a real kernel with simulated hardware, in QEMU (docs/lab.md); skipped with the reason where there can be none
	$(GO) test ./lab -lab -count=1 -parallel=2 -timeout=45m -v $(TESTFLAGS)

lab-shell: ## a shell in one of the lab's machines: make lab-shell SCENARIO=healthy (STEPS=1: after its first step)
	$(GO) run ./lab/shell -scenario=$(SCENARIO) -steps=$(STEPS)

bench: ## all benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

golden: ## write the golden files anew, in the packages whose tests know -update; then read the diff
	@dirs=$$(grep -rlE --include='*_test.go' 'flag\.Bool(Var)?\(.*"update"' . | xargs -r -n1 dirname | sort -u); \
	if [ -z "$$dirs" ]; then echo "no test has a flag -update" >&2; exit 1; fi; \
	set -x; $(GO) test $$dirs -update

cover: ## coverage of all packages by all tests, the total last
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -n 1

clean: ## remove what was built
	rm -rf fabricd fabricd-nvml dist cover.out

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14
