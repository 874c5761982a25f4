#!/usr/bin/env bash
# Generates the metadata of package repositories from built packages, to be served by any web server:
# repository.sh PACKAGES OUT
#
#   OUT/apt  dists/stable with Packages and Release, and pool/ with the .deb files
#   OUT/rpm  repodata/ and the .rpm files; skipped if createrepo_c is not installed
#
# With GPG_KEY=ID both are signed with that key; otherwise apt needs [trusted=yes]. Needs dpkg-dev.
set -euo pipefail
if [ $# != 2 ] || ! compgen -G "$1/*.deb" >/dev/null; then
	echo 'usage: repository.sh PACKAGES OUT, where PACKAGES contains .deb files' >&2
	exit 2
fi
packages=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
export LC_ALL=C TZ=UTC

# The order of the files, and therefore the metadata, does not depend on the machine.
rm -rf "$out/apt"
mkdir -p "$out/apt/pool"
for deb in "$packages"/*.deb; do # dpkg-scanpackages finds them by these names
	cp -p "$deb" "$out/apt/pool/$(dpkg-deb -W --showformat='${Package}_${Version}_${Architecture}.deb' "$deb")"
done
cd "$out/apt"
architectures=$(for deb in pool/*.deb; do dpkg-deb -f "$deb" Architecture; done | sort -u | tr '\n' ' ')
for arch in $architectures; do
	dir=dists/stable/main/binary-$arch
	mkdir -p "$dir"
	dpkg-scanpackages --multiversion --arch "$arch" pool >"$dir/Packages" 2>/dev/null
	gzip -9nk "$dir/Packages"
done
cd dists/stable
{
	printf '%s\n' 'Origin: Drawbridge' 'Label: Drawbridge' 'Suite: stable' 'Codename: stable' 'Components: main' "Architectures: ${architectures% }"
	date -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" '+Date: %a, %d %b %Y %H:%M:%S UTC'
	echo 'SHA256:'
	find main -type f | sort | while read -r file; do
		printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d' ' -f1)" "$(stat -c %s "$file")" "$file"
	done
} >../Release
mv ../Release Release
if [ -n "${GPG_KEY-}" ]; then
	gpg --batch --yes --local-user "$GPG_KEY" --clearsign --output InRelease Release
	gpg --batch --yes --local-user "$GPG_KEY" --armor --detach-sign --output Release.gpg Release
fi

if compgen -G "$packages/*.rpm" >/dev/null; then
	if ! command -v createrepo_c >/dev/null; then
		echo 'repository: no metadata for rpm, because createrepo_c is not installed' >&2
		exit 0
	fi
	rm -rf "$out/rpm"
	mkdir -p "$out/rpm"
	cp -p "$packages"/*.rpm "$out/rpm/"
	createrepo_c --quiet --simple-md-filenames --set-timestamp-to-revision --revision "${SOURCE_DATE_EPOCH:-$(date +%s)}" "$out/rpm"
	if [ -n "${GPG_KEY-}" ]; then
		gpg --batch --yes --local-user "$GPG_KEY" --armor --detach-sign --output "$out/rpm/repodata/repomd.xml.asc" "$out/rpm/repodata/repomd.xml"
	fi
fi
