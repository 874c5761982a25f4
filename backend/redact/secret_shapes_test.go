package redact_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/redact"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the list of shapes for the web UI again")

// TestShapesForTheWebUI writes down what this package recognizes. A test of the web UI reads the
// file and demands that lib/mask-secrets.ts hides all of it.
func TestShapesForTheWebUI(t *testing.T) {
	const path = "testdata/secret-shapes.json"
	got, err := json.MarshalIndent(map[string]any{"tokens": redact.Shapes(), "names": redact.SecretNames()}, "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}
