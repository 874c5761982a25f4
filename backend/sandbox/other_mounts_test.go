package sandbox

import (
	"slices"
	"testing"
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
	if !slices.Equal(got, want) {
		t.Errorf("%q\nare private, not\n%q", got, want)
	}
}
