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

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// A window that is started directly, as macOS starts the program of a bundle, gets no address. It
// then requests one from the daemon's program and passes on the link that it was opened for. See
// build/package/macos.sh.

// startDaemonTimeout limits startDaemon. The daemon's program limits its waits itself.
const startDaemonTimeout = 2 * time.Minute

// printAddressVariable is set for the daemon's program to make it print the address instead of
// opening a window.
const printAddressVariable = "DRAWBRIDGE_PRINT_ADDRESS"

// startDaemon runs the daemon's program, which starts the daemon if none runs, and returns the
// address of the page at the route of link. An empty link means the start page. That program
// validates the link. Afterwards the daemon's folder is known.
func (d *daemon) startDaemon(ctx context.Context, program, link string) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startDaemonTimeout)
	defer cancel()
	var args []string
	if link != "" {
		args = append(args, link)
	}
	if data := d.folder(); data != "" {
		args = append(args, "--data", data)
	}
	cmd := osutil.HideConsole(exec.CommandContext(ctx, program, args...))
	cmd.Env = append(os.Environ(), printAddressVariable+"=1")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot reach Drawbridge: %w: %s", err, bytes.TrimSpace(failed.Bytes()))
	}
	var reply struct{ URL, Data string }
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || localAddress(reply.URL) == "" {
		return "", fmt.Errorf("cannot reach Drawbridge: %s printed no URL", program)
	}
	d.mu.Lock()
	d.data = reply.Data
	d.mu.Unlock()
	return localAddress(reply.URL), nil
}

// bundledDaemon is the path of the daemon's program in a macOS bundle, relative to the folder of
// the window's program. It is in a bundle of its own because macOS could otherwise pass links to it
// instead.
const bundledDaemon = "../Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge"

// daemonProgram returns the daemon's binary for the window's binary self.
func daemonProgram(self string) string {
	name := "drawbridge"
	if runtime.GOOS == "windows" {
		name = "drawbridgew.exe" // the build without a console
	}
	places := []string{name}
	if strings.HasSuffix(filepath.ToSlash(filepath.Dir(self)), ".app/Contents/MacOS") {
		places = append(places, bundledDaemon)
	}
	for _, path := range places {
		path = filepath.Join(filepath.Dir(self), path)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return name
}
