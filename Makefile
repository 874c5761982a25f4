# Start with make run and make test.

version := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
commit := $(shell TZ=UTC git log -1 --format='%H %cd' --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
ldflags := -s -w -X main.version=$(version) -X main.commit=$(word 1,$(commit)) -X main.commitDate=$(word 2,$(commit))
export GOFLAGS ?= -buildvcs=false -trimpath
export CGO_ENABLED ?= $(if $(filter Darwin,$(shell uname -s)),1,0)

.DEFAULT_GOAL := build
.PHONY: run build daemon window ui stats test test-all test-rest test-unit test-page test-smoke test-race test-simulation test-faults test-e2e test-browser test-windows lint bench docs fuzz soak package reproduce fmt dev icons test-mcp-server clean

run: ## build and start with a demo server, data in .run/; open the window or print the address
	@build/run.sh

build: ui daemon window ## build/bin/drawbridge, and build/bin/drawbridge-window if the GTK and WebKit headers are installed

daemon: | frontend/dist/index.html
	go build -trimpath -ldflags '$(ldflags)' -o build/bin/drawbridge ./app/drawbridge

window:
	@version=$(version) build/window.sh

ui: ## build the page that the daemon serves
	@build/setup.sh ui
	npm --prefix frontend run build

frontend/dist/index.html:
	@$(MAKE) ui

test: ## run the fast tests (minutes; needs only Go, Node and npm)
	@build/test.sh fast

test-all: ## run all tests; installs what they need
	@build/test.sh fast rest

test-rest: ## run the tests of make test-all that are not in make test
	@build/test.sh rest

test-unit test-page test-smoke test-race test-simulation test-faults test-e2e test-browser test-windows lint: ## run one stage
	@build/test.sh $(@:test-%=%)

rows ?= 1000000
bench: daemon ## run the benchmarks; writes build/bench/README.md (peers=1: only compare with other programs, which npm installs)
ifdef peers
	CGO_ENABLED=0 go run ./build/bench -peers -o build/bench/README.md
else
	CGO_ENABLED=0 go run ./build/bench -o build/bench/README.md
	go test -run '^$$' -bench . -benchmem ./backend/... ./config
	DRAWBRIDGE_LARGE_ROWS=$(rows) CGO_ENABLED=0 go test -count 1 -tags large -run LargeHistory -v -timeout 2h ./backend/store
endif

soak: ## run the soak tests for hours: kills, restarts, a million calls under load (parts=kills|restarts|history|load|sandbox|faults|simulation)
	@build/soak.sh $(parts)

package: ## build .deb, .rpm, Arch and tar.gz packages, and a zip and an installer for Windows, in build/bin/package
	build/package.sh

reproduce: ## build the packages of this commit twice, in different folders, and compare them (many minutes)
	build/reproduce.sh

docs: ## generate the references and the list of licences
	go run ./build/docs

time ?= 30s
fuzz: ## run every fuzz test for a time: make fuzz time=5m
	build/fuzz.sh $(time)

stats: ## print the size and the shape of the source code
	@go run ./build/stats

fmt:
	gofmt -w app backend build config frontend/*.go main.go
	npm --prefix frontend run fmt

dev: ## serve the page with hot reload, with a running daemon; see docs/CONTRIBUTING.md
	npm --prefix frontend run dev

test-mcp-server: daemon ## run the demo server over HTTP on 127.0.0.1:8888
	build/bin/drawbridge demo-server --http 127.0.0.1:8888

icons: ## generate the PNG and ICO files from the SVG files
	@build/setup.sh e2e
	node build/icons/render.mjs

clean:
	rm -rf build/bin build/stage build/e2e/output .run
