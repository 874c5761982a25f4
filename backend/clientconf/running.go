package clientconf

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// isRunning reports whether one of the client's programs is running, as far as this user may know it.
func isRunning(client Client) bool {
	if runtime.GOOS != "linux" {
		all, _ := process.Processes()
		return slices.ContainsFunc(all, func(p *process.Process) bool {
			file, err := p.Exe()
			return err == nil && belongsTo(client, file)
		})
	}
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

// belongsTo reports whether a file of Windows or macOS is a client's program. Claude Code has the name of
// Claude Desktop, but is in another folder.
func belongsTo(client Client, file string) bool {
	file = strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	name := strings.TrimSuffix(filepath.Base(file), ".exe")
	if client.ID == "claude-desktop" {
		return name == "claude" && slices.ContainsFunc([]string{"/anthropicclaude/", "/windowsapps/claude_", "/claude.app/"}, func(dir string) bool { return strings.Contains(file, dir) })
	}
	return slices.Contains(client.Binaries, name)
}
