package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/require"
)

func TestSecretArgumentsAreMaskedInShownCommand(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	d := &Dialer{Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }}
	s := &startedProcess{}
	spec, err := d.processSpec(&config.Server{ID: "x", Command: program, Args: []string{"--token", "hunter2"}}, environment{}, s)
	require.NoError(t, err)
	if spec.Args[1] != "hunter2" || strings.Contains(s.Command, "hunter2") || !strings.HasSuffix(s.Command, filepath.Base(program)+" --token ***") {
		t.Errorf("it is started with %q and shown as %q", spec.Args, s.Command)
	}
}
