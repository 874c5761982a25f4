#!/usr/bin/env bash
# Builds build/bin/drawbridge-window, or prints which packages are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tags=desktop,production
flags='-s -w'
case $(go env GOOS) in
linux)
	tags+=,webkit2_41
	if ! pkg-config --exists gtk+-3.0 webkit2gtk-4.1 2>/dev/null; then
		if [ "${CI-}" = true ]; then
			echo 'window: the development files of GTK 3 and WebKitGTK 4.1 are missing' >&2
			exit 1
		fi
		echo 'window: skipped, the page opens in a browser instead. To build it: sudo apt-get install gcc pkg-config libgtk-3-dev libwebkit2gtk-4.1-dev' >&2
		exit 0
	fi
	;;
windows) flags+=' -H windowsgui' ;;
esac
exec env CGO_ENABLED=1 go build -trimpath -tags "$tags" -ldflags "$flags" -o build/bin/drawbridge-window .
