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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		require.Equal(t, want, code, args)
		require.NotContains(t, out.String(), canary, args)
		return out.String()
	}
	out := do(0, canary+"\n", "secret", "set", "github.TOKEN")
	require.Truef(t, strings.Contains(out, "${secret:github.TOKEN}") && strings.Contains(out, "no keyring"), "it says\n%s", out)
	do(2, "", "secret", "set", "github.TOKEN", canary)
	do(2, "", "secret", "set", "github.TOKEN")
	do(2, canary, "secret", "set", "a b")
	out = do(0, "", "secret", "list")
	require.Truef(t, strings.Contains(out, "github.TOKEN") && strings.Contains(out, "not used"), "it lists\n%s", out)
	do(0, "", "secret", "list", "--json")
	got, err := secret.For(data, getenv).Get(t.Context(), "github.TOKEN")
	require.Truef(t, err == nil && got == canary, "kept %q (%v)", got, err)
	files, _ := filepath.Glob(filepath.Join(data, "*"))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		assert.Falsef(t, bytes.Contains(b, []byte(canary)), "%s holds the secret", file)
	}
	do(0, "", "secret", "rm", "github.TOKEN")
	do(1, "", "secret", "rm", "github.TOKEN")
}
