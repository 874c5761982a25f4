package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"golang.org/x/sys/unix"
)

// TestFullDiskStopsNoCallAndRecordingResumes fills a small tmpfs, which only root can mount.
// TestFullDatabaseStopsNoCallAndRecordingResumes needs no root.
func TestFullDiskStopsNoCallAndRecordingResumes(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	b := open(t, filepath.Join(dir, "history.db"))
	record(t, b, 0, 50)
	count(t, b)
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	for chunk := make([]byte, 16<<10); ; {
		if _, err := f.Write(chunk); err != nil {
			break
		}
	}
	_ = f.Close()
	big := core.Reply{Result: []byte(`"` + strings.Repeat("é1", 2000) + `"`)}
	for n := range 300 {
		b.Recorder().Record(aCall(1000+n), big)
	}
	waitUntilPaused(t, b, "full")
	if calls, _, err := b.Calls(t.Context(), Query{}); err != nil || len(calls) < 50 {
		t.Fatalf("what was recorded cannot be read: %d, %v", len(calls), err)
	}
	must(t, os.Remove(ballast))
	waitUntilRecording(t, b)
	if n := count(t, b); n != 350 {
		t.Errorf("%d of 350 calls are there", n)
	}
	var sound string
	if err := b.withHandle(func(h *handle) error { return h.read.QueryRow(`PRAGMA integrity_check`).Scan(&sound) }); err != nil || sound != "ok" {
		t.Errorf("the file is not sound: %s, %v", sound, err)
	}
}

// A failing disk is remounted read-only by the system.
func TestReadOnlyDiskStopsNoCallAndRecordingResumes(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "history.db")
	b := open(t, path)
	record(t, b, 0, 20)
	count(t, b)
	b.stop()
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	b = open(t, path)
	record(t, b, 20, 20)
	waitUntilPaused(t, b, "cannot write the history")
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT, ""))
	waitUntilRecording(t, b)
	if n := count(t, b); n != 40 {
		t.Errorf("%d of 40 calls are there", n)
	}
}
