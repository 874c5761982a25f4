package clientconf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// isRunning reports whether one of the client's programs is running. It is implemented for Linux
// only.
func isRunning(client Client) bool {
	names := client.Binaries
	if client.ID == "claude-desktop" {
		names = append(slices.Clone(names), "claude-desktop", "Claude", "claude.exe")
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	return slices.ContainsFunc(processes, func(dir string) bool {
		if _, err := os.Readlink(filepath.Join(dir, "exe")); err != nil {
			return false // of another user
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		if slices.Contains(names, filepath.Base(args[0])) {
			return true
		}
		return client.ID == "claude-desktop" && slices.ContainsFunc(args[:min(2, len(args))], func(a string) bool { return strings.Contains(a, "claude-desktop/") })
	})
}
