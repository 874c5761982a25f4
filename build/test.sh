#!/usr/bin/env bash
# make test: test.sh [lint] [go] [ui] [e2e], all of them by default. At the end stands
# how many tests ran. Time limits are asserted in the last stage alone, which runs one
# test at a time and without the race detector; with CI=true they are five times as long.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export GOFLAGS=${GOFLAGS:--buildvcs=false} # the version comes from the Makefile
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
counts=$work/counts
skipped=()
broken=()

stage() { printf '\n== %s\n' "$*"; }

# part STAGE runs it to its first failure, which lets the other stages run.
part() {
	local code
	set +e
	(set -e && "$1")
	code=$?
	set -e
	[ $code = 0 ] || broken+=("$1")
}

# setup TASK... returns 1 when something is missing and may be.
setup() {
	local code=0
	build/setup.sh "$@" || code=$?
	case $code in
	0) return 0 ;;
	3) return 1 ;;
	*) exit "$code" ;;
	esac
}

lint() {
	stage 'gofmt'
	local unformatted
	unformatted=$(gofmt -l app backend build config frontend/*.go main.go)
	if [ -n "$unformatted" ]; then
		printf 'not formatted (make fmt):\n%s\n' "$unformatted"
		exit 1
	fi
	stage 'go vet'
	CGO_ENABLED=0 go vet ./...
	CGO_ENABLED=0 go vet -tags e2e ./build/e2e
	CGO_ENABLED=0 go vet -tags large ./backend/store
	CGO_ENABLED=0 GOOS=windows go vet ./app/drawbridge ./backend/... ./config/...
	CGO_ENABLED=0 GOOS=darwin go vet ./app/drawbridge ./backend/... ./config/...
	stage 'staticcheck'
	CGO_ENABLED=0 go run "$staticcheck" ./...
	CGO_ENABLED=0 go run "$staticcheck" -tags e2e ./build/e2e
	stage 'build without cgo'
	CGO_ENABLED=0 go build ./...
	stage 'shell scripts'
	local script
	for script in build/*.sh .ci/run; do bash -n "$script"; done
}

go_() {
	stage 'go test -race'
	CGO_ENABLED=1 go test -race -json -timeout 15m ./... | go run ./build/tally go "$counts"
}

ui() {
	stage 'the page: biome, tsc, vitest'
	npm --prefix frontend run lint
	npm --prefix frontend run typecheck
	(cd frontend && npx --no-install vitest run --reporter=default --reporter=json --outputFile.json="$work/vitest.json") || true
	go run ./build/tally vitest "$counts" "$work/vitest.json" # says whether they passed
}

e2e() {
	stage 'end to end'
	make --no-print-directory build
	CGO_ENABLED=0 go test -tags e2e -json -timeout 25m -parallel 1 ./build/e2e | go run ./build/tally go "$counts"
}

browser() {
	stage 'the page in a browser, every state of it'
	npm --prefix frontend run e2e
}

[ $# -gt 0 ] || set -- lint go ui e2e

stage 'set up'
build/setup.sh ui # the Go code embeds the page
setup go || { echo 'test: the race detector needs a C compiler' >&2; exit 1; }
[ -e frontend/dist/index.html ] || npm --prefix frontend run build
for name; do
	case $name in
	lint | ui) part "$name" ;;
	go)
		setup docker || skipped+=('what needs Docker')
		part go_
		;;
	e2e)
		setup docker || skipped+=('what needs Docker')
		setup window || skipped+=('the window')
		if setup e2e; then part e2e; part browser; else skipped+=('the end-to-end tests'); fi
		;;
	*)
		echo "test: no stage $name" >&2
		exit 2
		;;
	esac
done

echo
for what in ${skipped+"${skipped[@]}"}; do echo "SKIPPED: $what (see setup above)"; done
for what in ${broken+"${broken[@]}"}; do echo "FAILED: the stage ${what%_} (see its output above)"; done
if [ -e "$counts" ]; then go run ./build/tally total "$counts" || broken+=(tests); fi
exit $((${#broken[@]} > 0))
