package upstream

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

// launchers are programs that download a server and then run it as a child process.
var launchers = map[string]bool{"npx": true, "uvx": true, "bunx": true, "pnpx": true, "pipx": true}

// launcherName returns the name of the launcher or container command that command is, or "".
func launcherName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	if runtime.GOOS == "windows" {
		for _, suffix := range []string{".exe", ".cmd", ".bat"} {
			name = strings.TrimSuffix(name, suffix)
		}
	}
	if launchers[name] || name == "docker" || name == "podman" {
		return name
	}
	return ""
}

// DownloadingLauncher returns the launcher, for example "npx", that is downloading a server during
// its start, or "" if no download is detected. A package launcher downloads while it has no child
// process; docker and podman report downloads on stderr.
func (d *Dialer) DownloadingLauncher(server string) string {
	for _, p := range d.running.get(server) {
		switch p.launcher {
		case "":
		case "docker", "podman":
			if isPullingImage(d.Logs.Tail(server, 50)) {
				return p.launcher
			}
		default:
			if u, err := p.Usage(); err == nil && len(u.Tree) == 1 {
				return p.launcher
			}
		}
	}
	return ""
}

// isPullingImage reports whether the last line about an image says that it is missing.
func isPullingImage(lines []serverlog.Line) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		text := lines[i].Text
		switch {
		case lines[i].Level != serverlog.Stderr:
			if lines[i].Level == serverlog.Info && strings.HasPrefix(text, "starting") {
				return false // the lines before belong to an earlier start
			}
		case strings.HasPrefix(text, "Unable to find image"), strings.HasPrefix(text, "Trying to pull"):
			return true
		case strings.HasPrefix(text, "Status: "), strings.HasPrefix(text, "Writing manifest"):
			return false
		}
	}
	return false
}
