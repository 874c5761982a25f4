package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/stretchr/testify/require"
)

// Editors take no lock. What one saves between our read and our write is preserved.
func TestEditKeepsConcurrentlySavedChanges(t *testing.T) {
	t.Parallel()
	r, file := newEditable(t)
	saves := 0
	err := r.Edit(t.Context(), file, func(d *Document) error {
		if saves++; saves == 1 {
			require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {"editor": {"command": "e", "disabled": true}}}`), 0o600))
		}
		return d.Add("ours", []byte(`{"command": "o", "disabled": true}`))
	})
	text, _ := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"editor"`) || !strings.Contains(string(text), `"ours"`) {
		t.Errorf("%v, after %d tries the file holds %s", err, saves, text)
	}
}

func TestEditGivesUpOnConstantlyChangingFile(t *testing.T) {
	t.Parallel()
	r, file := newEditable(t)
	saves := 0
	err := r.Edit(t.Context(), file, func(d *Document) error {
		saves++
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"editor%d": {"command": "e", "disabled": true}}}`, saves), 0o600))
		return d.Add("ours", []byte(`{"command": "o", "disabled": true}`))
	})
	text, _ := os.ReadFile(file)
	if core.CodeOf(err) != core.CodeConflict || saves != maxEditTries || !strings.Contains(string(text), fmt.Sprintf(`"editor%d"`, saves)) {
		t.Errorf("%v, after %d tries the file holds %s", err, saves, text)
	}
}

func addAsAnotherProgram(ctx context.Context, file, label string) error {
	unlock, err := osutil.LockBeside(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d, err := NewDocument(before)
	if err != nil {
		return err
	}
	return errors.Join(d.Add(label, []byte(`{"command": "i", "disabled": true}`)), osutil.ReplaceUnchangedFile(file, before, true, d.Bytes()))
}

// newEditable returns a Reloader whose configuration has one server.
func newEditable(t *testing.T) (r *Reloader, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config.jsonc")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {"first": {"command": "f", "disabled": true}}}`), 0o600))
	r = NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}})
	require.NoError(t, r.Load())
	return r, file
}
