package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/process"
)

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
		fmt.Fprintf(out, "Cannot show the window (%v; it needs a display, GTK 3 and WebKitGTK 4.1). Opening the browser instead.\n", err)
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
