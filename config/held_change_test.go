package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A change from outside that would stop all servers is held back until the user wants it.
func TestChangeThatStopsAllServersIsHeldBack(t *testing.T) {
	t.Parallel()
	const disabled = `{"mcpServers": {"a": {"command": "a", "disabled": true}, "b": {"command": "b", "disabled": true}}}`
	for name, change := range map[string]func(file string) error{
		"no servers":   func(file string) error { return os.WriteFile(file, []byte(`{"mcpServers": {}}`), 0o600) },
		"no key":       func(file string) error { return os.WriteFile(file, []byte(`{}`), 0o600) },
		"all disabled": func(file string) error { return os.WriteFile(file, []byte(disabled), 0o600) },
		"off":          func(file string) error { return os.WriteFile(file, []byte(`{"mcp": {"enabled": false}}`), 0o600) },
		"removed":      os.Remove,
		"broken link": func(file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Symlink("nowhere", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := run(t, two)
			notices := x.o.Bus.Subscribe(100, core.NoticeEvent)
			defer notices.Close()
			notice := func() string { return (<-notices.Events()).Data.(core.Notice).Message }
			held := func() string {
				t.Helper()
				err := x.Sync(t.Context(), "")
				p := x.Problems()
				if core.CodeOf(err) != core.CodeRejected || len(p) != 1 || p[0].Warning || p[0].Held == "" || ids(x.Current()) != "a=a b=b" || len(x.applied) > 0 {
					t.Fatalf("not held back: %v, %v, running %q", err, p, ids(x.Current()))
				}
				return p[0].Held
			}
			require.NoError(t, change(x.file))
			first := held()
			assert.Contains(t, notice(), "nothing was changed")
			all, err := x.o.Backups.List()
			assert.Truef(t, err == nil && len(all) == 1, "backups: %v, %v", all, err)
			there := exists(x.file) // otherwise the edit writes its last valid content again
			err = x.Disable(t.Context(), "a")
			assert.Falsef(t, there && core.CodeOf(err) != core.CodeRejected, "an edit meanwhile: %v", err)
			replaceConfig(t, x.file, two)
			require.NoError(t, x.Sync(t.Context(), ""))
			for len(x.applied) > 0 { // of the edit of a file that was removed
				<-x.applied
			}
			assert.Empty(t, notice(), "notice after it was corrected")
			require.NoError(t, change(x.file))
			second := held()
			assert.Equal(t, second, first, "the same change")
			replaceConfig(t, x.file, "// another\n"+`{"mcpServers": {}}`)
			err = x.Sync(t.Context(), second)
			assert.Truef(t, core.CodeOf(err) == core.CodeRejected && held() != second, "the file has changed since it was confirmed: %v", err)
			require.NoError(t, x.Sync(t.Context(), held()))
			if got := ids(<-x.applied); got != "" || len(x.Problems()) > 0 {
				t.Errorf("confirmed: running %q, %v", got, x.Problems())
			}
		})
	}
}

// replaceConfig replaces a file or a link. If it was removed instead while Drawbridge reads it, Wine
// would remove the next file of that name.
func replaceConfig(t *testing.T, path, src string) {
	t.Helper()
	beside := filepath.Join(t.TempDir(), "config.jsonc")
	writeConfig(t, beside, src)
	eventually.True(t, "nobody reads the file", func() bool { return os.Rename(beside, path) == nil }) // at once but on Windows
}

// While a change is held back, a file with other servers only is another such change.
func TestHeldBackChangeIsJudgedAgainWhenTheFileChanges(t *testing.T) {
	t.Parallel()
	x := run(t, two)
	writeConfig(t, x.file, `{"mcpServers": {}}`)
	require.Error(t, x.Sync(t.Context(), ""), "not held back")
	writeConfig(t, x.file, `{"mcpServers": {"c": {"command": "c"}}}`)
	assert.Equal(t, core.CodeRejected, core.CodeOf(x.Sync(t.Context(), "")), "another program added a server")
	writeConfig(t, x.file, `{"mcpServers": {"c": {"command": "c"}, "b": {"command": "b"}}}`)
	require.NoError(t, x.Sync(t.Context(), ""))
	assert.Equal(t, "c=c b=b", ids(<-x.applied))
}

// What the user does through Drawbridge is deliberate.
func TestOwnEditMayStopAllServers(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(x *running) error{
		"remove":  func(x *running) error { return x.Remove(t.Context(), "a") },
		"disable": func(x *running) error { return x.Disable(t.Context(), "a") },
		"replace": func(x *running) error { return x.Replace(t.Context(), []byte("{}"), ETag([]byte(one))) },
	} {
		x := run(t, one)
		if err := edit(x); err != nil || len(x.Problems()) > 0 || x.Current().Idle().Reason == "" {
			t.Errorf("%s: %v, %v", name, err, x.Problems())
		}
	}
}
