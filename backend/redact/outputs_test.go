package redact_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secret is a generated secret: a text as a file or a server may contain it, and the part of it
// that must not be seen.
type secret struct{ shape, key, text, hidden string }

// generate returns a secret of each shape that is recognized by its name or format.
func generate(random *rand.Rand) (all []secret) {
	letters := func(n int, alphabet string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for _, s := range redact.Shapes() {
		rest := letters(s.Length+random.IntN(30), plain+"_")
		if s.Dots {
			rest = letters(20, plain) + "." + rest
		}
		all = append(all, secret{s.Prefix, "plain", s.Prefix + rest, rest})
	}
	for _, name := range redact.SecretNames() {
		value := letters(8+random.IntN(20), plain)
		all = append(all, secret{name, name, value, value})
	}
	password := letters(12, plain)
	all = append(all, secret{"URL", "database", "postgres://me:" + password + "@db.example:5432/x", password})
	body := letters(64, plain)
	return append(all, secret{"PEM", "certificate", "-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----", body})
}

// TestEveryShapeIsHiddenInEveryOutput generates secrets of every known shape and looks for them in
// everything that leaves the program.
func TestEveryShapeIsHiddenInEveryOutput(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	history, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer func() { _ = history.Close() }()
	recorder := history.Recorder()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = recorder.Run(ctx) }()
	defer func() { stop(); <-done }()
	for round := range 2 {
		for n, s := range generate(random) {
			known := "kn0wn-" + s.hidden // only its value tells that it is a secret
			recorder.SetSecrets([]string{known}, nil)
			for output, text := range outputs(t, history, int64(1000*round+n+1), s, known) {
				assert.NotContainsf(t, text, s.hidden, "seed %d: %s shows the secret %q of shape %s", seed, output, s.text, s.shape)
			}
		}
	}
}

// outputs returns all outputs of a program that has the secret in its configuration, its calls and
// its log.
func outputs(t *testing.T, history *store.Store, id int64, s secret, known string) map[string]string {
	t.Helper()
	recorder := history.Recorder()
	embedded := "see " + s.text
	if s.text == s.hidden { // only its name tells that it is a secret
		embedded = "see --" + s.key
	}
	entry := map[string]any{
		"command": "npx", "env": map[string]string{s.key: s.text},
		"args":  []string{s.key + "=" + s.text, "--" + s.key, s.text, "--" + s.key + "=" + s.text, embedded},
		"oauth": map[string]string{s.key: s.text},
	}
	file, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"a": entry}}, "", "  ")
	require.NoError(t, err)
	payload, _ := json.Marshal(map[string]any{s.key: s.text, "text": "at " + s.key + ": " + s.text + "\nand " + known})
	line := s.key + "=" + s.text
	now := time.Now()
	call := &core.Call{ID: id, At: now, Began: now, Method: "tools/call", Server: "a", Name: "t", Params: payload, Arguments: core.Span{End: len(payload)}, Reason: line}
	recorder.Record(call, core.Reply{Error: payload})
	recorder.Flush(t.Context())
	recorded, err := history.Call(t.Context(), id)
	require.NoError(t, err)
	if len(recorded.Arguments) < 10 || len(recorded.Error) < 10 {
		t.Fatalf("recorded were %q and %q", recorded.Arguments, recorded.Error)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "config.jsonc")
	for name, text := range map[string]string{"config.jsonc": string(file), "drawbridge.log": line + " and " + known + "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var bundle strings.Builder
	for _, f := range doctor.Bundle(doctor.BundleOptions{
		Folders: config.Folders{Logs: dir, State: dir, Data: dir}, Config: []string{path}, Redact: recorder.Redact, Secrets: []string{known},
		Documents: map[string]any{"status": map[string]string{"reason": line}},
	}) {
		bundle.WriteString(f.Text)
	}
	yaml := "env:\n  " + s.key + ": " + strings.ReplaceAll(s.text, "\n", "\n    ") + "\nargs:\n  - --" + s.key + "\n  - " + strings.ReplaceAll(s.text, "\n", "\n    ") + "\n"
	return map[string]string{
		"the history":           string(recorded.Arguments) + string(recorded.Error) + recorded.Reason,
		"the log and the API":   recorder.Redact(line + " and " + known),
		"the command line":      redact.Text(line),
		"a diff of JSON":        clientconf.Diff(path, nil, file),
		"a diff of YAML":        clientconf.Diff(path, []byte("a: 1\n"), []byte(yaml)),
		"the diagnostic bundle": bundle.String(),
	}
}
