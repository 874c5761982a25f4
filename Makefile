# make run and make test are all a newcomer needs.

version := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
ldflags := -s -w -X main.version=$(version)
export GOFLAGS ?= -buildvcs=false -trimpath
export CGO_ENABLED ?= $(if $(filter Darwin,$(shell uname -s)),1,0)

.DEFAULT_GOAL := build
.PHONY: run build daemon window ui test test-all test-rest test-unit test-page test-smoke test-race test-e2e test-browser lint bench docs fuzz soak package fmt dev icons test-mcp-server clean

run: ## build, start with a demo server and data in .run/, show the window or print the address
	@build/run.sh

build: ui daemon window ## build/bin/drawbridge, and build/bin/drawbridge-window where GTK and WebKit headers are

daemon: | frontend/dist/index.html
	go build -trimpath -ldflags '$(ldflags)' -o build/bin/drawbridge ./app/drawbridge

window:
	@version=$(version) build/window.sh

ui: ## the page that the daemon serves
	@build/setup.sh ui
	npm --prefix frontend run build

frontend/dist/index.html:
	@$(MAKE) ui

test: ## in minutes, with Go, Node and npm only: before each commit
	@build/test.sh fast

test-all: ## everything, and installs what that needs
	@build/test.sh fast rest

test-rest: ## what make test-all does beyond make test
	@build/test.sh rest

test-unit test-page test-smoke test-race test-e2e test-browser lint: ## one stage
	@build/test.sh $(@:test-%=%)

rows ?= 1000000
bench: daemon ## what a call costs against the floor (writes build/bench/README.md), and its parts
	CGO_ENABLED=0 go run ./build/bench -o build/bench/README.md
	go test -run '^$$' -bench . -benchmem ./backend/... ./config
	DRAWBRIDGE_LARGE_ROWS=$(rows) CGO_ENABLED=0 go test -count 1 -tags large -run LargeHistory -v -timeout 2h ./backend/store

soak: ## hours of what make test-all does for minutes: kills, restarts, a million calls under fire (parts=kills|restarts|history|fire)
	@build/soak.sh $(parts)

package: ## .deb, .rpm, Arch, tar.gz, and for Windows a zip and an installer, in build/bin/package
	build/package.sh

docs: ## the documents that say what the program itself knows, and the list of licences
	go run ./build/docs

time ?= 30s
fuzz: ## every fuzz test for a while: make fuzz time=5m
	build/fuzz.sh $(time)

fmt:
	gofmt -w app backend build config frontend/*.go main.go
	npm --prefix frontend run fmt

dev: ## the page with hot reload, against a running daemon; see docs/CONTRIBUTING.md
	npm --prefix frontend run dev

test-mcp-server: daemon ## the demo server over HTTP on 127.0.0.1:8888
	build/bin/drawbridge demo-server --http 127.0.0.1:8888

icons: ## the PNG and ICO files from the SVG files
	@build/setup.sh e2e
	node build/icons/render.mjs

clean:
	rm -rf build/bin build/stage build/e2e/output .run
