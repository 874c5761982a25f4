#!/usr/bin/env bash
# Builds the macOS bundle: macos.sh OUT, run by build/package.sh on a Mac with Xcode's tools. It follows
# Apple's documentation and has never been run on a Mac. Nothing is signed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$1
app=build/stage/package/Drawbridge.app
daemon="$app/Contents/Helpers/Drawbridge Daemon.app"
rm -rf "$app"
mkdir -p "$app/Contents/MacOS" "$app/Contents/Resources" "$daemon/Contents/MacOS"
CGO_ENABLED=1 go build -trimpath -ldflags "$LDFLAGS" -o "$daemon/Contents/MacOS/drawbridge" ./app/drawbridge
CGO_ENABLED=1 go build -trimpath -tags desktop,production -ldflags '-s -w' -o "$app/Contents/MacOS/drawbridge-window" .
# Apple permits versions of up to three numbers.
sed "s|@VERSION@|${VERSION%%[~+-]*}|" build/package/Info.plist >"$app/Contents/Info.plist"
sed "s|@VERSION@|${VERSION%%[~+-]*}|" build/package/Daemon.plist >"$daemon/Contents/Info.plist"
iconset=build/stage/package/app.iconset
mkdir -p "$iconset"
for size in 16 32 128 256; do
	sips -z $size $size build/icons/app-256.png --out "$iconset/icon_${size}x$size.png" >/dev/null
done
iconutil -c icns "$iconset" -o "$app/Contents/Resources/app.icns"
(cd build/stage/package && zip -qry - Drawbridge.app) >"$out/drawbridge-$VERSION-macos-$(go env GOARCH).zip"
