//go:build !windows

// The sandbox requires Linux, and its rules have the paths of Unix.

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPrivateFilesArePrivateUnderEveryMount(t *testing.T) {
	mounts := mountedTwice(`22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:30 /@home /home rw - btrfs /dev/sdb rw
24 22 0:30 / /mnt/all\040of\040it rw - btrfs /dev/sdb rw
25 22 0:30 /@home/me/.ssh /srv/keys rw - btrfs /dev/sdb rw
26 22 0:30 /@other /srv/other rw - btrfs /dev/sdb rw
27 22 8:1 /deploy/var /var rw - ext4 /dev/sda1 rw
28 22 0:31 / /proc rw - proc proc rw
`)
	got := appendOtherMounts([]string{"/home/me/.ssh", "/home/me/.aws/key", "/var/lib/own"}, mounts)
	want := []string{
		"/deploy/var/lib/own", "/home/me/.aws/key", "/home/me/.ssh", "/mnt/all of it/@home/me/.aws/key", "/mnt/all of it/@home/me/.ssh", "/srv/keys", "/var/lib/own",
	}
	assert.Equal(t, want, got)
}

func TestListedFoldersGiveTheSameLinks(t *testing.T) {
	home := resolved(t.TempDir())
	in := func(path string) string { return filepath.Join(home, path) }
	for _, dir := range []string{"real/deep/er", "closed/in", "dots"} {
		require.NoError(t, os.MkdirAll(in(dir), 0o755))
	}
	require.NoError(t, errors.Join(os.WriteFile(in("file"), nil, 0o600), os.WriteFile(in("real/file"), nil, 0o600)))
	for link, to := range map[string]string{
		"link": "real", "absolute": in("real/deep"), "dangling": "none/at/all", "loop": "loop", "real/up": "../dots", "dots/down": "../real/deep/er", "closed/in/link": "../../dots", "to-file": "file",
	} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Skipf("this account may not create symbolic links (Windows): %v", err)
		}
	}
	if err := os.Chmod(in("closed"), 0o111); err != nil { // it cannot be listed, except by root
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(in("closed"), 0o700) })
	var paths []string
	for _, first := range []string{"", "real", "link", "absolute", "dangling", "loop", "dots", "closed", "file", "to-file", "none", "real/up", "link/../dots", "./real/"} {
		for _, rest := range []string{"", "deep", "deep/er", "up", "up/down", "down", "in", "in/link", "in/link/down", "file", "none/x", "none/y", ".."} {
			paths = append(paths, home+"/"+first+"/"+rest, in(first+"/"+rest))
		}
	}
	listing := newLinkReader()
	listing.preferListing = true
	for range 2 { // the second time, all folders are listed
		for _, path := range paths {
			target, through := newLinkReader().resolve(path)
			got, by := listing.resolve(path)
			assert.Truef(t, got == target && slices.Equal(by, through), "%s leads to %s through %q, not to %s through %q", path, got, by, target, through)
		}
	}
	if target, err := filepath.EvalSymlinks(in("link/up/down")); err != nil || listing.resolved(in("link/up/down")) != target {
		t.Errorf("not %s, %v", target, err)
	}
}

// Nothing that a start found out may be used for a later one.
func TestPrivateFolderThatAppearsBetweenStartsIsPrivate(t *testing.T) {
	home := resolved(t.TempDir())
	t.Setenv("TMPDIR", filepath.Join(home, "none"))
	p := Program{Home: home, Path: "/usr/bin/true", Read: []string{home}}
	for _, dir := range []string{"documents", ".config"} {
		require.NoError(t, os.Mkdir(filepath.Join(home, dir), 0o755))
	}
	if r := RulesFor(p); !r.MayRead(home + "/documents/x") {
		t.Fatalf("%q", r.Read)
	}
	for _, dir := range []string{".ssh", ".config/google-chrome/Default", "moved", "later", ".config/later"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	if err := os.Symlink("moved", home+"/.aws"); err != nil {
		t.Skipf("this account may not create symbolic links (Windows): %v", err)
	}
	r := RulesFor(p)
	for path, want := range map[string]bool{".ssh/id": false, ".config/google-chrome/Default/Cookies": false, "moved/credentials": false, "later/x": true, ".config/later/x": true, "documents/x": true} {
		assert.Equal(t, want, r.MayRead(home+"/"+path))
	}
}
