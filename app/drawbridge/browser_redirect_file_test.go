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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeBrowser creates a program that records its arguments and the address in the file that it was
// given, and then keeps running for a while as a browser does.
func fakeBrowser(t *testing.T) (noted string) {
	t.Helper()
	dir := t.TempDir()
	noted = filepath.Join(dir, "noted")
	name := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	script := fmt.Sprintf("#!/bin/sh\ncp \"$1\" %[1]q.page\necho \"$@\" >%[1]q.new\nmv %[1]q.new %[1]q\nwhile [ -e %[1]q ]; do sleep 0.05; done\n", noted)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
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
			require.NoError(t, open())
			file := ""
			eventually.True(t, "the browser is started", func() bool {
				raw, _ := os.ReadFile(noted)
				file = strings.TrimSpace(string(raw))
				return file != ""
			})
			require.NotContains(t, file, secret, "the browser is started")
			page, err := os.ReadFile(noted + ".page")
			assert.NoError(t, err, "the browser is led")
			assert.Contains(t, string(page), `content="0; url=`+strings.ReplaceAll(address, "&", "&amp;")+`"`, "the browser is led")
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
				require.NoError(t, err, "another user sees no processes, which shows nothing")
				require.Contains(t, string(seen), filepath.Base(file), "another user sees no processes, which shows nothing")
				assert.NotContains(t, string(seen), secret, "another user reads the secret")
			}
			removeExpiredBrowserFiles(data, "another")
			_, err = os.Stat(file)
			assert.NoError(t, err, "the file goes with another's secret")
			removeExpiredBrowserFiles(data, secret)
			_, err = os.Stat(file)
			assert.Error(t, err, "the file stays after its use")
		})
	}
}

func TestExpiredBrowserFileIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	old, err := writeBrowserFile(dir, "http://127.0.0.1:1/#code=a")
	require.NoError(t, err)
	before := time.Now().Add(-browserFileLife - time.Second)
	require.NoError(t, os.Chtimes(old, before, before))
	fresh, err := writeBrowserFile(dir, "http://127.0.0.1:1/#code=b")
	require.NoError(t, err)
	_, err = os.Stat(old)
	assert.Error(t, err, "a file whose time is over stays")
	_, err = os.Stat(fresh)
	assert.NoError(t, err)
}

func TestSnapBrowserFileIsInReadableFolder(t *testing.T) {
	home := t.TempDir()
	common := filepath.Join(home, "snap/firefox/common")
	require.NoError(t, os.MkdirAll(common, 0o700))
	for entry, want := range map[string]string{
		"firefox_firefox.desktop":   filepath.Join(common, snapFolder),
		"chromium_chromium.desktop": "own", // never started, so its folder does not exist
		"org.mozilla.firefox":       "own",
		"../x_y.desktop":            "own",
		"":                          "own",
	} {
		assert.Equalf(t, want, snapBrowserFolder("own", home, entry), "%q", entry)
	}
}
