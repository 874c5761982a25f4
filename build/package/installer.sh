#!/usr/bin/env bash
# Writes install.sh, which installs the version in a folder, with the digests of its archives for Linux:
# installer.sh FOLDER. RELEASE_URL is where the files will be.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
cd "$here/../.."
out=$1
files=("$out"/drawbridge-*-linux-*.tar.gz)
version=${files[0]##*/drawbridge-}
version=${version%-linux-*}
url=${RELEASE_URL-https://github.com/drawbridge-mcp/drawbridge/releases/download/v$version}
digests=$(cd "$out" && sha256sum -- drawbridge-*-linux-*.tar.gz)
sed "s|@VERSION@|$version|g; s|@URL@|$url|g" build/package/install.sh |
	awk -v digests="$digests" '{ if ($0 == "@DIGESTS@\047") print digests "\047"; else print }' >"$out/install.sh"
