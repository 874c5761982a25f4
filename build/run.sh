#!/usr/bin/env bash
# Builds Drawbridge and starts it with a demo server, then builds and shows the window.
# Installs only npm packages and stores all files in .run/, so the configuration and the data of an
# installed Drawbridge do not change. Ctrl-C stops it with exit code 0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=$PWD/build/bin/drawbridge
data=$PWD/.run
output=$data/output.log # output of the current step, later the daemon's log
mkdir -p "$data"
chmod 700 "$data"

daemon=
stop() {
	[ -n "$daemon" ] || return 0
	kill -TERM "$daemon" 2>/dev/null || return 0
	echo 'Stopping Drawbridge…'
	wait "$daemon" || true
}
trap stop EXIT
trap 'exit 0' INT
trap 'exit 143' TERM HUP

# quietly WHAT COMMAND... prints WHAT, and the output of the command only if it fails.
quietly() {
	echo "$1…"
	shift
	"$@" >"$output" 2>&1 </dev/null && return
	cat "$output" >&2
	return 1
}

if [ ! -e "$data/config.jsonc" ]; then
	cat >"$data/config.jsonc" <<CONFIG
{
  // Edit and save: changes take effect immediately. Paste the JSON from a server's README.
  "mcpServers": {
    "demo": { "command": "$bin", "args": ["demo-server"] }
  }
}
CONFIG
fi

quietly 'Building the page' make --no-print-directory ui
quietly 'Building the daemon' make --no-print-directory daemon

port=${DRAWBRIDGE_HTTP_PORT:-7575}
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
	echo "Port $port is in use; using a free one."
	port=0
fi

rm -f "$data/runtime.json"
"$bin" serve --data "$data" --listen "127.0.0.1:$port" >"$output" 2>&1 </dev/null &
daemon=$!
for ((i = 0; ; i++)); do
	[ -e "$data/runtime.json" ] && break
	if [ $i = 300 ] || ! kill -0 $daemon 2>/dev/null; then
		cat "$output" >&2
		echo 'run: Drawbridge did not start; its log is above.' >&2
		exit 1
	fi
	sleep 0.1
done

cat <<NEXT

Drawbridge runs. Make a call and watch it arrive:

  build/bin/drawbridge call demo echo '{"text":"hello"}' --data .run

Configuration: .run/config.jsonc    Log: .run/output.log    Stop: Ctrl-C

NEXT

if [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] || [ "$(uname -s)" = Darwin ]; then
	log=$output output=$data/window.log
	quietly 'Building the window' make --no-print-directory window ||
		echo 'run: cannot build the window; the page opens in a browser.' >&2
	grep '^window: skipped' "$output" || true
	output=$log
	"$bin" open --data "$data" || true
else
	echo 'No display found. Open this address in a browser (it works once):'
	"$bin" open --print --data "$data"
fi

code=0
wait $daemon || code=$?
daemon=
if [ $code != 0 ]; then
	tail -n 20 "$output" >&2
	echo "run: Drawbridge exited with $code; the end of its log is above." >&2
fi
exit $code
