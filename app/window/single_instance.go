package window

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/hideconsole"
)

// Who starts the window himself, as macOS does with the program of a bundle, names no
// address. The window then asks the daemon's program for one, and hands it the link that
// it was opened for. See build/package/macos.sh.

// summonLimit is how long that may take: the daemon may have to start first.
const summonLimit = 45 * time.Second

// waits tells the daemon's program that a window is there already and wants to be told the
// address, instead of being opened.
const waits = "DRAWBRIDGE_WINDOW_WAITS"

// startDaemon has the daemon's program start the daemon if none runs, and returns the address
// of the page at the place that link leads to; "" is its beginning. What a link may say is
// checked by that program. From then on the daemon's folder is known.
func (d *daemon) startDaemon(ctx context.Context, program, link string) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, summonLimit)
	defer cancel()
	var args []string
	if link != "" {
		args = append(args, link)
	}
	if data := d.folder(); data != "" {
		args = append(args, "--data", data)
	}
	cmd := hideconsole.HideWindow(exec.CommandContext(ctx, program, args...))
	cmd.Env = append(os.Environ(), waits+"=1")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot reach Drawbridge: %w: %s", err, bytes.TrimSpace(failed.Bytes()))
	}
	var told struct{ URL, Data string }
	if err := json.Unmarshal(out.Bytes(), &told); err != nil || local(told.URL) == "" {
		return "", fmt.Errorf("cannot reach Drawbridge: %s gave no address", program)
	}
	d.mu.Lock()
	d.data = told.Data
	d.mu.Unlock()
	return local(told.URL), nil
}

// bundled is where the daemon's program is in a bundle of macOS, seen from the folder of
// the window's. It has a bundle of its own, or macOS could hand links to it instead.
const bundled = "../Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge"

// daemonProgram is the daemon's binary that belongs to the window's, which is self.
func daemonProgram(self string) string {
	name := "drawbridge"
	if runtime.GOOS == "windows" {
		name = "drawbridgew.exe" // without a console
	}
	places := []string{name}
	if strings.HasSuffix(filepath.ToSlash(filepath.Dir(self)), ".app/Contents/MacOS") {
		places = append(places, bundled)
	}
	for _, path := range places {
		path = filepath.Join(filepath.Dir(self), path)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return name
}
