package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
)

func TestSecretIsReadFromStdinAndNeverPrinted(t *testing.T) {
	data := t.TempDir()
	getenv := func(name string) string {
		if name == "DRAWBRIDGE_KEYRING" {
			return "off"
		}
		return ""
	}
	const canary = "canary-1b2c3d"
	do := func(want int, input string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		code := Main(t.Context(), append([]string{"--data", data}, args...), Options{Features: features.Commands(), Env: terminal.Env{Stdin: strings.NewReader(input), Stdout: &out, Stderr: &out, Getenv: getenv}})
		if code != want {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, out.String())
		}
		if strings.Contains(out.String(), canary) {
			t.Fatalf("%v shows the secret:\n%s", args, out.String())
		}
		return out.String()
	}
	if out := do(0, canary+"\n", "secret", "set", "github.TOKEN"); !strings.Contains(out, "${secret:github.TOKEN}") || !strings.Contains(out, "no keyring") {
		t.Fatalf("it says\n%s", out)
	}
	do(2, "", "secret", "set", "github.TOKEN", canary)
	do(2, "", "secret", "set", "github.TOKEN")
	do(2, canary, "secret", "set", "a b")
	if out := do(0, "", "secret", "list"); !strings.Contains(out, "github.TOKEN") || !strings.Contains(out, "not used") {
		t.Fatalf("it lists\n%s", out)
	}
	do(0, "", "secret", "list", "--json")
	if got, err := secret.For(data, getenv).Get(t.Context(), "github.TOKEN"); err != nil || got != canary {
		t.Fatalf("kept %q (%v)", got, err)
	}
	files, _ := filepath.Glob(filepath.Join(data, "*"))
	for _, file := range files {
		if b, _ := os.ReadFile(file); bytes.Contains(b, []byte(canary)) {
			t.Errorf("%s holds the secret", file)
		}
	}
	do(0, "", "secret", "rm", "github.TOKEN")
	do(1, "", "secret", "rm", "github.TOKEN")
}
