#!/bin/sh
# Installs Drawbridge @VERSION@ for this user: curl -fsSL @URL@/install.sh | sh
# The archive must have the digest that is written here. DRAWBRIDGE_BIN is the folder of the program,
# ~/.local/bin by default, and DRAWBRIDGE_URL another place of the archive.
set -eu

digests='
@DIGESTS@'

fail() {
	echo "install: $1" >&2
	exit 1
}

# Everything is in a function, so that a script that was cut off does nothing.
main() {
	[ "$(uname -s)" = Linux ] || fail 'this script is for Linux. For other systems, see @URL@'
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no package for $(uname -m)" ;;
	esac
	name=drawbridge-@VERSION@
	file=$name-linux-$arch.tar.gz
	digest=$(printf '%s' "$digests" | sed -n "s/  $file\$//p")
	[ -n "$digest" ] || fail "there is no package for $arch"
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	if command -v curl >/dev/null; then
		curl -fsSL -o "$dir/$file" "${DRAWBRIDGE_URL:-@URL@}/$file"
	else
		wget -qO "$dir/$file" "${DRAWBRIDGE_URL:-@URL@}/$file"
	fi || fail "cannot download $file"
	[ "$(sha256sum <"$dir/$file")" = "$digest  -" ] || fail "$file has another digest: it was not installed"
	tar -xzf "$dir/$file" -C "$dir"
	bin=${DRAWBRIDGE_BIN:-$HOME/.local/bin}
	mkdir -p "$bin"
	cp "$dir/$name/drawbridge" "$bin/.drawbridge.new"
	chmod 755 "$bin/.drawbridge.new"
	mv "$bin/.drawbridge.new" "$bin/drawbridge" # a running program keeps its file
	echo "Drawbridge @VERSION@ is installed in $bin. Start it with: $bin/drawbridge"
}

main
