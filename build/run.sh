#!/usr/bin/env bash
# Builds Drawbridge and starts it with a demo server. Everything it keeps is in .run/;
# the configuration and the data of an installed Drawbridge stay untouched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

make --no-print-directory ui daemon

data=$PWD/.run
bin=$PWD/build/bin/drawbridge
mkdir -p "$data"
chmod 700 "$data"
if [ ! -e "$data/config.jsonc" ]; then
	cat >"$data/config.jsonc" <<CONFIG
{
  // Edit and save: changes take effect at once. Paste what a server's README shows.
  "mcpServers": {
    "demo": { "command": "$bin", "args": ["demo-server"] }
  }
}
CONFIG
fi

port=${DRAWBRIDGE_HTTP_PORT:-7575}
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
	echo "Port $port is taken; this run takes a free one."
	port=0
fi

rm -f "$data/runtime.json"
"$bin" serve --data "$data" --listen "127.0.0.1:$port" &
daemon=$!
trap 'kill -TERM $daemon 2>/dev/null; wait $daemon' EXIT
trap 'exit 130' INT TERM

for ((i = 0; i < 300; i++)); do
	[ -e "$data/runtime.json" ] && break
	kill -0 $daemon 2>/dev/null || { trap - EXIT; wait $daemon; }
	sleep 0.1
done

cat <<NEXT

Drawbridge runs. Make a call and watch it arrive:

  build/bin/drawbridge call demo echo '{"text":"hello"}' --data .run

Configuration: .run/config.jsonc    Stop: Ctrl-C

NEXT

if [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] || [ "$(uname -s)" = Darwin ]; then
	build/setup.sh window || [ $? = 3 ]
	make --no-print-directory window || echo 'run: the window could not be built; the page opens in a browser' >&2
	"$bin" open --data "$data" || true
else
	echo "No display here. Open this address in a browser (it works once):"
	"$bin" open --print --data "$data"
fi
wait $daemon
