#!/usr/bin/env bash
# Checks that a release is reproducible: reproduce.sh [TARGET...] builds these targets, without arguments all that
# this machine can build: linux for both architectures, windows, and the files of the channels with the npm packages.
#
# It builds the current commit in two clones that differ in path, time zone, locale, umask, times of the
# files and build cache, and compares the files. Takes many minutes.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap '[ $? = 0 ] || tail -n 40 "$work/log" >&2; rm -rf "$work"' EXIT

build() { # build DIR TARGET...: leaves the files in DIR/build/bin/release
	git clone -q "$source" "$1"
	cd "$1"
	shift
	exec >"$work/log" 2>&1
	build/package.sh "${@:-linux}" ${all:+windows}
	mv build/bin/package build/bin/release
	[ -n "$all" ] || return 0
	local other=arm64 folder release=build/bin/release # which git ignores, as the version tells whether files differ
	[ "$(go env GOHOSTARCH)" = amd64 ] || other=amd64
	ARCH=$other PAGE=built build/package.sh linux
	cp build/bin/package/* $release/
	build/package/installer.sh $release
	(cd $release && rm SHA256SUMS && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
	go run ./build/package/channels $release build/bin/channels
	mv build/bin/channels $release/
	for folder in $release/channels/npm/*; do npm pack --silent --pack-destination $release "./$folder"; done
}

all=
[ $# -gt 0 ] || all=yes
source=$top
(build "$work/first" "$@")
(
	source=$work/first # the same commit, even if another was made meanwhile
	umask 077
	export TZ=Pacific/Auckland LC_ALL=C.UTF-8 GOCACHE="$work/cache"
	build "$work/second/in a folder" "$@"
)
: >"$work/log"
(cd "$work/first/build/bin/release" && sha256sum --quiet -c SHA256SUMS)
if ! diff -r "$work/first/build/bin/release" "$work/second/in a folder/build/bin/release"; then
	echo 'reproduce: two builds differ' >&2
	exit 1
fi
cd "$work/first/build/bin/release"
find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum
