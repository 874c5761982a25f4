package upstream

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failure is one file of testdata: the stderr of a program before it exited, and the line that
// the user would pick as the reason. origin is "recorded", or "written" if only the format of a
// runtime is known.
type failure struct {
	name, command, exit, origin, want, action, remedy string
	lines                                             []string
}

func failures(t *testing.T) (all []failure) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		head, body, _ := strings.Cut(string(text), "\n\n")
		f := failure{name: strings.TrimSuffix(filepath.Base(file), ".txt")}
		for _, line := range strings.Split(head, "\n") {
			key, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch key {
			case "command":
				f.command = value
			case "exit":
				f.exit = value
			case "origin":
				f.origin = value
			case "want":
				f.want = value
			case "action":
				f.action = value
			case "remedy":
				f.remedy = value
			}
		}
		for _, line := range strings.Split(body, "\n") {
			if strings.TrimSpace(line) != "" { // as in the log
				f.lines = append(f.lines, line)
			}
		}
		all = append(all, f)
	}
	return all
}

// TestReasonPicksDecisiveLine prints a table of the results with -v.
func TestReasonPicksDecisiveLine(t *testing.T) {
	right, recorded, rightRecorded := 0, 0, 0
	all := failures(t)
	for _, f := range all {
		got := DecisiveLine(f.lines)
		ok := got == f.want || f.want != "" && strings.HasPrefix(got, f.want)
		if f.origin == "recorded" {
			recorded++
		}
		mark := "wrong"
		if ok {
			mark = "right"
			right++
			if f.origin == "recorded" {
				rightRecorded++
			}
		}
		hint, _ := Advice(got, f.lines, strings.Fields(f.command)[0])
		t.Logf("%s  %-45s exit %-4s %s\n        %s", mark, f.name, f.exit, got, hint)
		assert.Truef(t, ok, "%s: got %q, the user picks %q", f.name, got, f.want)
	}
	t.Logf("%d of %d right; recorded: %d of %d", right, len(all), rightRecorded, recorded)
}

func TestActionForEachReason(t *testing.T) {
	for _, f := range failures(t) {
		got, remedy := Advice(DecisiveLine(f.lines), f.lines, strings.Fields(f.command)[0])
		if f.remedy == string(core.RemedyAllowDocker) && runtime.GOOS != "linux" {
			continue // Docker Desktop has no group of its users
		}
		if !strings.Contains(got, f.action) || f.action == "" && strings.Contains(got, "secret set") {
			t.Errorf("%s: got %q, want %q", f.name, got, f.action)
		}
		assert.Equal(t, f.remedy, strings.TrimSpace(string(remedy.Kind)+" "+remedy.Name), f.name)
		if (got == "") != (remedy.Kind == "") || remedy.Command != "" && !strings.Contains(got, remedy.Command) && remedy.Kind != core.RemedyInstallPackage {
			t.Errorf("%s: the hint %q and the remedy %+v differ", f.name, got, remedy)
		}
	}
}

func TestMissingProgramSuggestsSystemPackage(t *testing.T) {
	for _, c := range []struct{ program, goos, manager, want string }{
		{"uvx", "linux", "apt-get", "curl -LsSf https://astral.sh/uv/install.sh | sh"},
		{"uvx", "linux", "pacman", "sudo pacman -S uv"},
		{"/usr/bin/npx", "linux", "apt-get", "sudo apt install nodejs npm"},
		{"npx.cmd", "windows", "winget", "winget install OpenJS.NodeJS.LTS"},
		{"npx", "darwin", "brew", "brew install node"},
		{"npx", "darwin", "", "Install Node.js: https://nodejs.org"},
		{"docker", "linux", "apt-get", "https://docs.docker.com/get-docker"},
		{"docker", "windows", "winget", "winget install Docker.DockerDesktop"},
		{"acme-mcp", "linux", "apt-get", "Install acme-mcp, or set command to its full path."},
	} {
		got, remedy := install(c.program, c.goos, func(name string) bool { return name == c.manager })
		if known := remedy.Kind == core.RemedyInstallProgram; !strings.Contains(got, c.want) || known == (c.program == "acme-mcp") || !strings.Contains(got, remedy.Command) {
			t.Errorf("%s on %s with %q: %q, %+v", c.program, c.goos, c.manager, got, remedy)
		}
	}
	for goos, want := range map[string]string{"linux": "systemctl start docker", "darwin": "Docker Desktop", "windows": "Docker Desktop"} {
		got, remedy := startDockerAdvice(goos, "")
		assert.Truef(t, strings.Contains(got, want) && remedy.Kind == core.RemedyStartDocker, "%s: %q, %+v", goos, got, remedy)
	}
}

func TestUnrelatedOutputIsNotTheCause(t *testing.T) {
	traffic, heap := `got {"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"
	for _, c := range []struct {
		exit     string
		bySignal bool
		line     string
		want     string
		isCause  bool
	}{
		{"ended by signal: killed", true, traffic, "ended by signal: killed; last output: " + traffic, false},
		{"ended by signal: killed", true, "the file was not found", "ended by signal: killed; last output: the file was not found", false},
		{"ended by signal: aborted", true, heap, "ended by signal: aborted: " + heap, true},
		{"exited with status 7", false, traffic, "exited with status 7; last output: " + traffic, false},
		{"exited with status 1", false, "API_KEY is required", "exited with status 1: API_KEY is required", true},
		{"exited with status 1", false, "", "exited with status 1", false},
	} {
		got, _, isCause := Explain(c.exit, c.bySignal, []string{c.line})
		assert.Truef(t, got == c.want && isCause == c.isCause, "got %q, %v, want %q", got, isCause, c.want)
	}
}

func FuzzLineAndAction(f *testing.F) {
	f.Add("Error: [\n  {\n\"message\": \"x\"")
	f.Add("Traceback (most recent call last):\n  File")
	f.Add("thread 'main' panicked at x:1:2:")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		got := DecisiveLine(lines)
		n := len([]rune(got))
		assert.Truef(t, n <= maxText && !strings.Contains(got, "\n"), "%d characters: %q", n, got)
		Advice(got, lines, "node")
	})
}

func BenchmarkLine(b *testing.B) {
	var lines []string
	for i := range MaxLines {
		lines = append(lines, fmt.Sprintf("    at Object.<anonymous> (/home/ada/server/index.js:%d:1)", i))
	}
	for b.Loop() {
		DecisiveLine(lines)
	}
}
