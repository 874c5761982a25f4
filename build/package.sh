#!/usr/bin/env bash
# Builds the release packages, the software bill of materials and the checksums in
# build/bin/package: package.sh [linux] [windows] [macos], all by default. KINDS=deb builds only
# that kind for Linux; PAGE=built packages the page as it was built before; ARCH=arm64 builds the
# Linux packages for that architecture, and without the window if it is not this machine's.
#
# Linux: a tar.gz of the static program, .deb, .rpm and Arch. Windows: for amd64 and arm64 a zip and
# an installer; all are cross-compiled. macOS: on a Mac only, untested.
#
# The tar.gz needs only git, make, Go, Node.js and npm. What else cannot be built on this machine is
# skipped, with one line that names what is missing; with CI=true that is an error.
#
# The files depend only on the commit and on the versions of Go, gcc and the libraries of the window:
# no time, path, user or locale of this machine enters them. build/reproduce.sh checks this.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS=${GOFLAGS:--buildvcs=false} TZ=UTC LC_ALL=C
umask 022
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2 # newer versions need modules that cannot be found
winres=github.com/tc-hib/go-winres@v0.3.3

commit=$(git rev-parse HEAD)
commit_date() { git log -1 --format=%cd --date="format-local:$1"; }
date=$(commit_date %Y-%m-%dT%H:%M:%SZ)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) # the time of every file; makensis and nfpm read it too
export SOURCE_DATE_EPOCH

# A tag v1.2.3 is a release; any other commit is a pre-release of the next one. "+dirty" marks a tree
# that differs from its commit.
version=${VERSION-}
if [ -z "$version" ]; then
	version=$(git describe --tags --exact-match 2>/dev/null || echo "v0.1.0~git$(commit_date %Y%m%d).${commit:0:12}")
	[ -z "$(git status --porcelain)" ] || version+=+dirty
fi
version=${version#v}
plain=${version%%[~+-]*}
out=$PWD/build/bin/package
stage=build/stage/package
programs=() # whose modules the bill of materials has to list
ldflags="-s -w -X main.version=$version -X main.commit=$commit -X main.commitDate=$date"
# Where releases are announced and who signs that; without them the search for newer versions has to be configured.
ldflags+=" -X main.updateURL=${UPDATE_URL-} -X main.updateKey=${UPDATE_KEY-}"
trap 'rm -f app/drawbridge/rsrc_windows_*.syso rsrc_windows_*.syso' EXIT
rm -rf "$out" "$stage"
mkdir -p "$out" "$stage"

# check finds out what can be built, before anything is. It sets window, kinds and targets.
check() {
	build/setup.sh ui go
	if [ "${CI-}" = true ] && [[ " ${targets[*]} " = *' linux '* ]]; then build/setup.sh window; fi
	local arch=${ARCH:-$(go env GOHOSTARCH)} wanted=("${targets[@]}") target
	targets=() kinds=(${KINDS-deb rpm archlinux}) window=
	for target in "${wanted[@]}"; do
		case $target in
		linux)
			targets+=(linux)
			if [ "$arch" != "$(go env GOHOSTARCH)" ]; then
				echo "package: skipped the window for $arch, which needs the libraries of that architecture" >&2
			elif pkg-config --exists gtk+-3.0 webkit2gtk-4.1 2>/dev/null && command -v "$(go env CC)" >/dev/null; then
				window=yes
			else
				skip 'the window' 'a C compiler and the development files of GTK 3 and WebKitGTK 4.1' 'gcc libc6-dev pkg-config libgtk-3-dev libwebkit2gtk-4.1-dev'
			fi
			;;
		windows)
			if command -v zip >/dev/null; then targets+=(windows); else skip 'the files for Windows' 'the program zip' zip; fi
			command -v makensis >/dev/null || skip 'the installers for Windows' 'the program makensis' nsis
			;;
		macos)
			if [ "$(uname -s)" = Darwin ]; then targets+=(macos); else echo 'package: skipped the macOS bundle, which can be built only on a Mac' >&2; fi
			;;
		*) echo "package: no target $target" >&2; exit 2 ;;
		esac
	done
}

# skip WHAT MISSING PACKAGES reports that WHAT is not built, and the Debian packages with what is MISSING.
skip() {
	echo "package: skipped $1, because this machine does not have $2 (Debian: sudo apt-get install $3)" >&2
	[ "${CI-}" != true ]
}

# common builds what the packages of all systems contain: the page in the programs, the licence texts
# (which the licences require with each copy), manual pages and completions.
common() {
	[ "${PAGE-}" = built ] || npm --prefix frontend run --silent build -- --logLevel warn
	go run ./build/docs -notices "$stage/THIRD-PARTY.txt" -sbom "$out/drawbridge-$version.cdx.json" -version "$version"
	go run ./build/package/manpages "$stage" "$version"
	cp build/package/drawbridge-window.1 "$stage/man/"
	gzip -9n "$stage"/man/*
	mkdir "$stage/docs"
	cp docs/*.md "$stage/docs/"
}

# normalize DIR gives all files the time of the commit, and permissions that do not depend on the umask of the checkout.
normalize() {
	chmod -R u=rwX,go=rX "$1"
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

linux() {
	local arch=${ARCH:-$(go env GOHOSTARCH)} omit=
	CGO_ENABLED=0 GOARCH=$arch go build -trimpath -ldflags "$ldflags" -o build/bin/drawbridge ./app/drawbridge
	programs+=(build/bin/drawbridge)
	if [ -n "$window" ]; then
		build/window.sh
		programs+=(build/bin/drawbridge-window)
	else
		omit='/bin\/drawbridge-window$/d; s/gtk3, hicolor-icon-theme, webkit2gtk-4.1/hicolor-icon-theme/'
		rm "$stage/man/drawbridge-window.1.gz"
	fi
	{
		printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: drawbridge\n\n'
		printf 'Files: *\nCopyright: 2026 Drawbridge maintainers\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
	} >"$stage/copyright"
	printf 'drawbridge (%s) unstable; urgency=medium\n\n  * The changes are listed in CHANGELOG.md of the source.\n\n -- Drawbridge maintainers <maintainers@drawbridge.invalid>  %s\n' \
		"$version" "$(commit_date '%a, %d %b %Y %H:%M:%S +0000')" | gzip -9n >"$stage/changelog.gz"
	printf -- '- semver: %s-1\n  date: %s\n  packager: Drawbridge maintainers <maintainers@drawbridge.invalid>\n  changes: [{note: The changes are listed in CHANGELOG.md of the source.}]\n' \
		"$version" "$date" >"$stage/changelog.yaml"
	# Compression takes longest, so it runs while the other packages are built.
	local dir=$stage/linux/drawbridge-$version
	mkdir -p "$dir"
	cp -R build/bin/drawbridge LICENSE README.md "$stage/THIRD-PARTY.txt" "$stage/man" "$stage/completions" "$stage/docs" "$dir/"
	normalize "$dir"
	tar -C "$stage/linux" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "drawbridge-$version" |
		gzip -9n >"$out/drawbridge-$version-linux-$arch.tar.gz" &
	local archive=$! kind license zsh licenses changelog
	for kind in "${kinds[@]}"; do
		zsh=site-functions licenses=/usr/share/licenses license='' changelog=''
		case $kind in
		deb) zsh=vendor-completions licenses=/usr/share/doc ;;
		rpm) license=license changelog=$stage/changelog.yaml ;;
		esac
		sed "s|\${VERSION}|$version|; s|\${GOARCH}|$arch|; s|\${ZSH}|$zsh|; s|\${LICENSES}|$licenses|; s|\${LICENSE}|$license|; s|\${CHANGELOG}|$changelog|; $omit" \
			build/package/nfpm.yaml >"$stage/$kind.yaml"
		CGO_ENABLED=0 GOFLAGS=-trimpath go run "$nfpm" package --config "$stage/$kind.yaml" --packager "$kind" --target "$out"
	done
	wait "$archive"
}

windows() {
	local arch target dir
	# The linker reads the icon and the version of the programs from .syso files.
	for target in app/drawbridge .; do
		GOFLAGS= go run "$winres" simply --arch amd64,arm64 --out "$target/rsrc" --icon build/icons/app.ico --manifest gui \
			--product-name Drawbridge --file-description Drawbridge --file-version "$plain.0" --product-version "$plain.0"
	done
	for arch in amd64 arm64; do
		dir=$stage/windows-$arch
		mkdir -p "$dir"
		local env=(env GOOS=windows "GOARCH=$arch" CGO_ENABLED=0)
		"${env[@]}" go build -trimpath -ldflags "$ldflags" -o "$dir/drawbridge.exe" ./app/drawbridge
		# The same program without a console window, for the tray and the start at login.
		"${env[@]}" go build -trimpath -ldflags "$ldflags -H windowsgui" -o "$dir/drawbridgew.exe" ./app/drawbridge
		"${env[@]}" go build -trimpath -tags desktop,production -ldflags '-s -w -H windowsgui' -o "$dir/drawbridge-window.exe" .
		programs+=("$dir"/*.exe)
		cp LICENSE README.md "$stage/THIRD-PARTY.txt" "$stage/completions/drawbridge.ps1" "$dir/"
		normalize "$dir"
		(cd "$dir" && find . -type f | sort | zip -Xq9 "$out/drawbridge-$version-windows-$arch.zip" -@)
		if command -v makensis >/dev/null; then
			# Windows 10 for arm64 runs no programs for amd64.
			local stub=x86-unicode
			[ "$arch" = arm64 ] || stub=amd64-unicode
			makensis -V2 "-DTARGET=$stub" -NOCD "-DVERSION=$version" "-DPLAIN=$plain" "-DFROM=$dir" "-DTO=$out/drawbridge-$version-windows-$arch-setup.exe" build/package/installer.nsi
		fi
	done
}

macos() {
	VERSION=$version LDFLAGS=$ldflags build/package/macos.sh "$out"
}

# plugins writes the plugins that clients install from their own shops. They start the shim of the
# installed program.
plugins() {
	local kind dir plugin_version=${version//\~/-} about='The MCP servers of Drawbridge: one list of tools for all clients, with approvals and a history.'
	for kind in agent claude-code; do
		dir=$stage/$kind-plugin/drawbridge
		mkdir -p "$dir"
		cp LICENSE "$dir/"
		if [ $kind = agent ]; then
			printf '{\n  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",\n  "name": "drawbridge",\n  "version": "%s",\n  "description": "%s",\n  "license": "Apache-2.0"\n}\n' "$plugin_version" "$about" >"$dir/plugin.json"
			printf '{\n  "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",\n  "mcpServers": {"drawbridge": {"type": "stdio", "command": "drawbridge", "args": ["stdio", "--client", "agent-plugin"]}}\n}\n' >"$dir/mcp.json"
		else
			mkdir "$dir/.claude-plugin"
			printf '{\n  "name": "drawbridge",\n  "version": "%s",\n  "description": "%s",\n  "license": "Apache-2.0"\n}\n' "$plugin_version" "$about" >"$dir/.claude-plugin/plugin.json"
			printf '{\n  "name": "drawbridge",\n  "owner": {"name": "Drawbridge maintainers"},\n  "plugins": [{"name": "drawbridge", "source": "./", "description": "%s"}]\n}\n' "$about" >"$dir/.claude-plugin/marketplace.json"
			printf '{\n  "mcpServers": {"drawbridge": {"command": "drawbridge", "args": ["stdio", "--client", "claude-code"]}}\n}\n' >"$dir/.mcp.json"
		fi
		normalize "$dir"
		tar -C "$stage/$kind-plugin" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - drawbridge |
			gzip -9n >"$out/drawbridge-$version-$kind-plugin.tar.gz"
	done
}

targets=(${@:-linux windows macos})
check
common
for target in "${targets[@]}"; do $target; done
if [[ " ${targets[*]} " = *' linux '* ]]; then plugins && build/package/installer.sh "$out"; fi
if [ ${#programs[@]} -gt 0 ]; then
	go run ./build/docs -check -sbom "$out/drawbridge-$version.cdx.json" "${programs[@]}"
fi
(cd "$out" && { if command -v sha256sum >/dev/null; then sha256sum -- *; else shasum -a 256 -- *; fi; } >"$OLDPWD/$stage/SHA256SUMS")
mv "$stage/SHA256SUMS" "$out/"
ls -l "$out"
