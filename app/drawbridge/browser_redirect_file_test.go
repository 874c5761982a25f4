//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// fakeBrowser creates a program that records its arguments and the address in the file that it was
// given, and then keeps running for a while as a browser does.
func fakeBrowser(t *testing.T) (noted string) {
	t.Helper()
	dir := t.TempDir()
	noted = filepath.Join(dir, "noted")
	name := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	script := fmt.Sprintf("#!/bin/sh\ncp \"$1\" %[1]q.page\necho \"$@\" >%[1]q.new\nmv %[1]q.new %[1]q\nwhile [ -e %[1]q ]; do sleep 0.05; done\n", noted)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("DISPLAY", ":9999")
	return noted
}

// Every user can read command lines, so they must contain neither a one-time code nor the state of
// a sign-in.
func TestBrowserSecretsAreHiddenFromOtherUsers(t *testing.T) {
	secret := "s3cret-" + strings.Repeat("x", 20)
	address := "https://accounts.example.com/authorize?a=1&state=" + secret
	data := t.TempDir()
	for name, open := range map[string]func() error{
		"page":    func() error { return openUI(address, data, true, os.Stderr) },
		"sign-in": func() error { return (&logins{data: data}).browse(address) },
	} {
		t.Run(name, func(t *testing.T) {
			noted := fakeBrowser(t)
			if err := open(); err != nil {
				t.Fatal(err)
			}
			file := ""
			eventually.True(t, "the browser is started", func() bool {
				raw, _ := os.ReadFile(noted)
				file = strings.TrimSpace(string(raw))
				return file != ""
			})
			if strings.Contains(file, secret) {
				t.Fatalf("the browser is started with %q", file)
			}
			page, err := os.ReadFile(noted + ".page")
			if err != nil || !strings.Contains(string(page), `content="0; url=`+strings.ReplaceAll(address, "&", "&amp;")+`"`) {
				t.Errorf("the browser is led by %s, %v", page, err)
			}
			for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v", path, info, err)
				}
			}
			if os.Getuid() != 0 || runtime.GOOS != "linux" {
				t.Log("SKIPPED the look of another user: only root can become one")
			} else {
				thief := exec.Command("/bin/sh", "-c", `cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ "$0" 2>/dev/null; true`, file)
				thief.Dir = "/"
				thief.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				seen, err := thief.Output()
				if err != nil || !strings.Contains(string(seen), filepath.Base(file)) {
					t.Fatalf("another user sees no processes, which shows nothing: %v", err)
				}
				if strings.Contains(string(seen), secret) {
					t.Error("another user reads the secret")
				}
			}
			removeExpiredBrowserFiles(data, "another")
			if _, err := os.Stat(file); err != nil {
				t.Errorf("the file goes with another's secret: %v", err)
			}
			removeExpiredBrowserFiles(data, secret)
			if _, err := os.Stat(file); err == nil {
				t.Error("the file stays after its use")
			}
		})
	}
}

func TestExpiredBrowserFileIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	old, err := writeBrowserFile(dir, "http://127.0.0.1:1/#code=a")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-browserFileLife - time.Second)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	fresh, err := writeBrowserFile(dir, "http://127.0.0.1:1/#code=b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a file whose time is over stays")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}

func TestSnapBrowserFileIsInReadableFolder(t *testing.T) {
	home := t.TempDir()
	common := filepath.Join(home, "snap/firefox/common")
	if err := os.MkdirAll(common, 0o700); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{
		"firefox_firefox.desktop":   filepath.Join(common, snapFolder),
		"chromium_chromium.desktop": "own", // never started, so its folder does not exist
		"org.mozilla.firefox":       "own",
		"../x_y.desktop":            "own",
		"":                          "own",
	} {
		if got := snapBrowserFolder("own", home, entry); got != want {
			t.Errorf("%q: %s", entry, got)
		}
	}
}
