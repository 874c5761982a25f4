package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names and descriptions are those of published servers.
func TestPreviewArgumentIsRecognizedByNameAndDescription(t *testing.T) {
	for property, want := range map[string]string{
		`"dryRun":{"type":"boolean","description":"Preview changes using git-style diff format"}`:                                    "dryRun",
		`"dry_run":{"type":"boolean","description":"If true, preview changes without updating the issue"}`:                           "dry_run",
		`"dryRun":{"anyOf":[{"type":"boolean"},{"type":"null"}]}`:                                                                    "dryRun",
		`"validateOnly":{"type":"boolean","description":"If true, only validate operations without applying them"}`:                  "validateOnly",
		`"preview":{"type":"boolean","description":"Show what would be changed without applying it"}`:                                "preview",
		`"preview":{"type":"boolean"},"dry_run":{"type":["boolean","null"]}`:                                                         "dry_run",
		`"preview":{"type":"boolean","description":"Include a preview image"}`:                                                       "",
		`"validate":{"type":"boolean","description":"If true, validate resource schema against server schema"}`:                      "",
		`"validateBefore":{"type":"boolean","description":"Validate workflow structure before rollback (accepted but not applied)"}`: "",
		`"dry_run_ref":{"type":"string","description":"Branch or tag context for dry_run validation"},"dryRun":{"type":"string"}`:    "",
		`"confirm":{"type":"boolean","description":"Must be true to delete"},"force":{"type":"boolean"},"draft":{"type":"boolean"}`:  "",
	} {
		assert.Equal(t, want, previewArgument([]byte(`{"name":"x","inputSchema":{"properties":{`+property+`}}}`), ""), property)
	}
	assert.Empty(t, previewArgument([]byte(`{"inputSchema":{"properties":{"dryRun":{"type":"boolean"}}}}`), "off"), "the configuration does not win")
	assert.Equal(t, "simulate_it", previewArgument(nil, "simulate_it"), "the configuration does not win")
}

func TestEffectOnAFileIsTheDifferenceToTheFileAsItIs(t *testing.T) {
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	for _, d := range []string{root, outside} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	for path, content := range map[string]string{filepath.Join(root, "a.txt"): "one\ntwo\nthree\n", filepath.Join(root, "bin"): "a\x00b", filepath.Join(outside, "secret"): "hidden\n"} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	mcptest.LinkFolder(t, outside, filepath.Join(root, "link"))
	for _, c := range []struct{ tool, arguments, want, note string }{
		{"write_file", `{"path":"ROOT/a.txt","content":"one\n2\nthree\n"}`, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", ""},
		{"edit_file", `{"path":"ROOT/a.txt","edits":[{"oldText":"two","newText":"2"}],"dryRun":false}`, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", ""},
		{"str_replace", `{"file_path":"ROOT/a.txt","old_string":"three\n","new_string":""}`, "@@ -1,3 +1,2 @@\n one\n two\n-three\n", ""},
		{"edit_file", `{"path":"ROOT/a.txt","edits":[{"oldText":"four","newText":"4"}]}`, "", "not in the file"},
		{"write_file", `{"path":"ROOT/new.txt","content":"x"}`, "@@ -1,0 +1,1 @@\n+x\n", "New file."},
		{"write_file", `{"path":"ROOT/a.txt","content":"one\ntwo\nthree"}`, "@@ -1,3 +1,3 @@\n one\n two\n-three\n+three ⟨no line break at the end⟩\n", ""},
		{"write_file", `{"path":"ROOT/link/secret","content":"x"}`, "", "outside"},
		{"write_file", `{"path":"ROOT/../outside/secret","content":"x"}`, "", "outside"},
		{"write_file", `{"path":"a.txt","content":"x"}`, "", "relative"},
		{"write_file", `{"path":"ROOT/bin","content":"x"}`, "", "binary and has 3 bytes"},
		{"write_file", `{"path":"ROOT","content":"x"}`, "", "folder"},
		{"move_file", `{"source":"ROOT/a.txt","destination":"ROOT/b.txt"}`, "", "Moved to "},
		{"move_file", `{"source":"ROOT/a.txt","destination":"ROOT/bin"}`, "", "exists"},
		{"delete_file", `{"path":"ROOT/a.txt"}`, "-two", "deleted"},
	} {
		arguments := strings.ReplaceAll(c.arguments, "ROOT", filepath.ToSlash(root))
		got := fileChanges(t.Context(), &Held{Tool: c.tool, Arguments: arguments, Folders: []string{root}, previewName: "dryRun"})
		if len(got) != 1 || !strings.Contains(got[0].Diff, c.want) || (c.want == "") != (got[0].Diff == "") || !strings.Contains(got[0].Note, c.note) || strings.Contains(got[0].Diff, "hidden") {
			t.Errorf("%s %s: %+v", c.tool, c.arguments, got)
		}
	}
	// What is not understood is not shown: it could change what is written.
	for _, arguments := range []string{`{"path":"ROOT/a.txt","content":"x","append":true}`, `{"path":"ROOT/a.txt"}`, `{"path":"ROOT/a.txt","edits":[{"oldText":"a","newText":"b","line":3}]}`} {
		assert.Nil(t, fileChanges(t.Context(), &Held{Tool: "write_file", Arguments: strings.ReplaceAll(arguments, "ROOT", root), Folders: []string{root}}))
	}
	assert.Nil(t, fileChanges(t.Context(), &Held{Tool: "append_file", Arguments: `{"path":"` + root + `/a.txt","content":"x"}`, Folders: []string{root}}))
}

// memory is the store of words about tools.
type memory map[string]string

func (m memory) Metadata(_ context.Context, key string) ([]byte, bool, error) {
	return []byte(m[key]), m[key] != "", nil
}
func (m memory) SaveMetadata(_ context.Context, key string, value []byte) error {
	m[key] = string(value)
	return nil
}

const dryRunTool = `{"name":"purge","inputSchema":{"properties":{"table":{"type":"string"},"dryRun":{"type":"boolean"}}}}`

// purgeServer has a tool that deletes, and one that counts what is left.
type purgeServer struct {
	ignores bool
	rows    int
	calls   []string
}

func (s *purgeServer) call(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	s.calls = append(s.calls, string(call.Params))
	text := fmt.Sprint(s.rows, " rows")
	if call.Name == "purge" {
		text = "Dry run: 3 rows would be deleted"
		if s.ignores {
			s.rows -= 3
		}
	}
	if !call.Preview || call.Client.Token != "cursor" {
		return core.Reply{}, core.Errorf(core.CodeInternal, "not a preview")
	}
	return core.Reply{Result: json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}]}`)}, nil
}

// askAbout asks about a call to purge and runs its preview. It returns the approval before and after.
func askAbout(t *testing.T, b *Inbox, run bool) (before, after Item) {
	ctx, cancel := context.WithCancel(t.Context())
	done := startAsk(ctx, b, Item{Kind: Call, Server: "db", Client: core.Client{Token: "cursor"}, Held: &Held{
		Tool: "purge", Arguments: `{"table":"t"}`, Definition: []byte(dryRunTool), Caller: core.Call{Server: "db", Client: core.Client{Token: "cursor"}},
	}})
	before = b.List()[0]
	if run {
		assert.NoError(t, b.RequestPreview(before.ID))
		synctest.Wait()
	}
	after = b.List()[0]
	cancel()
	<-done
	return before, after
}

func newPurge(s *purgeServer, auto bool) *Inbox {
	b := New(Options{Bus: new(core.Bus)})
	b.Previews = PreviewRunner{Call: s.call, Store: memory{}, Auto: func() bool { return auto }, Tools: func(string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"purge": []byte(dryRunTool), "count": []byte(`{"name":"count","annotations":{"readOnlyHint":true},"inputSchema":{"required":["table"]}}`)}
	}}
	return b
}

func TestPreviewIsRunAtOnceOnlyAfterATrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &purgeServer{rows: 9}
		b := newPurge(s, true)
		before, _ := askAbout(t, b, false)
		if p := before.Held.Preview; p.State != PreviewOffered || p.Checked || len(s.calls) != 0 {
			t.Fatalf("%+v, %q", p, s.calls)
		}
		_, after := askAbout(t, b, true)
		p := after.Held.Preview
		assert.Truef(t, p.State == PreviewDone && p.Checked && p.Text == "Dry run: 3 rows would be deleted" && after.Held.Seen != before.Held.Seen, "%+v", p)
		if len(s.calls) != 5 || s.calls[2] != `{"name":"purge","arguments":{"dryRun":true,"table":"t"}}` {
			t.Errorf("%q", s.calls)
		}
		s.calls = nil
		if before, _ = askAbout(t, b, false); before.Held.Preview.State != PreviewDone || len(s.calls) != 1 {
			t.Errorf("%+v, %q", before.Held.Preview, s.calls)
		}
	})
}

func TestToolThatIgnoresItsPreviewArgumentIsNeverPreviewedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &purgeServer{rows: 9, ignores: true}
		b := newPurge(s, true)
		if _, after := askAbout(t, b, true); after.Held.Preview.State != PreviewIgnored || !strings.Contains(after.Held.Summary(), "may already have been carried out") {
			t.Errorf("%+v", after.Held.Preview)
		}
		before, _ := askAbout(t, b, false)
		if err := b.RequestPreview(before.ID); before.Held.Preview.State != PreviewIgnored || err == nil || s.rows != 6 {
			t.Errorf("%+v, %v, %d rows", before.Held.Preview, err, s.rows)
		}
		done := startAsk(t.Context(), b, before)
		id := b.List()[0].ID
		err := b.SetPreviewWord(t.Context(), id, true)
		assert.Truef(t, err == nil && b.List()[0].Held.Preview.State == PreviewOffered, "the user's word does not count: %v", err)
		_ = b.Answer(id, Cancel, nil)
		<-done
	})
}

func TestAnswerToWhatIsNoLongerShownIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &purgeServer{rows: 9}
		b := newPurge(s, false)
		b.opts.AnswerTimeout = time.Hour
		done := startAsk(t.Context(), b, Item{Kind: Call, Held: &Held{Tool: "purge", Arguments: `{}`, Definition: []byte(dryRunTool), Caller: core.Call{Client: core.Client{Token: "cursor"}}}})
		first := b.List()[0]
		require.NoError(t, b.RequestPreview(first.ID))
		synctest.Wait()
		second := b.List()[0]
		assert.Equal(t, core.CodeConflict, core.CodeOf(b.AnswerKey(t.Context(), first.AnswerKey(), Accept)))
		time.Sleep(maxPreviewAge + time.Second)
		err := b.AnswerKey(t.Context(), second.AnswerKey(), Accept)
		assert.Truef(t, core.CodeOf(err) == core.CodeConflict && strings.Contains(err.Error(), "ten minutes"), "an old preview is accepted: %v", err)
		assert.NoError(t, b.AnswerKey(t.Context(), b.List()[0].AnswerKey(), Accept))
		a := <-done
		assert.Equal(t, Accept, a.Action)
	})
}

func TestDeceptiveNamesAndCharactersAreReported(t *testing.T) {
	names := func() []string { return []string{"github", "list_files", "gitһub"} }
	for _, c := range []struct{ server, tool, arguments, want string }{
		{"github", "list_files", `{"a":"plain \n text 👩‍👩‍👧"}`, ""},
		{"gitһub", "list_files", `{}`, `The name "gitһub" looks like "github", but is another.`},
		{"x", "1ist_files", `{}`, `The name "1ist_files" looks like "list_files", but is another.`},
		{"x", "y", `{"a":"b\u202ec"}`, "The arguments contain characters that are not visible: U+202E."},
		{"x", "y", "{\"a\":\"b\u200bc\"}", "The arguments contain characters that are not visible: U+200B."},
	} {
		got := strings.Join(warningsAbout(&Item{Server: c.server, Held: &Held{Tool: c.tool, Arguments: c.arguments}}, names), "; ")
		assert.Falsef(t, got != c.want && !(c.server == "github" && strings.Contains(got, "gitһub")), "%s %s %s: %q", c.server, c.tool, c.arguments, got)
	}
}
