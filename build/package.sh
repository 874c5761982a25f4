#!/usr/bin/env bash
# Builds the release packages and their checksums in build/bin/package:
# package.sh [linux] [windows] [macos], all by default. KINDS=deb builds only that kind for Linux;
# PAGE=built packages the page as it was built before.
#
# Linux: .deb, .rpm, Arch and a tar.gz of the static program. Windows: a zip and, if makensis is
# installed, an installer; both are cross-compiled. macOS: on a Mac only, untested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS=${GOFLAGS:--buildvcs=false}
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2 # newer versions need modules that cannot be found
winres=github.com/tc-hib/go-winres@v0.3.3

# A tag v1.2.3 is a release; any other commit is a pre-release of the next one.
version=${VERSION:-$(git describe --tags --exact-match 2>/dev/null || echo "v0.1.0~git$(git log -1 --format=%cd --date=format:%Y%m%d).$(git rev-parse --short HEAD)")}
version=${version#v}
out=build/bin/package
stage=build/stage/package
ldflags="-s -w -X main.version=$version"
rm -rf "$out" "$stage"
mkdir -p "$out" "$stage/man"

# Third-party licence texts, which the licences require with each copy.
notices() { go run ./build/docs -notices "$stage/THIRD-PARTY.txt"; }

linux() {
	build/setup.sh ui window go
	[ "${PAGE-}" = built ] || make ui
	notices
	CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o build/bin/drawbridge ./app/drawbridge
	version=$version build/window.sh
	go run ./build/package/man "$stage/man" "$version"
	cp build/package/drawbridge-window.1 "$stage/man/"
	gzip -9n "$stage"/man/*
	build/bin/drawbridge completion bash >"$stage/drawbridge.bash"
	{
		printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: drawbridge\n\n'
		printf 'Files: *\nCopyright: 2026 Drawbridge maintainers\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
	} >"$stage/copyright"
	printf -- '- semver: %s\n  date: %s\n  packager: Drawbridge maintainers <maintainers@drawbridge.invalid>\n  changes:\n    - note: "See the commits of this version."\n' \
		"$version" "$(git log -1 --format=%cI)" >"$stage/changelog.yaml"
	local kind recommends
	for kind in ${KINDS:-deb rpm archlinux}; do
		case $kind in
		deb) recommends='[libgtk-3-0, libwebkit2gtk-4.1-0]' ;;
		rpm) recommends='[gtk3, webkit2gtk4.1]' ;;
		archlinux) recommends='[gtk3, webkit2gtk-4.1]' ;;
		esac
		sed "s|\${RECOMMENDS}|$recommends|; s|\${VERSION}|$version|; s|\${GOARCH}|$(go env GOARCH)|" build/package/nfpm.yaml >"$stage/$kind.yaml"
		CGO_ENABLED=0 GOFLAGS= go run "$nfpm" package --config "$stage/$kind.yaml" --packager "$kind" --target "$out"
	done
	tar -C build/bin --transform "s|^|drawbridge-$version/|" -czf "$out/drawbridge-$version-linux-$(go env GOARCH).tar.gz" \
		drawbridge -C ../.. LICENSE README.md -C "$stage" THIRD-PARTY.txt
}

windows() {
	build/setup.sh ui go
	[ -e frontend/dist/index.html ] || make ui
	local dir=$stage/windows plain=${version%%[~-]*}
	mkdir -p "$dir"
	# The linker reads the icon and the version of the programs from .syso files.
	local target
	for target in app/drawbridge .; do
		GOFLAGS= go run "$winres" simply --arch amd64 --out "$target/rsrc" --icon build/icons/app.ico --manifest gui \
			--product-name Drawbridge --file-description Drawbridge --file-version "$plain.0" --product-version "$plain.0"
	done
	local env=(env GOOS=windows GOARCH=amd64 CGO_ENABLED=0)
	"${env[@]}" go build -trimpath -ldflags "$ldflags" -o "$dir/drawbridge.exe" ./app/drawbridge
	# The same program without a console window, for the tray and the start at login.
	"${env[@]}" go build -trimpath -ldflags "$ldflags -H windowsgui" -o "$dir/drawbridgew.exe" ./app/drawbridge
	"${env[@]}" go build -trimpath -tags desktop,production -ldflags '-s -w -H windowsgui' -o "$dir/drawbridge-window.exe" .
	rm -f app/drawbridge/rsrc_windows_*.syso rsrc_windows_*.syso
	notices
	cp LICENSE README.md "$stage/THIRD-PARTY.txt" "$dir/"
	(cd "$dir" && zip -q9r - .) >"$out/drawbridge-$version-windows-amd64.zip"
	if command -v makensis >/dev/null; then
		makensis -V2 -NOCD "-DVERSION=$version" "-DPLAIN=$plain" "-DFROM=$dir" "-DTO=$out/drawbridge-$version-windows-amd64-setup.exe" build/package/installer.nsi
	else
		echo 'package: no installer for Windows: makensis (Debian: nsis) is missing' >&2
		[ "${CI-}" != true ]
	fi
}

macos() {
	if [ "$(uname -s)" != Darwin ]; then
		echo 'package: skipped the macOS bundle, which can be built only on a Mac (build/package/macos.sh)' >&2
		return 0
	fi
	VERSION=$version build/package/macos.sh "$out"
}

for task in ${@:-linux windows macos}; do
	case $task in
	linux | windows | macos) $task ;;
	*) echo "package: no target $task" >&2; exit 2 ;;
	esac
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
