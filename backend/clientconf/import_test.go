package clientconf

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// memoryVault is an in-memory vault.
type memoryVault struct {
	values map[string]string
	locked bool
}

func (s *memoryVault) Get(_ context.Context, name string) (string, error) {
	if s.locked {
		return "", core.Errorf(core.CodeUnavailable, "needs-unlock")
	}
	v, ok := s.values[name]
	if !ok {
		return "", core.Errorf(core.CodeNotFound, "no secret %q", name)
	}
	return v, nil
}

func (s *memoryVault) SetAll(_ context.Context, values map[string]string) error {
	if s.locked {
		return core.Errorf(core.CodeUnavailable, "needs-unlock")
	}
	maps.Copy(s.values, values)
	return nil
}

func (s *memoryVault) Remove(_ context.Context, names ...string) (ok bool, err error) {
	for _, name := range names {
		delete(s.values, name)
	}
	return len(names) > 0, nil
}

func newImporter(t *testing.T) (c *Connector, v *memoryVault, home, config string) {
	t.Helper()
	c, home, config = newMover(t)
	v = &memoryVault{values: map[string]string{}}
	c.vault = v
	return c, v, home, config
}

const literals = `{"mcpServers": {
  "github": {"command": "npx", "args": ["-y", "gh", "--api-key", "canary-args-1", "--token=canary-args-2", "--path", "/home/ana"],
    "env": {"GITHUB_TOKEN": "ghp_canary3", "PASSWORD": "canary-env-4", "DEBUG": "true", "TOKEN_FILE": "/etc/token", "REF": "${env:OTHER_TOKEN}", "DB": "postgres://ana:canary-url-5@db/x"}},
  "web": {"url": "https://user:canary-url-6@x.example/mcp?api_key=canary-url-7&page=2", "headers": {"Authorization": "Bearer canary-head-8", "Accept": "text/html"}}
}}
`

func TestImportMovesLiteralSecretsIntoVault(t *testing.T) {
	c, vault, home, config := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), literals)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	require.Empty(t, vault.values, "stored before it was asked for")
	shown, _ := json.Marshal(taking.Servers)
	require.NotContains(t, string(shown)+taking.Diff, "canary", "a secret is shown")
	id, err := taking.Apply(t.Context())
	require.NoError(t, err)
	want := map[string]string{
		"github.api-key": "canary-args-1", "github.token": "canary-args-2", "github.GITHUB_TOKEN": "ghp_canary3", "github.PASSWORD": "canary-env-4",
		"github.DB": "postgres://ana:canary-url-5@db/x", "web.password": "canary-url-6", "web.api_key": "canary-url-7", "web.Authorization": "canary-head-8",
	}
	assert.Equal(t, want, vault.values)
	ours := content(t, config)
	assert.NotContains(t, ours, "canary", "our configuration holds a secret")
	for _, text := range []string{`"GITHUB_TOKEN": "${secret:github.GITHUB_TOKEN}"`, `"Authorization": "Bearer ${secret:web.Authorization}"`, `"DEBUG": "true"`, `"TOKEN_FILE": "/etc/token"`, `"REF": "${OTHER_TOKEN}"`,
		`"--token=${secret:github.token}"`, `https://user:${secret:web.password}@x.example/mcp?api_key=${secret:web.api_key}&page=2`} {
		assert.Contains(t, ours, text)
	}
	again, err := c.Servers(Choice{Client: "cursor"})
	assert.Truef(t, err == nil && len(again) == 2 && again[0].Exists && again[1].Exists, "what is there already is not recognized: %+v (%v)", again, err)
	shown, _ = json.Marshal(again)
	assert.NotContains(t, string(shown), "canary", "a second review shows a secret")
	vault.values["github.GITHUB_TOKEN"] = "another"
	again, err = c.Servers(Choice{Client: "cursor"})
	assert.Truef(t, err == nil && !again[0].Exists && again[0].Label != "github", "another token, and it counts as the same: %+v (%v)", again, err)
	how, err := c.UndoImport(t.Context(), id)
	require.Truef(t, err == nil && how == Restored, "%v %v", how, err)
	if _, err := os.Stat(config); err == nil || len(vault.values) != 0 {
		t.Fatalf("after undo: %v, secrets %v", err, vault.values)
	}
}

func TestImportThatWasCancelledWritesNothing(t *testing.T) {
	c, vault, home, config := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), literals)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = taking.Apply(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.NoFileExists(t, config)
	assert.Empty(t, vault.values)
	all, _ := c.Imports()
	assert.Empty(t, all)
}

func TestLockedVaultStopsImportBeforeWriting(t *testing.T) {
	c, vault, home, config := newImporter(t)
	vault.locked = true
	write(t, filepath.Join(home, ".cursor/mcp.json"), literals)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	_, err = taking.Apply(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	_, err = os.Stat(config)
	require.Error(t, err, "our configuration was written")
	all, _ := c.Imports()
	require.Empty(t, all, "an import is recorded")
}

func TestStoredSecretOfSameNameIsNeverReplaced(t *testing.T) {
	c, vault, home, config := newImporter(t)
	vault.values["github.GITHUB_TOKEN"] = "mine"
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"github": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_theirs"}}}}`)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	_, err = taking.Apply(t.Context())
	require.NoError(t, err)
	if vault.values["github.GITHUB_TOKEN"] != "mine" || vault.values["github.GITHUB_TOKEN-2"] != "ghp_theirs" || !strings.Contains(content(t, config), "GITHUB_TOKEN-2}") {
		t.Fatalf("%v\n%s", vault.values, content(t, config))
	}
}

func TestConcurrentlyStoredSecretIsNotReplaced(t *testing.T) {
	c, vault, home, config := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"github": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_theirs"}}}}`)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	vault.values["github.GITHUB_TOKEN"] = "mine since"
	if _, err := taking.Apply(t.Context()); core.CodeOf(err) != core.CodeConflict || vault.values["github.GITHUB_TOKEN"] != "mine since" {
		t.Fatalf("%v: %v", err, vault.values)
	}
	_, err = os.Stat(config)
	require.Error(t, err, "our configuration was written")
}

func TestImportReportsSkippedServersWithReason(t *testing.T) {
	c, _, home, _ := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"a": {"command": "a"}, "number": 7, "odd": {"command": 5}, "address": {"url": ["x"]}, "nothing": {}}}`)
	plan, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	want := []SkippedServer{{Name: "address", Reason: `its "url" is not text`}, {Name: "nothing", Reason: "it has neither a command nor a URL"},
		{Name: "number", Reason: "it is not an object"}, {Name: "odd", Reason: `its "command" is not text`}}
	if diff := cmp.Diff(want, plan.Skipped); diff != "" || len(plan.Servers) != 1 {
		t.Errorf("%d servers\n%s", len(plan.Servers), diff)
	}
	if plan, err = c.PlanImport(Choice{Client: "cursor"}, []string{"a"}); err != nil || len(plan.Skipped) > 0 {
		t.Errorf("only a was requested: %+v, %v", plan.Skipped, err)
	}
	move, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	if require.NoError(t, err); !slices.Contains(move.Warnings, `odd is not moved: its "command" is not text.`) {
		t.Errorf("%q", move.Warnings)
	}
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"odd": {"command": 5}}}`)
	if _, err = c.PlanImport(Choice{Client: "cursor"}, nil); core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), `odd: its "command" is not text`) {
		t.Errorf("no server is valid: %v", err)
	}
	write(t, filepath.Join(home, ".continue/mcpServers/drawbridge.yaml"), "name: x\nmcpServers:\n  - name: a\n    command: a\n  - command: b\n  - 7\n")
	plan, err = c.PlanImport(Choice{Client: "continue"}, nil)
	require.NoError(t, err)
	want = []SkippedServer{{Name: "entry 2", Reason: "it has no name"}, {Name: "entry 3", Reason: "it is not an object"}}
	if diff := cmp.Diff(want, plan.Skipped); diff != "" || len(plan.Servers) != 1 {
		t.Errorf("%d servers\n%s", len(plan.Servers), diff)
	}
}

func TestBareImportIsUndoneExactlyOrPerServer(t *testing.T) {
	c, _, home, config := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
	const mine = "{\n  // mine\n  \"mcpServers\": {},\n}\n"
	write(t, config, mine)
	take := func(names ...string) string {
		t.Helper()
		taking, err := c.PlanImport(Choice{Client: "cursor"}, names)
		require.NoError(t, err)
		id, err := taking.Apply(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, id)
		return id
	}
	first, second := take("a"), take("b")
	all, err := c.Imports()
	require.Truef(t, err == nil && len(all) == 2 && all[0].ID == second && slices.Equal(all[1].Servers, []string{"a"}), "%+v %v", all, err)
	for _, id := range []string{second, first} {
		if how, err := c.UndoImport(t.Context(), id); err != nil || how != Restored {
			t.Fatal(how, err)
		}
	}
	require.Equal(t, mine, content(t, config))
	id := take()
	write(t, config, strings.Replace(content(t, config), `"command": "b"`, `"command": "mine now"`, 1)+"// since\n")
	how, err := c.UndoImport(t.Context(), id)
	require.Truef(t, err == nil && how == Removed, "%v %v", how, err)
	got := content(t, config)
	require.Truef(t, !strings.Contains(got, `"a"`) && strings.Contains(got, "mine now") && strings.Contains(got, "// since"), "got\n%s", got)
	_, err = c.UndoImport(t.Context(), id)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}

func TestServersAreMovedAndUndoneOneByOne(t *testing.T) {
	c, vault, home, config := newImporter(t)
	path := filepath.Join(home, ".claude.json")
	file := strings.Replace(fiveServers, `"args": ["f"], "alwaysAllow"`, `"args": ["f"], "env": {"API_KEY": "canary-1"}, "alwaysAllow"`, 1)
	write(t, path, file)
	const mine = "{\n  // mine\n  \"mcpServers\": {\n    \"old\": {\"command\": \"o\"}\n  }\n}\n"
	write(t, config, mine)
	move := func(name string) {
		t.Helper()
		p, err := c.PlanMove(Choice{Client: "claude-code"}, []string{name}, false)
		require.NoError(t, err)
		require.NoError(t, c.Apply(t.Context(), p))
	}
	_, noMove := c.PlanMove(Choice{Client: "claude-code"}, []string{"nosuch"}, false)
	move("github")
	one, ours := content(t, path), content(t, config)
	move("db")
	two := content(t, path)
	move("files")
	got := content(t, path)
	n := strings.Count(got, `"stdio"`)
	require.Truef(t, n >= 4 && strings.Contains(got, `"alwaysAllow": [`), "%d entries of ours in\n%s", n, got)
	_, noUndo := c.UndoServers(t.Context(), "claude-code", []string{"nosuch"}, false)
	for _, err := range []error{noMove, noUndo} {
		_, hint := core.Describe(err)
		assert.Containsf(t, hint, "github", "the hint of %v", err)
	}
	require.Equal(t, "canary-1", vault.values["files.API_KEY"])
	if how, err := c.UndoServers(t.Context(), "claude-code", []string{"files"}, false); err != nil || how != Removed || content(t, path) != two {
		t.Fatalf("taken back as %s (%v):\n%s\nwant\n%s", how, err, content(t, path), two)
	}
	require.Empty(t, vault.values)
	require.NotContains(t, content(t, config), `"files"`)
	s, _ := c.Status("claude-code")
	require.Truef(t, s.State == Connected && len(s.Choice.Servers) == 2, "after one was taken back: %+v", s)
	_, err := c.UndoServers(t.Context(), "claude-code", []string{"files"}, false)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "taken back twice")
	if _, err := c.UndoServers(t.Context(), "claude-code", []string{"db"}, false); err != nil || content(t, path) != one || content(t, config) != ours {
		t.Fatalf("%v\n%s\nwant\n%s\nours\n%s", err, content(t, path), one, content(t, config))
	}
	if how, err := c.UndoServers(t.Context(), "claude-code", []string{"github"}, false); err != nil || how != Restored || content(t, path) != file || content(t, config) != mine {
		t.Fatalf("the last one: %s %v\n%s\n%s", how, err, content(t, path), content(t, config))
	}
	move("github")
	move("db")
	if how := undo(t, c, "claude-code"); how != Restored || content(t, path) != file || content(t, config) != mine {
		t.Fatalf("both at once: %s\n%s\n%s", how, content(t, path), content(t, config))
	}
}

// Ten different servers with the same name get distinct labels.
func TestImportedServersOfSameNameGetDistinctLabels(t *testing.T) {
	c, _, home, config := newImporter(t)
	var ours strings.Builder
	ours.WriteString(`{"mcpServers": {"db": {"command": "own"}, "db-cursor": {"command": "own-1"}`)
	for k := 2; k < 15; k++ {
		fmt.Fprintf(&ours, `, "db-cursor-%d": {"command": "own-%d"}`, k, k)
	}
	ours.WriteString("}}\n")
	write(t, config, ours.String())
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"db": {"command": "theirs"}}}`)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	_, err = taking.Apply(t.Context())
	require.NoError(t, err)
	assert.Contains(t, content(t, config), `"db-cursor-15"`, "the fifteenth has no label of its own")
}

func TestTrailingQuoteStaysEscaped(t *testing.T) {
	assert.Equal(t, `say \"hi\"`, jsonStringContent(`say "hi"`))
}

// The same server may have another name in Drawbridge, or in another client.
func TestEqualServerUnderAnotherNameIsNotAddedAgain(t *testing.T) {
	c, home, config := newMover(t)
	write(t, config, `{"mcpServers": {"My Files": {"command": "npx", "args": ["files"], "timeout": 5000}}}`)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"fs": {"command": "npx", "args": ["files"]}, "new": {"command": "x"}, "newer": {"command": "x"}}}`)
	all, err := c.Servers(Choice{Client: "cursor"})
	require.NoError(t, err)
	var got []string
	for _, i := range all {
		got = append(got, fmt.Sprintf("%s=%s %v", i.Name, i.Label, i.Exists))
	}
	assert.Equal(t, "fs=My Files true, new=new false, newer=new true", strings.Join(got, ", "))
	assert.Equal(t, 1, c.PlanImportAll().ServerCount())
	p, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(t.Context(), p))
	src := content(t, filepath.Join(home, ".cursor/mcp.json"))
	assert.Truef(t, strings.Count(src, `"My-Files"`) == 1 && strings.Count(src, `"new"`) == 3, "the client's file is\n%s", src)
	assert.Equal(t, 2, strings.Count(content(t, config), `"command"`), "our file")
}

func TestImportSaysHowManyServersStartWithoutNpx(t *testing.T) {
	of := func(entries ...string) (list []ImportedServer) {
		for _, e := range entries {
			list = append(list, ImportedServer{Entry: json.RawMessage(e)})
		}
		return list
	}
	assert.Empty(t, directStarts(of(`{"command":"node"}`, `{"url":"http://npx"}`, `{"command":"npx-like"}`)))
	got := directStarts(of(`{"command":"npx"}`, `{"command":"/usr/bin/npx"}`, `{"command":"uvx"}`))
	assert.Truef(t, strings.HasPrefix(got, "2 servers with npx: "), "%q", got)
}
