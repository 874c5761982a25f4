package guests

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

// Where a sandbox sees the folder of its guest, and the program.
const (
	insideFolder  = "/run/drawbridge"
	insideProgram = "/usr/local/bin/drawbridge"
)

// setup returns what to write where, so that a guest can connect. The token is in the folder only, so
// that nothing here is secret.
func setup(name, folder, program string) []SetupStep {
	mount := func(from, to string) string {
		return mountField("source="+from) + ",target=" + to + ",type=bind,readonly"
	}
	mounts := []string{mount(folder, insideFolder), mount(program, insideProgram)}
	return []SetupStep{
		{"devcontainer.json", indented(map[string]any{"mounts": mounts})},
		{"docker run", "docker run --mount " + quote(mounts[0]) + " --mount " + quote(mounts[1]) + " IMAGE"},
		{"The entry of the client inside", entry(insideProgram, insideFolder)},
		{"ssh, with drawbridge in the PATH of HOST", "ssh HOST 'umask 077; mkdir -p ~/.drawbridge-" + name + "; cd ~/.drawbridge-" + name + " && rm -f sock && cat > token' < " + quote(filepath.Join(folder, loopback.GuestToken)) + "\n" +
			"ssh -R /home/USER/.drawbridge-" + name + "/sock:" + quote(filepath.Join(folder, loopback.GuestSocket)) + " HOST"},
		{"The entry of the client on HOST", entry("drawbridge", "/home/USER/.drawbridge-"+name)},
	}
}

// noSockets is the error on Windows, whose sockets other systems cannot reach. A client in WSL is one of
// Windows if it starts the program of Windows.
func noSockets(name, program string) error {
	if drive, rest, ok := strings.Cut(program, `:\`); ok {
		program = "/mnt/" + strings.ToLower(drive) + "/" + strings.ReplaceAll(rest, `\`, "/")
	}
	return &core.Error{
		Code: core.CodeUnavailable, Message: "cannot add a guest on Windows: sandboxes cannot reach its sockets",
		Hint: "In WSL, give the client this entry, which needs no guest: " + strings.Join(strings.Fields(clientEntry(program, "--client", name)), " "),
	}
}

func entry(program, folder string) string {
	return clientEntry(program, "--socket", folder+"/"+loopback.GuestSocket)
}

func clientEntry(program string, args ...string) string {
	return indented(map[string]any{"mcpServers": map[string]any{"drawbridge": map[string]any{
		"command": program, "args": append([]string{"stdio"}, args...),
	}}})
}

func indented(v any) string {
	text, _ := json.MarshalIndent(v, "", "  ") // strings only: cannot fail
	return string(text)
}

// mountField quotes a field of a --mount option, which is a line of CSV.
func mountField(field string) string {
	if !strings.ContainsAny(field, ",\"") {
		return field
	}
	return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
}

// quote quotes text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
