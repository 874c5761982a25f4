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
	must(t, err)
	if len(vault.values) != 0 {
		t.Fatal("stored before it was asked for")
	}
	shown, _ := json.Marshal(taking.Servers)
	if strings.Contains(string(shown)+taking.Diff, "canary") {
		t.Fatalf("a secret is shown:\n%s\n%s", shown, taking.Diff)
	}
	id, err := taking.Apply(t.Context())
	must(t, err)
	want := map[string]string{
		"github.api-key": "canary-args-1", "github.token": "canary-args-2", "github.GITHUB_TOKEN": "ghp_canary3", "github.PASSWORD": "canary-env-4",
		"github.DB": "postgres://ana:canary-url-5@db/x", "web.password": "canary-url-6", "web.api_key": "canary-url-7", "web.Authorization": "canary-head-8",
	}
	if !maps.Equal(vault.values, want) {
		t.Errorf("stored %v\nwant %v", vault.values, want)
	}
	ours := content(t, config)
	if strings.Contains(ours, "canary") {
		t.Errorf("our configuration holds a secret:\n%s", ours)
	}
	for _, text := range []string{`"GITHUB_TOKEN": "${secret:github.GITHUB_TOKEN}"`, `"Authorization": "Bearer ${secret:web.Authorization}"`, `"DEBUG": "true"`, `"TOKEN_FILE": "/etc/token"`, `"REF": "${OTHER_TOKEN}"`,
		`"--token=${secret:github.token}"`, `https://user:${secret:web.password}@x.example/mcp?api_key=${secret:web.api_key}&page=2`} {
		if !strings.Contains(ours, text) {
			t.Errorf("no %s in\n%s", text, ours)
		}
	}
	again, err := c.Servers(Choice{Client: "cursor"})
	if err != nil || len(again) != 2 || !again[0].Exists || !again[1].Exists {
		t.Errorf("what is there already is not recognized: %+v (%v)", again, err)
	}
	vault.values["github.GITHUB_TOKEN"] = "another"
	again, err = c.Servers(Choice{Client: "cursor"})
	if err != nil || again[0].Exists || again[0].Label == "github" {
		t.Errorf("another token, and it counts as the same: %+v (%v)", again, err)
	}
	if how, err := c.UndoImport(t.Context(), id); err != nil || how != Restored {
		t.Fatal(how, err)
	}
	if _, err := os.Stat(config); err == nil || len(vault.values) != 0 {
		t.Fatalf("after undo: %v, secrets %v", err, vault.values)
	}
}

func TestLockedVaultStopsImportBeforeWriting(t *testing.T) {
	c, vault, home, config := newImporter(t)
	vault.locked = true
	write(t, filepath.Join(home, ".cursor/mcp.json"), literals)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	must(t, err)
	if _, err := taking.Apply(t.Context()); core.CodeOf(err) != core.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(config); err == nil {
		t.Fatal("our configuration was written")
	}
	if all, _ := c.Imports(); len(all) != 0 {
		t.Fatalf("an import is recorded: %+v", all)
	}
}

func TestStoredSecretOfSameNameIsNeverReplaced(t *testing.T) {
	c, vault, home, config := newImporter(t)
	vault.values["github.GITHUB_TOKEN"] = "mine"
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"github": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_theirs"}}}}`)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	must(t, err)
	if _, err := taking.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if vault.values["github.GITHUB_TOKEN"] != "mine" || vault.values["github.GITHUB_TOKEN-2"] != "ghp_theirs" || !strings.Contains(content(t, config), "GITHUB_TOKEN-2}") {
		t.Fatalf("%v\n%s", vault.values, content(t, config))
	}
}

func TestConcurrentlyStoredSecretIsNotReplaced(t *testing.T) {
	c, vault, home, config := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"github": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_theirs"}}}}`)
	taking, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	must(t, err)
	vault.values["github.GITHUB_TOKEN"] = "mine since"
	if _, err := taking.Apply(t.Context()); core.CodeOf(err) != core.CodeConflict || vault.values["github.GITHUB_TOKEN"] != "mine since" {
		t.Fatalf("%v: %v", err, vault.values)
	}
	if _, err := os.Stat(config); err == nil {
		t.Fatal("our configuration was written")
	}
}

func TestImportReportsSkippedServersWithReason(t *testing.T) {
	c, _, home, _ := newImporter(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"a": {"command": "a"}, "number": 7, "odd": {"command": 5}, "address": {"url": ["x"]}, "nothing": {}}}`)
	plan, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	must(t, err)
	want := []SkippedServer{{Name: "address", Reason: `its "url" is not text`}, {Name: "nothing", Reason: "it has neither a command nor a URL"},
		{Name: "number", Reason: "it is not an object"}, {Name: "odd", Reason: `its "command" is not text`}}
	if diff := cmp.Diff(want, plan.Skipped); diff != "" || len(plan.Servers) != 1 {
		t.Errorf("%d servers\n%s", len(plan.Servers), diff)
	}
	if plan, err = c.PlanImport(Choice{Client: "cursor"}, []string{"a"}); err != nil || len(plan.Skipped) > 0 {
		t.Errorf("only a was requested: %+v, %v", plan.Skipped, err)
	}
	move, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	if must(t, err); !slices.Contains(move.Warnings, `odd is not moved: its "command" is not text.`) {
		t.Errorf("%q", move.Warnings)
	}
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"odd": {"command": 5}}}`)
	if _, err = c.PlanImport(Choice{Client: "cursor"}, nil); core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), `odd: its "command" is not text`) {
		t.Errorf("no server is valid: %v", err)
	}
	write(t, filepath.Join(home, ".continue/mcpServers/drawbridge.yaml"), "name: x\nmcpServers:\n  - name: a\n    command: a\n  - command: b\n  - 7\n")
	plan, err = c.PlanImport(Choice{Client: "continue"}, nil)
	must(t, err)
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
		must(t, err)
		id, err := taking.Apply(t.Context())
		if err != nil || id == "" {
			t.Fatal(id, err)
		}
		return id
	}
	first, second := take("a"), take("b")
	if all, err := c.Imports(); err != nil || len(all) != 2 || all[0].ID != second || !slices.Equal(all[1].Servers, []string{"a"}) {
		t.Fatalf("%+v %v", all, err)
	}
	for _, id := range []string{second, first} {
		if how, err := c.UndoImport(t.Context(), id); err != nil || how != Restored {
			t.Fatal(how, err)
		}
	}
	if content(t, config) != mine {
		t.Fatalf("got\n%s", content(t, config))
	}
	id := take()
	write(t, config, strings.Replace(content(t, config), `"command": "b"`, `"command": "mine now"`, 1)+"// since\n")
	if how, err := c.UndoImport(t.Context(), id); err != nil || how != Removed {
		t.Fatal(how, err)
	}
	if got := content(t, config); strings.Contains(got, `"a"`) || !strings.Contains(got, "mine now") || !strings.Contains(got, "// since") {
		t.Fatalf("got\n%s", got)
	}
	if _, err := c.UndoImport(t.Context(), id); core.CodeOf(err) != core.CodeNotFound {
		t.Fatalf("twice: %v", err)
	}
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
		must(t, err)
		must(t, c.Apply(t.Context(), p))
	}
	_, noMove := c.PlanMove(Choice{Client: "claude-code"}, []string{"nosuch"}, false)
	move("github")
	one, ours := content(t, path), content(t, config)
	move("db")
	two := content(t, path)
	move("files")
	got := content(t, path)
	if n := strings.Count(got, `"stdio"`); n < 4 || !strings.Contains(got, `"alwaysAllow": [`) {
		t.Fatalf("%d entries of ours in\n%s", n, got)
	}
	_, noUndo := c.UndoServers(t.Context(), "claude-code", []string{"nosuch"}, false)
	for _, err := range []error{noMove, noUndo} {
		if _, hint := core.Describe(err); !strings.Contains(hint, "github") {
			t.Errorf("the hint of %v names no server: %s", err, hint)
		}
	}
	if vault.values["files.API_KEY"] != "canary-1" {
		t.Fatalf("secrets %v", vault.values)
	}
	if how, err := c.UndoServers(t.Context(), "claude-code", []string{"files"}, false); err != nil || how != Removed || content(t, path) != two {
		t.Fatalf("taken back as %s (%v):\n%s\nwant\n%s", how, err, content(t, path), two)
	}
	if len(vault.values) != 0 || strings.Contains(content(t, config), `"files"`) {
		t.Fatalf("left: %v\n%s", vault.values, content(t, config))
	}
	if s, _ := c.Status("claude-code"); s.State != Connected || len(s.Choice.Servers) != 2 {
		t.Fatalf("after one was taken back: %+v", s)
	}
	if _, err := c.UndoServers(t.Context(), "claude-code", []string{"files"}, false); core.CodeOf(err) != core.CodeNotFound {
		t.Fatalf("taken back twice: %v", err)
	}
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
	must(t, err)
	if _, err := taking.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := content(t, config); !strings.Contains(got, `"db-cursor-15"`) {
		t.Errorf("the fifteenth has no label of its own:\n%s", got)
	}
}

func TestTrailingQuoteStaysEscaped(t *testing.T) {
	if got := jsonStringContent(`say "hi"`); got != `say \"hi\"` {
		t.Errorf("got %s", got)
	}
}

// The same server may have another name in Drawbridge, or in another client.
func TestEqualServerUnderAnotherNameIsNotAddedAgain(t *testing.T) {
	c, home, config := newMover(t)
	write(t, config, `{"mcpServers": {"My Files": {"command": "npx", "args": ["files"], "timeout": 5000}}}`)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"fs": {"command": "npx", "args": ["files"]}, "new": {"command": "x"}, "newer": {"command": "x"}}}`)
	all, err := c.Servers(Choice{Client: "cursor"})
	must(t, err)
	var got []string
	for _, i := range all {
		got = append(got, fmt.Sprintf("%s=%s %v", i.Name, i.Label, i.Exists))
	}
	if want := "fs=My Files true, new=new false, newer=new true"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if n := c.PlanImportAll().ServerCount(); n != 1 {
		t.Errorf("%d servers would be copied", n)
	}
	p, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	must(t, err)
	must(t, c.Apply(t.Context(), p))
	if src := content(t, filepath.Join(home, ".cursor/mcp.json")); strings.Count(src, `"My-Files"`) != 1 || strings.Count(src, `"new"`) != 3 {
		t.Errorf("the client's file is\n%s", src)
	}
	if src := content(t, config); strings.Count(src, `"command"`) != 2 {
		t.Errorf("our file is\n%s", src)
	}
}

func TestImportSaysHowManyServersStartWithoutNpx(t *testing.T) {
	of := func(entries ...string) (list []ImportedServer) {
		for _, e := range entries {
			list = append(list, ImportedServer{Entry: json.RawMessage(e)})
		}
		return list
	}
	if got := directStarts(of(`{"command":"node"}`, `{"url":"http://npx"}`, `{"command":"npx-like"}`)); got != "" {
		t.Errorf("%q", got)
	}
	if got := directStarts(of(`{"command":"npx"}`, `{"command":"/usr/bin/npx"}`, `{"command":"uvx"}`)); !strings.HasPrefix(got, "2 servers with npx: ") {
		t.Errorf("%q", got)
	}
}
