#!/usr/bin/env bash
# make soak: tests that take too long for every commit, one part after the other.
#   build/soak.sh            all parts
#   build/soak.sh kills      one of them
# Each part is a function below; add new ones to the list at the end. Results go to standard output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CI=true # time limits for a busy machine
failed=()

# filter_results passes on the results and the messages of tests.
filter_results() { grep --line-buffered -E '^ *(---|PASS|FAIL|ok|panic|[a-z_]+.go:)'; }

e2e() { # TESTS [TIMEOUT]
	CGO_ENABLED=0 go test -tags e2e -count 1 -parallel 1 -v -timeout "${2:-4h}" -run "$1" ./build/e2e | filter_results
}

# 500 kills each of the daemon, of its watchdog and of both, and 300 of a process that writes a
# client's configuration file.
kills() {
	DRAWBRIDGE_KILL_ROUNDS=300 CGO_ENABLED=0 go test -count 1 -v -run TestKilledWriterLeavesOldOrNewFileAndIsUndoable ./backend/clientconf | filter_results
	DRAWBRIDGE_KILL_ROUNDS=300 CGO_ENABLED=0 go test -count 1 -v -run TestTwoWritersLoseNothingWhenOneIsKilled ./config | filter_results
	DRAWBRIDGE_ROUNDS=${DRAWBRIDGE_ROUNDS:-500} e2e TestNoProcessOutlivesKilledDaemonOrWatchdog
}

# 10,000 restarts of a server behind a launcher: minutes on an idle machine, hours on a busy one.
# DRAWBRIDGE_ROUNDS=N makes 20 N of them.
restarts() {
	DRAWBRIDGE_ROUNDS=${DRAWBRIDGE_ROUNDS:-500} e2e TestRepeatedRestartsUseConstantResources
}

# 500 kills of a process that records a call each millisecond, with the documented limit.
history() {
	CI='' DRAWBRIDGE_KILL_ROUNDS=${DRAWBRIDGE_KILL_ROUNDS:-500} CGO_ENABLED=0 go test -count 1 -v -timeout 1h -run TestKillLosesNoCall ./backend/store | filter_results
}

# A million calls of 16 clients to 8 servers, with 500 crashes, 500 changes of the
# configuration and 1,000 reconnects. build/e2e/output/soak.html contains the plots.
load() {
	DRAWBRIDGE_SOAK_CALLS=${DRAWBRIDGE_SOAK_CALLS:-1000000} e2e 'TestLoadedDaemonAnswersAndRecordsEveryCallOnce' | cut -c1-1000
}

# Every system call of eight scenarios fails once with each error that fits, and some from then on: about 12,000
# failures, hours. With DRAWBRIDGE_FAULTS_JOURNAL=FILE a run goes on where the last one ended.
faults() {
	CGO_ENABLED=0 go test -tags e2e -count 1 -v -timeout 0 -exec 'unshare --map-root-user --pid --fork --kill-child --mount-proc' ./build/faults | filter_results
}

# The simulation with new seeds. DRAWBRIDGE_SIMULATE=8h sets the time.
simulation() {
	CGO_ENABLED=0 go test -count 1 -v -timeout 0 -run '^TestSimulation$' ./app/drawbridge -simulate "${DRAWBRIDGE_SIMULATE:-2h}" | grep -v -- '--- PASS: TestSimulation/'
}

# 12 published servers, which npx installs, with and without the default sandbox: about 10 minutes.
sandbox() {
	DRAWBRIDGE_NPM_REGISTRY=1 e2e TestPublishedServersWorkUnderTheDefaultSandbox
}

make --no-print-directory daemon
build/setup.sh e2e
[ $# -gt 0 ] || set -- kills restarts history load sandbox faults simulation
for part; do
	printf '\n== soak: %s\n' "$part"
	"$part" || failed+=("$part")
done
if [ ${#failed[@]} -gt 0 ]; then
	printf '\nfailed: %s\n' "${failed[*]}"
	exit 1
fi
