//go:build linux || darwin

package window

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program creates a fake of the daemon's program. It records how it was called.
func program(t *testing.T, answer string) (path string, called func() string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "drawbridge")
	script := "#!/bin/sh\nprintf '%s|' \"$DRAWBRIDGE_PRINT_ADDRESS\" \"$@\" >'" + dir + "/called'\n" + answer + "\n"
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path, func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "called"))
		return string(b)
	}
}

func TestStandaloneWindowAsksForAddress(t *testing.T) {
	path, called := program(t, `echo '{"url":"http://127.0.0.1:7575/#code=x","data":"/data of mine"}'`)
	d := newDaemon("")
	const link = `drawbridge://add?name=x&config={"command":"$(touch x)"}`
	address, err := d.startDaemon(t.Context(), path, link)
	require.Truef(t, err == nil && address == "http://127.0.0.1:7575/#code=x", "%q, %v", address, err)
	assert.Equal(t, "1|"+link+"|", called(), "the program was called")
	assert.Equal(t, "/data of mine", d.folder(), "the folder")
	_, err = d.startDaemon(t.Context(), path, "")
	require.NoError(t, err)
	assert.Equal(t, "1|--data|/data of mine|", called(), "the second time the program was called")
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
	_, err := newDaemon("").startDaemon(t.Context(), filepath.Join(t.TempDir(), "none"), "")
	assert.Error(t, err, "a program that is not there was asked")
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
		require.NoError(t, err)
		return regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(string(b), "")
	}
	window, daemon, script := read("Info.plist"), read("Daemon.plist"), read("macos.sh")
	for plist, has := range map[string][]string{
		window: {"<key>CFBundleExecutable</key><string>drawbridge-window</string>", "<string>app.drawbridge</string>", "CFBundleURLSchemes</key><array><string>drawbridge</string>", "NSAllowsLocalNetworking"},
		daemon: {"<key>CFBundleExecutable</key><string>drawbridge</string>", "<string>app.drawbridge.daemon</string>", "<key>LSUIElement</key><true/>"},
	} {
		for _, want := range has {
			assert.Contains(t, plist, want, "a list of properties lacks")
		}
	}
	assert.NotContains(t, daemon, "CFBundleURL", "links go to the daemon, or the window has no place in the Dock")
	assert.NotContains(t, window, "LSUIElement", "links go to the daemon, or the window has no place in the Dock")
	if !strings.Contains(script, `daemon="$app/`+strings.TrimSuffix(strings.TrimPrefix(bundledDaemon, "../"), "/Contents/MacOS/drawbridge")) &&
		!strings.Contains(script, `/Contents/Helpers/Drawbridge Daemon.app"`) {
		t.Error("macos.sh puts the daemon elsewhere")
	}

	app := filepath.Join(t.TempDir(), "Drawbridge.app/Contents")
	self, inner := filepath.Join(app, "MacOS/drawbridge-window"), filepath.Join(app, "Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge")
	for _, path := range []string{self, inner} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
	}
	assert.Equal(t, inner, daemonProgram(self), "in a bundle the daemon is looked for")
	assert.Equal(t, "drawbridge", daemonProgram(filepath.Join(t.TempDir(), "drawbridge-window")), "nowhere beside it the daemon is looked for")
}
