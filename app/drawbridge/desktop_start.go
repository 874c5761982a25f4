package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// startLimit is how long to wait for the daemon to start.
const startLimit = 30 * time.Second

// showOrStart runs the program without a subcommand: it shows the running instance, and first
// starts one in the background if none runs.
func showOrStart(ctx context.Context, o cli.ServeOptions) error {
	printAddress := os.Getenv(printAddressVariable) != ""
	os.Unsetenv(printAddressVariable) // the daemon must not inherit it
	to := ""
	if o.Link != "" {
		var err error
		if to, err = desktop.ResolveLink(o.Link); err != nil {
			return err
		}
	}
	if err := o.Folders.Make(); err != nil {
		return fmt.Errorf("cannot use the data folder: %w (choose another one with --data)", err)
	}
	held, err := loopback.IsDaemonRunning(o.Folders.Data)
	if err != nil {
		return err
	}
	var ended <-chan error // receives the exit of the daemon that we started
	if !held {
		if err := offerFreePort(ctx, o, "drawbridge"); err != nil {
			return err
		}
		os.Remove(o.Folders.ExitReasonFile()) // from now on the file contains the error of this daemon
		if ended, err = launchDaemon(o.Link); err != nil {
			return err
		}
	}
	rt, err := awaitDaemon(ctx, o.Folders, ended)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var out io.Writer = os.Stdout
	switch {
	case printAddress:
	case o.JSON:
		out = os.Stderr // stdout has the document only
		if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"url": rt.URL, "version": rt.Version}); err != nil {
			return err
		}
	default:
		fmt.Println("Drawbridge is running at " + rt.URL)
	}
	place := map[string]string{"to": to}
	if held && !printAddress { // a window may already be open
		var window struct{ Shown bool }
		if err := callDaemon(ctx, rt, o.Folders.Data, "window", place, &window); err == nil && window.Shown {
			return nil
		}
	}
	var page struct{ URL string }
	if err := callDaemon(ctx, rt, o.Folders.Data, "open-code", place, &page); err != nil {
		return err
	}
	if page.URL == "" {
		return errors.New("the daemon returned no URL")
	}
	if printAddress {
		return json.NewEncoder(os.Stdout).Encode(map[string]string{"url": page.URL, "data": o.Folders.Data})
	}
	return openUI(page.URL, o.Folders.Data, false, out)
}

// printAddressVariable is set by a window that was started directly, as macOS starts the program of
// a bundle. The program then prints the address and the data folder as JSON and opens nothing.
const printAddressVariable = "DRAWBRIDGE_PRINT_ADDRESS"

// launchDaemon starts a daemon in the background with our own arguments except the link. It does not wait
// for the daemon; ended receives its exit error.
func launchDaemon(link string) (ended <-chan error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return process.LaunchAndNotify(nil, self, append([]string{"serve"}, slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { return link != "" && arg == link })...)...)
}

// awaitDaemon waits until the daemon of a data folder responds. If the daemon that we started exits
// before and no other daemon holds the folder, the error is the reason.
func awaitDaemon(ctx context.Context, folders config.Folders, ended <-chan error) (loopback.Runtime, error) {
	tick, limit := time.NewTicker(20*time.Millisecond), time.NewTimer(startLimit)
	defer tick.Stop()
	defer limit.Stop()
	for {
		rt, ok, err := loopback.FindDaemon(folders.Data)
		if ok || err != nil {
			return rt, err
		}
		select {
		case <-tick.C:
		case end := <-ended:
			ended = nil
			if held, err := loopback.IsDaemonRunning(folders.Data); err != nil || held {
				continue // another process started a daemon first
			}
			return rt, startFailure(folders, end)
		case <-ctx.Done():
			return rt, ctx.Err()
		case <-limit.C:
			if starting := loopback.StartingDaemon(folders.Data); starting != "" {
				return rt, &core.Error{Code: core.CodeUnavailable, Message: starting, Hint: "It continues in the background. " + stillStartingHint}
			}
			return rt, &core.Error{
				Code: core.CodeUnavailable, Message: "Drawbridge did not start",
				Hint: "See its log: drawbridge logs. To see the error directly, run it in the foreground: drawbridge serve.",
			}
		}
	}
}

// stillStartingHint says what to do about a daemon that does not respond yet.
const stillStartingHint = "Try again in a moment. Its log shows what it is waiting for: drawbridge logs."

// startFailure returns the error that a daemon wrote when it exited during its start.
func startFailure(folders config.Folders, end error) error {
	e := &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge did not start", Hint: "See its log: drawbridge logs.", Cause: end}
	if why, err := osutil.ReadFile(folders.ExitReasonFile()); err == nil && len(why) > 0 {
		e.Message += ": " + strings.TrimSpace(string(why))
	} else if end != nil {
		e.Message += ": its process exited: " + end.Error()
	}
	return e
}

// callDaemon sends a request to the daemon as the user and decodes the response into out.
func callDaemon(ctx context.Context, rt loopback.Runtime, data, route string, in, out any) error {
	admin, err := loopback.ReadAdminToken(data)
	if err != nil {
		return err
	}
	req, err := loopback.NewAPIRequest(ctx, http.MethodPost, rt.URL, route, admin, in)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("Drawbridge responded with status %d", resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// windowLimit is how long to wait for the window to report that it is ready. After that it is
// assumed to be starting.
const windowLimit = 5 * time.Second

// openUI opens the page at url in our window, otherwise in the browser, and otherwise prints the
// address to out. With browser it never uses our window. data is the daemon's folder, which the
// window uses to reconnect. url contains a one-time code, so it is never an argument of a program:
// the window gets it in its environment, the browser in a private file.
func openUI(url, data string, browser bool, out io.Writer) error {
	if !hasScreen() {
		_, err := fmt.Fprintln(out, "Open this in a browser on this machine (the link works only once and expires after two minutes):\n"+url)
		return err
	}
	_, ours := windowProgram()
	if ours = ours && !browser; ours {
		err := openWindow(url, data)
		if err == nil {
			return nil
		}
		needs := map[string]string{"linux": "; it needs a display, GTK 3 and WebKitGTK 4.1"}[runtime.GOOS]
		fmt.Fprintf(out, "Cannot show the window (%v%s). Opening the browser instead.\n", err, needs)
	}
	err := openBrowser(data, url)
	switch {
	case err == nil && !ours:
		return nil
	case err == nil:
		_, err = fmt.Fprintln(out, "If no browser opens, use this URL (it works only once and expires after two minutes):\n"+url)
	case errors.Is(err, errNoOpener):
		_, err = fmt.Fprintln(out, "Open this in a browser (the link works only once and expires after two minutes):\n"+url)
	default:
		_, werr := fmt.Fprintf(out, "Cannot open the browser (%v). Open this link in a browser (it works only once and expires after two minutes):\n%s\n", err, url)
		err = werr
	}
	return err
}

// openWindow opens our window. If url is "", the window waits for the daemon of data.
func openWindow(url, data string) error {
	window, ok := windowProgram()
	if !ok || !hasScreen() {
		return errors.New("there is no window")
	}
	if err := osutil.CheckWindowRuntime(); err != nil {
		return err
	}
	return process.LaunchAndWaitReady(windowLimit, []string{"DRAWBRIDGE_WINDOW_URL=" + url, "DRAWBRIDGE_WINDOW_DATA=" + data}, window)
}

func hasScreen() bool {
	if runtime.GOOS != "linux" {
		return true
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// windowProgram returns the window's binary, which is installed next to our own.
func windowProgram() (path string, ok bool) {
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	return findWindowBinary(self)
}

// findWindowBinary returns the window's binary for the daemon's binary self: a file in the same folder, or
// on macOS the program of the bundle that contains the daemon's bundle.
func findWindowBinary(self string) (path string, ok bool) {
	name := "drawbridge-window"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	places := []string{"."}
	if strings.HasSuffix(filepath.ToSlash(filepath.Dir(self)), ".app/Contents/MacOS") {
		places = append(places, "../../../../MacOS")
	}
	for _, dir := range places {
		path = filepath.Join(filepath.Dir(self), dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// openers returns the programs that open an address in the browser, each with the arguments that
// precede it. None of them is a shell.
func openers() [][]string {
	switch runtime.GOOS {
	case "darwin":
		return [][]string{{"open"}}
	case "windows":
		return [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	}
	return [][]string{{"xdg-open"}, {"gio", "open"}}
}

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
		} else if text, err := osutil.ReadFile(file); err == nil && secret != "" && strings.Contains(string(text), secret) {
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
