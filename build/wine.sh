#!/usr/bin/env bash
# Runs a Windows program under Wine, as go test -exec expects it: wine.sh PROGRAM [ARGUMENT...]
#
# Wine 10 is not in Debian 12, so it has a root of its own, $WINE_ROOT, which build/setup.sh wine makes.
# The program sees the project and $TMPDIR under their paths on drive Z:, and the Windows installation
# $WINEPREFIX, which must be in $TMPDIR. Nothing waits for the disk.
set -euo pipefail
export WINE_ROOT=${WINE_ROOT:-/var/cache/drawbridge-wine} WINEDEBUG=${WINEDEBUG:--all}
SHARED="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) ${TMPDIR:-/tmp}"
export SHARED
unset TMPDIR # crashes Wine
# Programs that Wine starts in the background keep the output of the first one open, for which go test
# would wait.
output=$(mktemp)
trap 'rm -f "$output"' EXIT
code=0
unshare --mount --propagation slave bash -c '
	for dir in /proc /dev /sys $SHARED; do
		mkdir -p "$WINE_ROOT$dir" && mount --rbind "$dir" "$WINE_ROOT$dir"
	done
	exec chroot "$WINE_ROOT" env LD_PRELOAD=libeatmydata.so sh -c '"'"'cd "$1" && shift && exec "$@"'"'"' sh "$PWD" "$@"
' bash "${WINE_COMMAND:-wine}" "$@" >"$output" 2>&1 || code=$?
cat "$output"
exit $code
