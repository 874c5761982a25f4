#!/usr/bin/env bash
# Runs the tests by stage: test.sh fast|rest|STAGE...
#
#   fast  format vet unit page smoke       make test: needs Go, Node and npm, installs nothing else
#   rest  lint race simulation faults window windows e2e browser   with fast, this is make test-all: installs what it needs
#
# It prints one line with the duration for each stage, followed by the output of a failed one, and
# finally the number of tests. With CI=true a skipped test in the rest is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The same flags as in the Makefile, so that packages are compiled once for programs and tests.
export GOFLAGS=${GOFLAGS:--buildvcs=false -trimpath}
linter=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
vulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
fast=(format vet unit page smoke)
rest=(lint race simulation faults window windows e2e browser)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=()
uncovered=()

format() {
	local unformatted script
	unformatted=$(gofmt -l app backend build config frontend/*.go main.go)
	if [ -n "$unformatted" ]; then
		printf 'not formatted (make fmt):\n%s\n' "$unformatted"
		return 1
	fi
	for script in build/*.sh .ci/run; do bash -n "$script"; done
}

vet() { CGO_ENABLED=0 go vet ./...; }

# Without CI=true: tests of missing programs are skipped here; the stage race runs them. -w omits the
# debug information from the test programs, which takes a third of the time of the linker. The stages
# vet and lint check the code, so no stage checks it again.
unit() {
	CGO_ENABLED=0 env -u CI go test -vet=off -ldflags=-w -json -timeout 10m -parallel 4 ./... | testcount go
}

page() {
	npm --prefix frontend run --silent lint
	npm --prefix frontend run --silent typecheck
	(cd frontend && npx --no-install vitest run --reporter=default --reporter=json --outputFile.json="$work/vitest.json") >"$work/vitest.log" 2>&1 ||
		cat "$work/vitest.log"
	testcount vitest "$work/vitest.json" </dev/null
}

smoke() {
	make --no-print-directory daemon
	CGO_ENABLED=0 go test -vet=off -ldflags=-w -tags smoke -count 1 -json ./build/smoke | testcount go
}

lint() {
	local system
	for system in windows darwin; do
		CGO_ENABLED=0 GOOS=$system go vet ./app/drawbridge ./backend/... ./config/...
	done
	CGO_ENABLED=0 go run "$linter" run ./... # with the build tags of .golangci.yml
	CGO_ENABLED=0 go run "$vulncheck" ./... >"$work/vulncheck.log" 2>&1 ||
		if grep -q '^govulncheck: fetching vulnerabilities' "$work/vulncheck.log"; then
			echo 'skipped govulncheck: its database cannot be reached'
		else
			cat "$work/vulncheck.log"
			return 1
		fi
}

# SQLite, which is C translated to Go, runs without the race detector: it does not share memory
# between goroutines, and with the detector the tests of the store need three times as long. Its
# driver modernc.org/sqlite and all other code run with it. Packages without goroutines and locks
# have no races, and the stage unit runs their tests; packages that may skip tests run here too,
# because unit does not report a skip as a failure. Tests that push large amounts through one
# goroutine, or kill a process of their own, need up to 30 times as long with the detector and
# show it nothing.
race() {
	local plain=-race=false dirs dir packages=() sequential
	sequential='^(TestHostileArchivesAreRefused|TestKillDuringPackingLosesNoPayload|TestTrustEventsAreBoundedAndPaged'
	sequential+='|TestPackingHalvesSize|TestRecorderMarksWhatACassetteCannotHold|TestInvalidCassettesAreRefusedWithTheirLine'
	sequential+='|TestCloseKillsForkingProcesses|TestQueueIsBoundedInBytes|TestReaderSeparatesMessages|TestCacheIsBounded|TestRecordsPerServerAreBounded'
	sequential+='|TestOddEntriesOfSourcesHarmNoOthers|TestPercentilesAreWithinFivePercent|TestMoveOfManyServersDoesNotParseTheFileForEach|TestLongTextsArePrintedInLinearTime|TestCleanDefinitionsRaiseWarningsBelowOnePercent)$'
	dirs=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...)
	for dir in $dirs; do
		if grep -qE '^\s*go |\.Go\(|\.Parallel\(|\.Skipf?\(|"sync|"testing/synctest' "$dir"/*.go; then packages+=("$dir"); fi
	done
	CGO_ENABLED=1 go test -race -gcflags="modernc.org/libc/...=$plain" -gcflags="modernc.org/sqlite/lib=$plain" \
		-vet=off -ldflags=-w -json -timeout 15m -p 2 -parallel 4 -skip "$sequential" "${packages[@]}" | testcount go
}

# New seeds in each run; a failure prints how to repeat it.
simulation() {
	CGO_ENABLED=0 go test -vet=off -ldflags=-w -count 1 -json -run '^TestSimulation$' ./app/drawbridge -simulate "${DRAWBRIDGE_SIMULATE:-60s}" | testcount go
}

# Another sample of failed system calls in each run; make soak parts=faults fails all of them. Where the system
# permits, the programs see no other processes, so that their number does not change with those of the machine.
faults() {
	local alone=(unshare --map-root-user --pid --fork --kill-child --mount-proc)
	"${alone[@]}" true 2>/dev/null || alone=(env)
	make --no-print-directory daemon
	DRAWBRIDGE_FAULTS_TIME=${DRAWBRIDGE_FAULTS_TIME:-30s} CGO_ENABLED=0 go test -vet=off -ldflags=-w -tags e2e -count 1 -json -exec "${alone[*]}" ./build/faults | testcount go
}

window() { make --no-print-directory window; }

# This stage checks time limits, so it runs without the race detector: the tests that are not
# parallel run one at a time, before all others. Tests that fail run again, alone: one that passes
# then is flaky, and the report names it. See "A flaky test is reported by name" in DECISIONS.md.
e2e() {
	local again
	make --no-print-directory daemon
	e2eTests >"$work/e2e.json" || true
	again=$(go run ./build/testcount repeat "$work/e2e.json")
	[ -z "$again" ] || e2eTests -run "$again" -parallel 1 >>"$work/e2e.json" || true
	testcount go <"$work/e2e.json"
}

e2eTests() {
	CGO_ENABLED=0 go test -vet=off -ldflags=-w -tags e2e -json -timeout 40m -parallel 4 "$@" ./build/e2e
}

browser() {
	make --no-print-directory daemon
	CGO_ENABLED=0 go build -o build/bin/pagedata ./build/pagedata
	npm --prefix frontend run --silent e2e >"$work/browser.log" 2>&1 || { cat "$work/browser.log"; return 1; }
	grep '^flaky: ' "$work/browser.log" || true
	tail -n 1 "$work/browser.log" | sed 's/ in .*/, 0 skipped/' | tee -a "$work/counts"
}

# windows runs the unit tests as programs of Windows, under Wine, and tests the built programs from outside
# there. The unit tests that are skipped cannot hold there, in the order of the lines: Windows does not let a
# running program be replaced; Wine makes no links to files (three lines); it lets no file inherit the access
# list of its folder; a path in JSON in JSON.
windows() {
	local again programs="$work/programs für x" screen number
	export WINEPREFIX=$work/wine
	# Node.js needs Windows 10. The first program starts Windows, which would keep the output of a test open.
	build/wine.sh reg add 'HKCU\Software\Wine' /v Version /d win10 /f </dev/null >"$work/wine.log" 2>&1 || { cat "$work/wine.log"; return 1; }
	GOOS=windows CGO_ENABLED=0 go build -ldflags=-w -o "$programs/drawbridge.exe" ./app/drawbridge
	GOOS=windows CGO_ENABLED=0 go build -ldflags '-w -H windowsgui' -o "$programs/drawbridgew.exe" ./app/drawbridge
	GOOS=windows CGO_ENABLED=0 go build -tags desktop,production -ldflags '-w -H windowsgui' -o "$programs/drawbridge-window.exe" .
	cp LICENSE "$programs/"
	touch "$programs/THIRD-PARTY.txt"
	makensis -V1 -NOCD '-XSetCompressor /FINAL zlib' -DTARGET=amd64-unicode -DVERSION=test -DPLAIN=0.0.0 "-DFROM=$programs" "-DTO=$programs/setup.exe" build/package/installer.nsi >/dev/null
	exec {screen}< <(exec Xvfb -displayfd 1 -screen 0 1280x800x24 -nolisten tcp 2>"$work/screen.log") # for the tray
	trap "kill $!" EXIT
	read -r -u "$screen" number
	windowsTests "$programs" >"$work/windows.json"
	again=$(go run ./build/testcount repeat "$work/windows.json")
	[ -z "$again" ] || windowsTests "$programs" -run "$again" >>"$work/windows.json"
	testcount go <"$work/windows.json"
	WINE_COMMAND=/usr/lib/wine/wineserver64 build/wine.sh -k || true
}

# windowsTests PROGRAMS [OPTION...]
windowsTests() {
	local skipped programs=$1
	shift
	skipped='^(TestReplacedProgramRestartsWhenIdle|TestNoRestartIfSwitchedOff|TestNewestOfSeveralInstalledVersionsIsAnnounced|TestSameVersionDoesNotRestart'
	skipped+='|TestReplaceKeepsSymlinkAndMode|TestSymbolicLinksAreFollowed|TestEditsFollowLinksAndKeepMode'
	skipped+='|TestSymbolicLinkStaysALink|TestLinkOutOfHomeNamesItsTarget|TestLinkOutOfHomeIsFollowedOnlyWhenConfirmed'
	skipped+='|TestNoArgumentSlipsPastDeny'
	skipped+='|TestConfigurationFilesInUseArePrivate|TestFilesInDataFolderArePrivate|TestFilesArePrivateUnderAnyUmask'
	skipped+='|TestConditionsAreSuggestedForCalls)$'
	CGO_ENABLED=0 GOOS=windows go test -vet=off -ldflags=-w -json -timeout 15m -p 2 -parallel 4 -skip "$skipped" -exec "$PWD/build/wine.sh" "$@" $(go list ./... | grep -v /build/bench$) || true
	DISPLAY=:$number CGO_ENABLED=0 GOOS=windows DRAWBRIDGE_PROGRAMS=$programs DRAWBRIDGE_NODE='Z:\opt\nodejs' go test -vet=off -ldflags=-w -tags e2e -json -timeout 10m -exec "$PWD/build/wine.sh" "$@" ./build/windows || true
}

# testcount FORMAT [REPORT] counts the tests of this stage. With TEST_JSON=FILE it also appends the
# events of the Go tests to that file, for go run ./build/testcount slowest FILE.
testcount() { tee -a "${TEST_JSON:-/dev/null}" | go run ./build/testcount "$1" "$work/counts" "${@:2}"; }

# setup TASK... returns 1 if optional dependencies are missing.
setup() {
	local code=0
	build/setup.sh "$@" >"$work/setup.log" 2>&1 || code=$?
	case $code in
	0) return 0 ;;
	3) cat "$work/setup.log"; return 1 ;;
	*) cat "$work/setup.log"; exit "$code" ;;
	esac
}

# prepare STAGE installs the dependencies of the stage, and returns 1 if it cannot run here.
prepare() {
	case $1 in
	race)
		setup race || { uncovered+=('race: needs a C compiler'); return 1; }
		setup docker || uncovered+=('tests that need Docker')
		;;
	window) setup window || { uncovered+=('the window'); return 1; } ;;
	windows) setup wine || { uncovered+=('Windows: needs Wine 10'); return 1; } ;;
	e2e | browser) setup e2e || { uncovered+=("$1: needs a browser and a display"); return 1; } ;;
	esac
}

# report STAGE SECONDS CODE OUTPUT
report() {
	local word=ok
	if [ "$3" != 0 ]; then
		word=FAIL
		failed+=("$1")
	fi
	printf '%-4s %-8s %4d s   %s\n' "$word" "$1" "$2" "$(grep -E '^[0-9]+ passed' "$4" | tail -n 1)"
	if [ "$3" = 0 ]; then grep -E '^(skipped |flaky: )' "$4" || true; else cat "$4"; fi
}

run() {
	local began=$SECONDS code=0 stage=$1
	set +e
	(set -e && "$stage") >"$work/$stage.out" 2>&1
	code=$?
	set -e
	echo "$stage $((SECONDS - began)) $code $work/$stage.out" >"$work/$stage.done"
}

[ $# -gt 0 ] || set -- fast
stages=()
for name; do
	case $name in
	fast) stages+=("${fast[@]}") ;;
	rest) stages+=("${rest[@]}") ;;
	*)
		if ! declare -F "$name" >/dev/null; then
			echo "test: no stage $name" >&2
			exit 2
		fi
		stages+=("$name")
		;;
	esac
done

began=$SECONDS
setup ui # the daemon embeds the page
[ -e frontend/dist/index.html ] || npm --prefix frontend run --silent build >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
report setup $((SECONDS - began)) 0 /dev/null
# The tests of the page use one processor and the Go tests often wait, so they run concurrently.
case " ${stages[*]} " in *' unit '*' page '*) run page & ;; esac
for stage in "${stages[@]}"; do
	began=$SECONDS
	prepare "$stage" || continue
	took=$((SECONDS - began))
	[ $took -lt 5 ] || report "+ setup" $took 0 /dev/null
	if [ "$stage" = page ] && [ -n "$(jobs -p)" ]; then wait; else run "$stage"; fi
	# shellcheck disable=SC2046
	report $(cat "$work/$stage.done")
done

echo
for what in ${uncovered+"${uncovered[@]}"}; do echo "SKIPPED: $what (see above for the packages to install)"; done
case " $* " in *' rest '*) ;; *' fast '*) echo 'Not covered: race detector, golangci-lint, other systems, Docker, window, browser, real clients. Run: make test-all' ;; esac
[ ${#failed[@]} = 0 ] || echo "FAILED: ${failed[*]}"
strict=
case " ${stages[*]} " in *' race '* | *' e2e '*) strict=-strict ;; esac
if [ -e "$work/counts" ]; then go run ./build/testcount total "$work/counts" $strict || failed+=(tests); fi
exit $((${#failed[@]} > 0))
