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
# universal PROGRAM BUILD_ARGUMENT...: one program for both processors.
universal() {
	local program=$1 arch parts=()
	shift
	for arch in amd64 arm64; do
		CGO_ENABLED=1 GOARCH=$arch go build -trimpath -o "build/stage/package/macos-$arch" "$@"
		parts+=("build/stage/package/macos-$arch")
	done
	lipo -create -output "$program" "${parts[@]}"
}
universal "$daemon/Contents/MacOS/drawbridge" -ldflags "$LDFLAGS" ./app/drawbridge
universal "$app/Contents/MacOS/drawbridge-window" -tags desktop,production -ldflags '-s -w' .
cp LICENSE build/stage/package/THIRD-PARTY.txt "$app/Contents/Resources/"
# Apple permits versions of up to three numbers.
sed "s|@VERSION@|${VERSION%%[~+-]*}|" build/package/Info.plist >"$app/Contents/Info.plist"
sed "s|@VERSION@|${VERSION%%[~+-]*}|" build/package/Daemon.plist >"$daemon/Contents/Info.plist"
iconset=build/stage/package/app.iconset
mkdir -p "$iconset"
for size in 16 32 128 256; do
	sips -z $size $size build/icons/app-256.png --out "$iconset/icon_${size}x$size.png" >/dev/null
done
iconutil -c icns "$iconset" -o "$app/Contents/Resources/app.icns"
(cd build/stage/package && zip -qry - Drawbridge.app) >"$out/drawbridge-$VERSION-macos-universal.zip"
