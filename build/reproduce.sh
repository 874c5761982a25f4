#!/usr/bin/env bash
# Checks that the packages are reproducible: reproduce.sh [TARGET...], linux and windows by default.
#
# It builds the packages of the current commit in two clones that differ in path, time zone, locale,
# umask, times of the files and build cache, and compares the checksums.
# Takes several minutes.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # build DIR TARGET...
	git clone -q "$source" "$1"
	cd "$1"
	shift
	build/package.sh "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; return 1; }
}

targets=("${@:-linux}")
[ $# -gt 0 ] || targets+=(windows)
source=$top
(build "$work/first" "${targets[@]}")
(
	source=$work/first # the same commit, even if another was made meanwhile
	umask 077
	export TZ=Pacific/Auckland LC_ALL=C.UTF-8 GOCACHE="$work/cache"
	build "$work/second/in a folder" "${targets[@]}"
)
for copy in "$work/first" "$work/second/in a folder"; do
	(cd "$copy/build/bin/package" && sha256sum --quiet -c SHA256SUMS)
done
if ! diff -u "$work/first/build/bin/package/SHA256SUMS" "$work/second/in a folder/build/bin/package/SHA256SUMS"; then
	echo 'reproduce: the packages of two builds differ' >&2
	exit 1
fi
cat "$work/first/build/bin/package/SHA256SUMS"
