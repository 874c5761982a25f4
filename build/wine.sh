#!/usr/bin/env bash
# Runs a Windows program: wine.sh PROGRAM [ARGUMENT...], as go test -exec expects it.
#
# Wine 10 is not in Debian 12, so it lives in a root of its own, $WINE_ROOT, which build/setup.sh wine
# makes. The program sees the same files as here, under the same paths on drive Z:, and uses the Windows
# installation $WINEPREFIX.
set -euo pipefail
root=${WINE_ROOT:-/var/cache/drawbridge-wine}
exec unshare --mount --propagation slave bash -c '
	root=$1; shift
	for dir in /proc /dev /sys /tmp /run "$GOMODCACHE" "$PROJECT"; do
		[ -n "$dir" ] && mkdir -p "$root$dir" && mount --rbind "$dir" "$root$dir"
	done
	exec chroot "$root" sh -c '"'"'cd "$1" && shift && exec wine "$@"'"'"' sh "$PWD" "$@"
' bash "$root" "$@"
