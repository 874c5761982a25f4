package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
)

// Every user of the machine can read command lines. Therefore an address that contains a secret (a
// one-time code, the state of a sign-in) is never passed to a browser as an argument. The browser
// gets a private file that redirects to the address instead.
const (
	browserFolder   = "open"          // in the data folder
	browserFileLife = 2 * time.Minute // equal to the lifetime of a one-time code
)

// redirectPage redirects to an address, which must be escaped for HTML.
const redirectPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Drawbridge</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%[1]s"></head>
<body><p><a href="%[1]s">Continue</a></p></body></html>
`

// openBrowser opens address, which may contain a secret, in the browser. It returns errNoOpener if
// no program for that is installed.
func openBrowser(data, address string) error {
	for _, opener := range openers() {
		path, err := exec.LookPath(opener[0])
		if err != nil {
			continue
		}
		target := address
		if runtime.GOOS != "windows" { // on Windows other users cannot read command lines, and .html may be associated with an editor
			if target, err = writeBrowserFile(browserFileFolder(data), address); err != nil {
				return err
			}
		}
		return process.Launch(nil, path, append(opener[1:], target)...)
	}
	return errNoOpener
}

var errNoOpener = errors.New("cannot open a browser: no program that opens URLs is installed")

// writeBrowserFile writes a file that redirects a browser to address and that only this user can
// read. It also removes expired files of earlier calls.
func writeBrowserFile(dir, address string) (path string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write a file for the browser: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	removeBrowserFiles(dir, "", time.Now().Add(-browserFileLife))
	f, err := os.CreateTemp(dir, "open-*.html") // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, redirectPage, html.EscapeString(address))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// removeBrowserFiles removes the files of dir that were written before a time or that contain
// secret. An empty secret matches no file.
func removeBrowserFiles(dir, secret string, before time.Time) {
	files, _ := filepath.Glob(filepath.Join(dir, "open-*.html"))
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(file)
		} else if text, err := os.ReadFile(file); err == nil && secret != "" && strings.Contains(string(text), secret) {
			_ = os.Remove(file)
		}
	}
}

// removeExpiredBrowserFiles removes the expired files of a data folder, and those that contain
// secret.
func removeExpiredBrowserFiles(data, secret string) {
	dirs := []string{filepath.Join(data, browserFolder)}
	if home, err := os.UserHomeDir(); err == nil && runtime.GOOS == "linux" {
		snaps, _ := filepath.Glob(filepath.Join(home, "snap", "*", "common", snapFolder))
		dirs = append(dirs, snaps...)
	}
	for _, dir := range dirs {
		removeBrowserFiles(dir, secret, time.Now().Add(-browserFileLife))
	}
}

const snapFolder = "drawbridge-open"

// snapDesktopFile matches the name of a desktop entry that snapd created: SNAP_APP.desktop.
var snapDesktopFile = regexp.MustCompile(`^([a-z0-9-]+)_[A-Za-z0-9.-]+\.desktop$`)

// browserFileFolder returns the folder for files that the user's browser must read. A browser
// installed as a snap can read neither hidden folders of the home folder nor /tmp, but it can read
// the folder of its snap.
func browserFileFolder(data string) string {
	own := filepath.Join(data, browserFolder)
	if runtime.GOOS != "linux" {
		return own
	}
	settings, err := exec.LookPath("xdg-settings")
	if _, none := os.Stat("/var/lib/snapd"); err != nil || none != nil {
		return own
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	entry, err := osutil.HideConsole(exec.CommandContext(ctx, settings, "get", "default-web-browser")).Output()
	home, herr := os.UserHomeDir()
	if err != nil || herr != nil {
		return own
	}
	return snapBrowserFolder(own, home, strings.TrimSpace(string(entry)))
}

// snapBrowserFolder returns the folder that the snap of a desktop entry can read, or own if the
// entry does not belong to a snap.
func snapBrowserFolder(own, home, entry string) string {
	m := snapDesktopFile.FindStringSubmatch(entry)
	if m == nil {
		return own
	}
	common := filepath.Join(home, "snap", m[1], "common")
	if info, err := os.Stat(common); err != nil || !info.IsDir() {
		return own
	}
	return filepath.Join(common, snapFolder)
}
