#!/usr/bin/env bash
# Installs what a task needs and is not there yet: setup.sh ui|go|window|e2e|docker ...
#
# System packages go in by apt, as root or by a sudo that asks nothing. Where that cannot
# be, it prints the line to run and the task goes on without, which the caller says aloud;
# with CI=true that is a failure. A second run with nothing missing takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }

missing=0
lacks() { # lacks WHAT HOW: notes that WHAT is missing
	say "setup: $1 is missing. $2"
	missing=1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
	command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

apt_updated=0
# packages WHAT NAME...: makes sure of Debian packages.
packages() {
	local what=$1 name need=()
	shift
	if ! command -v dpkg-query >/dev/null; then
		return 0 # not a Debian: the caller checks for what it needs itself
	fi
	for name; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || need+=("$name")
	done
	[ ${#need[@]} = 0 ] && return 0
	if ! may_install; then
		lacks "$what" "Run: sudo apt-get install --no-install-recommends ${need[*]}"
		return 0
	fi
	say "setup: installing ${need[*]}"
	if [ $apt_updated = 0 ]; then
		as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
		apt_updated=1
	fi
	if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${need[@]}" >&2; then
		lacks "$what" "apt-get could not install ${need[*]}"
	fi
}

# npm_tree DIR [OPTION...]: installs what the lock file says, once. Not by npm ci, which
# refuses a lock file that lacks the optional packages of other systems.
npm_tree() {
	local dir=$1 stamp=$1/node_modules/.setup-stamp
	shift
	if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$(cksum <"$dir/package-lock.json")" ]; then
		return 0
	fi
	say "setup: installing the npm packages of $dir"
	local try
	for try in 1 2 3; do
		if (cd "$dir" && npm install --no-save --no-audit --no-fund --loglevel=error "$@" >&2); then
			cksum <"$dir/package-lock.json" >"$stamp"
			return 0
		fi
		say "setup: npm did not finish ($try of 3)"
	done
	return 1
}

need_node() {
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		packages 'Node.js' nodejs npm
	fi
	if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
		say 'setup: Node.js 20.19 or newer and npm are needed: https://nodejs.org'
		exit 1
	fi
}

need_go() {
	if ! command -v go >/dev/null; then
		say 'setup: Go 1.26 or newer is needed: https://go.dev/dl'
		exit 1
	fi
}

ui() {
	need_node
	npm_tree frontend
}

go_() {
	need_go
	packages 'a C compiler, for the race detector' gcc libc6-dev
	command -v gcc >/dev/null || command -v cc >/dev/null || lacks 'a C compiler, for the race detector' 'Install gcc or clang.'
	packages 'a keyring, for the tests of secrets' dbus gnome-keyring
	go mod download
}

window() {
	need_go
	[ "$(uname -s)" = Linux ] || return 0
	packages 'what the window is built with' gcc libc6-dev pkg-config libgtk-3-dev libwebkit2gtk-4.1-dev
	pkg-config --exists gtk+-3.0 webkit2gtk-4.1 2>/dev/null ||
		lacks 'what the window is built with' 'Install the development files of GTK 3 and WebKitGTK 4.1.'
}

e2e() {
	need_node
	# Browser, screen, session bus, and a panel that shows tray icons.
	packages 'what the end-to-end tests need' chromium webkit2gtk-driver xvfb xauth xdotool x11-utils imagemagick dbus dbus-x11 openbox xfce4-panel xfce4-notifyd desktop-file-utils lintian libglib2.0-bin procps
	npm_tree build/e2e --ignore-scripts
}

# docker makes sure that a Docker Engine answers, and starts one where nothing starts it.
docker_() {
	packages 'a static busybox, which the images of the tests are made of' busybox-static
	docker info >/dev/null 2>&1 && return 0
	command -v dockerd >/dev/null || packages 'Docker' docker.io
	docker info >/dev/null 2>&1 && return 0
	if ! command -v dockerd >/dev/null; then
		lacks 'Docker' 'Install Docker Engine and start it.'
		return 0
	fi
	if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
		lacks 'a running Docker Engine' 'Run: sudo systemctl start docker, and add yourself to the group docker.'
		return 0
	fi
	if [ -d /run/systemd/system ]; then
		as_root systemctl start docker || true
		docker_answers 30 && return 0
	fi
	# No init system: start it by hand. The second form works where the first may not
	# change the network or mount overlays, as inside another container.
	local log=${TMPDIR:-/tmp}/drawbridge-dockerd.log options
	for options in '' '--iptables=false --ip6tables=false --bridge=none --storage-driver=vfs'; do
		say "setup: starting dockerd $options"
		# shellcheck disable=SC2086
		as_root setsid dockerd $options >"$log" 2>&1 </dev/null &
		docker_answers 120 $! && return 0 # one that gives up ends sooner
		as_root kill $! 2>/dev/null || true
		sleep 2
	done
	tail -n 20 "$log" >&2 || true
	lacks 'a running Docker Engine' "dockerd did not come up; see $log"
}

docker_answers() { # docker_answers SECONDS [PID]
	local i
	for ((i = 0; i < $1; i++)); do
		docker info >/dev/null 2>&1 && return 0
		[ -n "${2-}" ] && [ "$i" -gt 3 ] && ! kill -0 "$2" 2>/dev/null && return 1
		sleep 1
	done
	return 1
}

for task; do
	case $task in
	ui | window | e2e) "$task" ;;
	go | docker) "${task}_" ;;
	*)
		say "setup: no task $task"
		exit 2
		;;
	esac
done
if [ $missing = 1 ]; then
	[ "${CI-}" = true ] && { say 'setup: CI=true, and something is missing'; exit 1; }
	exit 3 # carry on with less
fi
