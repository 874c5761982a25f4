//go:build linux || darwin

package window

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// program creates a fake of the daemon's program. It records how it was called.
func program(t *testing.T, answer string) (path string, called func() string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "drawbridge")
	script := "#!/bin/sh\nprintf '%s|' \"$DRAWBRIDGE_PRINT_ADDRESS\" \"$@\" >'" + dir + "/called'\n" + answer + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "called"))
		return string(b)
	}
}

func TestStandaloneWindowAsksForAddress(t *testing.T) {
	path, called := program(t, `echo '{"url":"http://127.0.0.1:7575/#code=x","data":"/data of mine"}'`)
	d := newDaemon("")
	const link = `drawbridge://add?name=x&config={"command":"$(touch x)"}`
	if address, err := d.startDaemon(t.Context(), path, link); err != nil || address != "http://127.0.0.1:7575/#code=x" {
		t.Fatalf("%q, %v", address, err)
	}
	if got := called(); got != "1|"+link+"|" {
		t.Errorf("the program was called with %q", got)
	}
	if d.folder() != "/data of mine" {
		t.Errorf("the folder is %q", d.folder())
	}
	if _, err := d.startDaemon(t.Context(), path, ""); err != nil {
		t.Fatal(err)
	}
	if got := called(); got != "1|--data|/data of mine|" {
		t.Errorf("the second time the program was called with %q", got)
	}
}

func TestWindowRefusesNonLoopbackAddress(t *testing.T) {
	for _, answer := range []string{
		`echo '{"url":"http://evil.example/","data":"/x"}'`, `echo nonsense`, `true`, `echo the link is not valid >&2; exit 1`,
	} {
		path, _ := program(t, answer)
		d := newDaemon("")
		if address, err := d.startDaemon(t.Context(), path, "drawbridge://run"); err == nil || address != "" || d.folder() != "" {
			t.Errorf("%s: %q, %v, folder %q", answer, address, err, d.folder())
		} else if strings.Contains(answer, "exit 1") && !strings.Contains(err.Error(), "the link is not valid") {
			t.Errorf("it does not say why: %v", err)
		}
	}
	if _, err := newDaemon("").startDaemon(t.Context(), filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a program that is not there was asked")
	}
}

// The page has been redirected once, but the address of a link still takes effect.
func TestReloadedPageFollowsLink(t *testing.T) {
	at := healthy(t).URL
	e := newEntryPage(at+"/#code=first", func(context.Context) string { return at + "/#code=third" })
	page(t, e)
	e.redirectTo(at + "/#code=second&to=x")
	if got := page(t, e); !strings.Contains(got, "#code=second") || e.pageAddress() != at+"/#code=second&to=x" {
		t.Errorf("it goes to %s\n%s", e.pageAddress(), got)
	}
}

// The bundle for macOS registers links for the window only. The daemon has a bundle of its own
// without links, and each finds the other where macos.sh puts it.
func TestMacOSBundleRegistersLinks(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join("../../build/package", path))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(string(b), "")
	}
	window, daemon, script := read("Info.plist"), read("Daemon.plist"), read("macos.sh")
	for plist, has := range map[string][]string{
		window: {"<key>CFBundleExecutable</key><string>drawbridge-window</string>", "<string>app.drawbridge</string>", "CFBundleURLSchemes</key><array><string>drawbridge</string>", "NSAllowsLocalNetworking"},
		daemon: {"<key>CFBundleExecutable</key><string>drawbridge</string>", "<string>app.drawbridge.daemon</string>", "<key>LSUIElement</key><true/>"},
	} {
		for _, want := range has {
			if !strings.Contains(plist, want) {
				t.Errorf("a list of properties lacks %s", want)
			}
		}
	}
	if strings.Contains(daemon, "CFBundleURL") || strings.Contains(window, "LSUIElement") {
		t.Error("links go to the daemon, or the window has no place in the Dock")
	}
	if !strings.Contains(script, `daemon="$app/`+strings.TrimSuffix(strings.TrimPrefix(bundledDaemon, "../"), "/Contents/MacOS/drawbridge")) &&
		!strings.Contains(script, `/Contents/Helpers/Drawbridge Daemon.app"`) {
		t.Error("macos.sh puts the daemon elsewhere")
	}

	app := filepath.Join(t.TempDir(), "Drawbridge.app/Contents")
	self, inner := filepath.Join(app, "MacOS/drawbridge-window"), filepath.Join(app, "Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge")
	for _, path := range []string{self, inner} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := daemonProgram(self); got != inner {
		t.Errorf("in a bundle the daemon is looked for at %s", got)
	}
	if got := daemonProgram(filepath.Join(t.TempDir(), "drawbridge-window")); got != "drawbridge" {
		t.Errorf("nowhere beside it the daemon is looked for at %s", got)
	}
}
