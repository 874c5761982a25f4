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

// windowLimit is how long the window may take to say that it is there, before it is
// believed to be on its way.
const windowLimit = 5 * time.Second

// show brings the page at url to the user: in our window, else in the browser,
// else as an address on out; with browser never in our window. data is the daemon's folder,
// in which the window finds it again. url holds a one-time code, so it is never an argument
// of a program: the window gets it in its environment, the browser in a private file.
func show(url, data string, browser bool, out io.Writer) error {
	if !hasScreen() {
		_, err := fmt.Fprintln(out, "Open this in a browser on this machine (the link works once, for two minutes):\n"+url)
		return err
	}
	window, ours := windowProgram()
	if ours = ours && !browser; ours {
		err := process.LaunchShown(windowLimit, []string{"DRAWBRIDGE_WINDOW_URL=" + url, "DRAWBRIDGE_WINDOW_DATA=" + data}, window)
		if err == nil {
			return nil
		}
		fmt.Fprintf(out, "The window cannot be shown (%v; it needs a display, GTK 3 and WebKitGTK 4.1). The browser opens instead.\n", err)
	}
	err := openBrowser(data, url)
	switch {
	case err == nil && !ours:
		return nil
	case err == nil:
		_, err = fmt.Fprintln(out, "Where none opens, use this address (it works once, for two minutes):\n"+url)
	case errors.Is(err, errNoOpener):
		_, err = fmt.Fprintln(out, "Open this in a browser (the link works once, for two minutes):\n"+url)
	default:
		_, werr := fmt.Fprintf(out, "The browser was not opened (%v). Open this in one (the link works once, for two minutes):\n%s\n", err, url)
		err = werr
	}
	return err
}

func hasScreen() bool {
	if runtime.GOOS != "linux" {
		return true
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// windowProgram is the window's binary beside our own.
func windowProgram() (path string, ok bool) {
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	return windowOf(self)
}

// windowOf is the window's binary that belongs to the daemon's, which is self: beside it, or
// in a bundle of macOS the program of the bundle that holds the daemon's.
func windowOf(self string) (path string, ok bool) {
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

// openers are the programs that open an address in the browser, each with the
// arguments that come before it. None of them is a shell.
func openers() [][]string {
	switch runtime.GOOS {
	case "darwin":
		return [][]string{{"open"}}
	case "windows":
		return [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	}
	return [][]string{{"xdg-open"}, {"gio", "open"}}
}
