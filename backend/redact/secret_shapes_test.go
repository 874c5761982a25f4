package redact_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

var update = flag.Bool("update", false, "write the list of shapes for the web UI again")

// TestShapesForTheWebUI writes down what this package recognizes. A test of the web UI reads the
// file and demands that lib/mask-secrets.ts hides all of it.
func TestShapesForTheWebUI(t *testing.T) {
	const path = "testdata/secret-shapes.json"
	got, err := json.MarshalIndent(map[string]any{"tokens": redact.Shapes(), "names": redact.SecretNames()}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not current: go test ./backend/redact -run Shapes -update, then npx vitest run mask-secrets in frontend", path)
	}
}
