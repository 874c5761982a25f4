package clientconf

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newConnector returns a Connector in a temporary home, without access to the user's files.
func newConnector(t *testing.T) (*Connector, string) {
	t.Helper()
	home := t.TempDir()
	c, err := New(Options{
		System:  System{GOOS: "linux", Home: home, Getenv: func(string) string { return "" }},
		Dir:     filepath.Join(t.TempDir(), "clients"),
		Program: "/opt/drawbridge/drawbridge",
	})
	require.NoError(t, err)
	return c, home
}

// newClaudeConnector is newConnector in a home with a settings file of Claude Code at path.
func newClaudeConnector(t *testing.T) (c *Connector, home, path string) {
	t.Helper()
	c, home = newConnector(t)
	path = filepath.Join(home, ".claude.json")
	write(t, path, claudeFile)
	return c, home, path
}

func TestTemporaryProgramIsNamedInNoFile(t *testing.T) {
	c, _, _ := newClaudeConnector(t)
	c.program = "/private/var/folders/x/T/AppTranslocation/1/d/Drawbridge.app/Contents/MacOS/drawbridge"
	_, err := c.Plan(Choice{Client: "claude-code"})
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	_, err = c.ManualSetup(Choice{Client: "claude-code"})
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	b := c.PlanConnectAll()
	assert.Truef(t, len(b.Plans) <= 0, "all: %v", b.Plans)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o640))
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// requireMode checks the mode of a file. Windows has only the permission to write.
func requireMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	got := info.Mode().Perm()
	if runtime.GOOS == "windows" {
		got, want = got&0o200, want&0o200
	}
	require.Equal(t, want, got, "the mode")
}

func connect(t *testing.T, c *Connector, id string) *Plan {
	t.Helper()
	p, err := c.Plan(Choice{Client: id})
	require.NoError(t, err)
	require.NoError(t, c.Apply(context.Background(), p))
	return p
}

func undo(t *testing.T, c *Connector, id string) UndoOutcome {
	t.Helper()
	done, err := c.Undo(context.Background(), id, UndoOptions{})
	require.NoError(t, err)
	return done
}

const claudeFile = `{
  "numStartups": 9007199254740993,
  "mcpServers": {
    "github": {"type": "stdio", "command": "npx", "env": {"GITHUB_TOKEN": "ghp_1"}}
  },
  "projects": {"/a": {"history": ["<b>&"]}}
}
`

func TestUndoRestoresExactBytes(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	if p := connect(t, c, "claude-code"); p.Action != Add || strings.Contains(p.Diff, "ghp_1") {
		t.Fatalf("action %s, diff\n%s", p.Action, p.Diff)
	}
	require.Contains(t, content(t, path), `"/opt/drawbridge/drawbridge"`, "our entry is not in the file")
	require.Equal(t, Restored, undo(t, c, "claude-code"), "undone as")
	require.Equal(t, claudeFile, content(t, path), "after undo")
	requireMode(t, path, 0o640)
}

func TestUndoDeletesCreatedFile(t *testing.T) {
	c, home := newConnector(t)
	p := connect(t, c, "claude-desktop")
	require.Equal(t, Create, p.Action)
	requireMode(t, p.Path, 0o600)
	undo(t, c, "claude-desktop")
	left, _ := os.ReadDir(home)
	require.Empty(t, left, "left behind")
}

// A change that the client makes while the undo waits for the lock is preserved.
func TestUndoNeverDeletesJustWrittenFile(t *testing.T) {
	c, _ := newConnector(t)
	p := connect(t, c, "claude-desktop")
	r, ok, err := c.loadRecord("claude-desktop")
	require.Truef(t, err == nil && ok, "%v %v", ok, err)
	looked := []byte(content(t, p.Path))
	theirs := `{"theirs": true}`
	write(t, p.Path, theirs)
	_, err = c.restoreBackup(r, looked)
	assert.Equal(t, core.CodeConflict, core.CodeOf(err))
	assert.Equal(t, theirs, content(t, p.Path), "the file holds")
}

func TestUndoOfChangedFileRemovesOnlyOurEntry(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	connect(t, c, "claude-code")
	changed := strings.Replace(content(t, path), `"/a"`, `"/b"`, 1)
	write(t, path, changed)
	require.Equal(t, Removed, undo(t, c, "claude-code"), "undone as")
	got, want := content(t, path), strings.Replace(claudeFile, `"/a"`, `"/b"`, 1)
	require.Equal(t, want, got, "after undo")
}

func TestEditedEntryIsKeptUnlessForced(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	connect(t, c, "claude-code")
	edited := strings.Replace(content(t, path), `"--client"`, `"--profile", "work", "--client"`, 1)
	write(t, path, edited)
	_, err := c.Undo(context.Background(), "claude-code", UndoOptions{})
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	require.Equal(t, edited, content(t, path), "the file was touched")
	done, err := c.Undo(context.Background(), "claude-code", UndoOptions{Force: true})
	require.Truef(t, err == nil && done == Removed, "forced: %s, %v", done, err)
}

func TestConnectTwiceIsIdempotentAndUndoable(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	connect(t, c, "claude-code")
	first := content(t, path)
	require.Equal(t, Equal, connect(t, c, "claude-code").Action, "the second time")
	c.program = "/elsewhere/drawbridge" // the program has another path: our entry is updated
	require.Equal(t, Update, connect(t, c, "claude-code").Action, "after a move")
	require.NotEqual(t, first, content(t, path), "the entry still names the old program")
	undo(t, c, "claude-code")
	require.Equal(t, claudeFile, content(t, path), "after undo")
}

func TestForeignEntryWithOurNameIsNeverOverwritten(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".claude.json")
	write(t, path, `{"mcpServers": {"drawbridge": {"command": "somebody-elses"}}}`)
	_, err := c.Plan(Choice{Client: "claude-code"})
	require.Equal(t, core.CodeRejected, core.CodeOf(err))
	_, hint := core.Describe(err)
	require.Contains(t, hint, `"stdio"`, "no snippet to paste")
}

func TestChangeSincePlanIsConflict(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	p, err := c.Plan(Choice{Client: "claude-code"})
	require.NoError(t, err)
	write(t, path, "{}")
	require.Equal(t, core.CodeConflict, core.CodeOf(c.Apply(context.Background(), p)))
	require.Equal(t, "{}", content(t, path), "somebody else's edit was lost")
	_, recorded, _ := c.loadRecord("claude-code")
	require.False(t, recorded, "a connection that was not made is recorded")
}

func TestSymbolicLinkStaysALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	c, home := newConnector(t)
	real := filepath.Join(t.TempDir(), "dotfiles", "claude.json")
	write(t, real, claudeFile)
	link := filepath.Join(home, ".claude.json")
	require.NoError(t, os.Symlink(real, link))
	connect(t, c, "claude-code")
	info, _ := os.Lstat(link)
	require.NotEqualValues(t, 0, info.Mode()&os.ModeSymlink, "the link was replaced by a file")
	require.Contains(t, content(t, real), "drawbridge", "the file behind the link was not written")
	undo(t, c, "claude-code")
	require.Equal(t, claudeFile, content(t, real), "undo did not restore the file behind the link")
}

// The user sees which file is changed, and is asked for it separately.
func TestLinkOutOfHomeNamesItsTarget(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	for name, link := range map[string]func(home, outside string) error{
		"file":     func(home, outside string) error { return os.Symlink(outside+"/x.json", home+"/.claude.json") },
		"dangling": func(home, outside string) error { return os.Symlink(outside+"/none.json", home+"/.claude.json") },
		"inside":   func(home, _ string) error { return os.Symlink(home+"/dotfiles.json", home+"/.claude.json") },
		"no link":  func(string, string) error { return nil },
	} {
		c, home := newConnector(t)
		outside, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		write(t, outside+"/x.json", claudeFile)
		write(t, home+"/dotfiles.json", claudeFile)
		require.NoError(t, link(home, outside))
		p, err := c.Plan(Choice{Client: "claude-code"})
		require.NoError(t, err)
		leaves := name == "file" || name == "dangling"
		if got := p.Outside(); strings.HasPrefix(got, outside) != leaves || strings.Contains(strings.Join(p.Warnings, " "), outside) != leaves {
			t.Errorf("%s: it leads to %q; %q", name, got, p.Warnings)
		}
	}
}

func TestFolderThatLeadsOutOfHomeIsNamed(t *testing.T) {
	c, home := newConnector(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	mcptest.LinkFolder(t, outside, filepath.Join(home, ".cursor"))
	p, err := c.Plan(Choice{Client: "cursor"})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(outside, "mcp.json"), p.Outside(), "it leads")
}

func TestReadOnlyFileIsRefused(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	os.Chmod(path, 0o400)
	p, err := c.Plan(Choice{Client: "claude-code"})
	if err == nil {
		err = c.Apply(context.Background(), p)
	}
	require.Equal(t, core.CodeRejected, core.CodeOf(err))
	require.Equal(t, claudeFile, content(t, path))
	requireMode(t, path, 0o400)
}

func TestClientLockIsRespected(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	require.NoError(t, os.Mkdir(path+".lock", 0o700))
	p, err := c.Plan(Choice{Client: "claude-code"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	require.Equal(t, core.CodeConflict, core.CodeOf(c.Apply(ctx, p)), "written in spite of the lock")
	os.Remove(path + ".lock")
	connect(t, c, "claude-code")
	require.False(t, exists(path+".lock"), "our lock was left behind")
}

func TestBackupsAreBounded(t *testing.T) {
	c, home := newConnector(t)
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	write(t, filepath.Join(home, ".claude.json"), claudeFile)
	for range maxBackups + 5 {
		connect(t, c, "claude-code")
		undo(t, c, "claude-code")
	}
	left, _ := os.ReadDir(filepath.Join(c.dir, "backups"))
	require.Len(t, left, maxBackups)
	originals := 0
	for _, one := range left {
		if content(t, filepath.Join(c.dir, "backups", one.Name())) == claudeFile {
			originals++
		}
	}
	if originals != maxBackups/2 { // the others belong to undone connections
		t.Errorf("%d of %d backups are the file as it was", originals, maxBackups)
	}
}

func TestListFindsWhatIsInstalledAndConnected(t *testing.T) {
	c, home := newConnector(t)
	write(t, filepath.Join(home, ".cursor", "mcp.json"), "{}")
	connect(t, c, "claude-code")
	status := map[string]Status{}
	for _, s := range c.List() {
		status[s.Client.ID] = s
	}
	s := status["cursor"]
	assert.Truef(t, s.Detected && !s.Connected, "cursor: %+v", s)
	s = status["claude-code"]
	assert.Truef(t, s.Connected, "claude-code: %+v", s)
	os.WriteFile(filepath.Join(home, ".claude.json"), []byte("{}"), 0o600)
	for _, s := range c.List() {
		assert.Falsef(t, s.Client.ID == "claude-code" && (s.Connected || s.Problem == ""), "after our entry vanished: %+v", s)
	}
}

func TestClientTableIsComplete(t *testing.T) {
	var ids []string
	for _, c := range Known() {
		assert.Falsef(t, slices.Contains(ids, c.ID), "%s twice", c.ID)
		ids = append(ids, c.ID)
		if c.Name == "" || len(c.KeyPath) == 0 || len(c.Stdio) == 0 || !strings.Contains("MSDTL", c.Confidence) || c.Confidence == "" {
			t.Errorf("%s lacks something", c.ID)
		}
		got := stdioEntry(c, EntryName, "/bin/drawbridge", []string{"stdio", "--client", c.ID})
		assert.Truef(t, !strings.Contains(string(got), "{{") && !(c.Format != YAML && !isOurs(got)), "%s: entry %s", c.ID, got)
	}
	assert.Truef(t, len(ids) >= 40, "only %d clients", len(ids))
	_, err := ByID("nobody")
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err))
}

func TestEntryOnAnyLoopbackAddressIsOurs(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:7575/mcp": true, "http://[::1]:7575/mcp": true, "http://127.0.0.2:7575/s/files/mcp": true, "http://localhost:1/mcp": true,
		"http://192.168.0.2:7575/mcp": false, "http://example.com/mcp": false, "http://127.0.0.1:7575/other": false,
	} {
		assert.Equal(t, want, isOurAddress([]byte(`{"url": "`+address+`", "headers": {"Authorization": "Bearer dbr_x"}}`)), address)
	}
}

func TestDiffOfOneLineFileShowsOnlyWhatChanges(t *testing.T) {
	private := `"email":"me@example.com","prompts":["` + strings.Repeat("private ", 500) + `"]`
	before := `{` + private + `,"mcpServers":{"old":{"command":"x","env":{"API_KEY":"abcdef0123456789abcdef"}}},"last":1}`
	after := `{` + private + `,"mcpServers":{"drawbridge":{"type":"http","url":"http://127.0.0.1:7575/mcp"}},"last":1}`
	diff := Diff("f.json", []byte(before), []byte(after))
	for _, want := range []string{`-    "old": {`, `+    "drawbridge": {`, `"url": "http://127.0.0.1:7575/mcp"`, `"API_KEY": "***"`} {
		assert.Contains(t, diff, want)
	}
	for _, not := range []string{"private", "me@example.com", "last", "abcdef"} {
		assert.NotContains(t, diff, not)
	}
	if diff := Diff("f.json", nil, []byte(after)); strings.Count(diff, "\n") < 8 {
		t.Errorf("a new file is shown as\n%s", diff)
	}
}

// A client keeps its history in the same file, on one line. The time per byte must not depend on
// the size.
func BenchmarkDiffOfOneLineFile(b *testing.B) {
	for _, megabytes := range []int{1, 57} {
		history := strings.Repeat(`{"display":"what I asked","pastedContents":{},"n":1.5},`, megabytes<<20/56)
		before := []byte(`{"history":[` + strings.TrimSuffix(history, ",") + `],"mcpServers":{}}`)
		after := bytes.Replace(before, []byte(`"mcpServers":{}`), []byte(`"mcpServers":{"a":{"command":"x"}}`), 1)
		b.Run(fmt.Sprint(megabytes, "MB"), func(b *testing.B) {
			b.SetBytes(int64(len(before)))
			for b.Loop() {
				if diff := Diff("f.json", before, after); len(diff) > 400 {
					b.Fatalf("%d bytes are shown", len(diff))
				}
			}
		})
	}
}
