package clientconf

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// variants are common encodings of the same file.
var variants = map[string]func([]byte) []byte{
	"as is":   func(b []byte) []byte { return b },
	"crlf":    func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) },
	"bom":     func(b []byte) []byte { return append([]byte("\xEF\xBB\xBF"), b...) },
	"no end":  func(b []byte) []byte { return bytes.TrimRight(b, "\n") },
	"blanks":  func(b []byte) []byte { return append(bytes.Clone(b), "\n\n\n"...) },
	"huge":    huge,
	"symlink": nil,
}

// huge prepends a megabyte of comment or string, such as the history in real files.
func huge(b []byte) []byte {
	text := strings.Repeat("x", 1<<18)
	if at := bytes.IndexByte(b, '{'); at == 0 && bytes.Contains(b, []byte(`"`)) {
		return append([]byte(`{"history": "`+text+`",`), b[1:]...)
	}
	if bytes.ContainsAny(b[:min(1, len(b))], "{[/") {
		return b
	}
	if bytes.HasPrefix(b, []byte("---")) {
		return append([]byte("---\n# "+text+"\n"), bytes.TrimPrefix(b, []byte("---\n"))...)
	}
	return append([]byte("# "+text+"\n"), b...)
}

// refusals are files that must not be edited.
var refusals = []string{"broken", "double", "commented", "foreign", "trailing", "array-root", "two-docs", "flow.", "flow-inside", "inline", "dotted", "null.json"}

func TestCorpusIsConnectedAndUndoneOrRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*")
	require.NoError(t, err)
	var cases int
	var refused atomic.Int32
	for n, file := range files {
		id, _, _ := strings.Cut(filepath.Base(file), "__")
		base, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, name := range slices.Sorted(maps.Keys(variants)) {
			change := variants[name]
			if name == "huge" && !strings.Contains(file, "typical") {
				continue
			}
			// Each file in its original form and in every third variant; with CI=true in all
			// variants.
			if name == "symlink" && runtime.GOOS == "windows" {
				continue // links need rights there
			}
			if name != "as is" && (i+n)%3 != 0 && os.Getenv("CI") != "true" {
				continue
			}
			cases++
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				t.Parallel()
				src := base
				if change != nil {
					src = change(base)
				}
				c, home := newConnector(t)
				p, _ := c.openPlan(Choice{Client: id})
				write(t, p.Path, string(src))
				if name == "symlink" {
					real := filepath.Join(home, "dotfiles", "the file")
					write(t, real, string(src))
					require.NoError(t, errors.Join(os.Remove(p.Path), os.Symlink(real, p.Path)))
				}
				if !roundTrip(t, c, id, p.Path, string(src)) {
					refused.Add(1)
					for _, word := range refusals {
						if strings.Contains(filepath.Base(file), word) {
							return
						}
					}
					require.Containsf(t, file, "quoted-colon", "refused:\n%.400s", src)
				}
			})
		}
	}
	require.Truef(t, len(files) >= 120, "only %d files", len(files))
	t.Cleanup(func() { t.Logf("%d files in %d forms, %d of them refused", len(files), cases, refused.Load()) })
}

// roundTrip connects, undoes, connects, simulates a change by another program, and
// disconnects. It returns false if the file was refused: unchanged, and with a snippet.
func roundTrip(t *testing.T, c *Connector, id, path, src string) bool {
	t.Helper()
	p, err := c.Plan(Choice{Client: id})
	if err != nil {
		e, ok := errors.AsType[*core.Error](err)
		require.Truef(t, ok && strings.Contains(e.Hint, "stdio"), "refused without a snippet: %v", err)
		require.Equal(t, src, content(t, path), "refused, and changed")
		return false
	}
	require.NoError(t, c.Apply(context.Background(), p))
	requireKept(t, p.Client, []byte(src), []byte(content(t, path)), " \t\r\n{}")
	if how := undo(t, c, id); how != Restored || content(t, path) != src {
		t.Fatalf("undone as %s:\n%.2000q\nwant\n%.2000q", how, content(t, path), src)
	}
	connect(t, c, id)
	other := content(t, path) + "\n"
	require.NoError(t, os.WriteFile(path, []byte(other), 0o640))
	require.Equal(t, Removed, undo(t, c, id), "undone as")
	edits := []edit{{path: p.Client.KeyPath, name: EntryName}}
	if after := content(t, path); !sameDecoded(t, []byte(src), []byte(after), p.Client, edits) || strings.Contains(after, c.program) {
		t.Fatalf("disconnect changed other parts:\n%.2000s", after)
	}
	return true
}

// requireKept fails unless the client can parse the new file, and every byte of the old file, except
// for those in ignored, is in the new one, in order.
func requireKept(t *testing.T, client Client, src, out []byte, ignored string) {
	t.Helper()
	_, err := parse(out, client)
	require.NoError(t, err, out)
	rest := out
	for _, b := range src {
		if strings.IndexByte(ignored, b) >= 0 {
			continue
		}
		at := bytes.IndexByte(rest, b)
		require.Truef(t, at >= 0, "the old text is not in the new one:\n%.2000s", out)
		rest = rest[at+1:]
	}
	require.Falsef(t, bytes.Contains(src, []byte("\r\n")) && bytes.Count(out, []byte("\n")) != bytes.Count(out, []byte("\r\n")), "mixed line ends:\n%.2000q", out)
}

func TestReadOnlyFileIsRefusedByMove(t *testing.T) {
	c, vault, home, config := newImporter(t)
	path, ours := filepath.Join(home, ".claude.json"), "{\n  // mine\n  \"mcpServers\": {}\n}\n"
	write(t, path, literals)
	write(t, config, ours)
	require.NoError(t, os.Chmod(path, 0o440))
	p, err := c.PlanMove(Choice{Client: "claude-code"}, nil, false)
	require.NoError(t, err)
	require.Equal(t, core.CodeRejected, core.CodeOf(c.Apply(context.Background(), p)))
	if content(t, path) != literals || content(t, config) != ours || len(vault.values) != 0 {
		t.Fatalf("changed: secrets %v\n%s\n%s", vault.values, content(t, path), content(t, config))
	}
	s, ok := c.Status("claude-code")
	require.Falsef(t, ok, "a record is left: %s", s.State)
}

// An emptied list must not become a mapping, which the client would refuse, and must be editable
// again.
func TestEmptiedYAMLContainerKeepsTypeAndComments(t *testing.T) {
	for src, want := range map[string]string{
		"servers: # mine\n  - name: drawbridge\n    command: x\n":          "servers: [] # mine\n",
		"servers:\n  # mine\n  - name: drawbridge\n    command: x\nb: 2\n": "servers: []\n  # mine\nb: 2\n",
		"servers:\r\n  # mine\r\n  drawbridge:\r\n    command: x\r\n":      "servers: {}\r\n  # mine\r\n",
		"servers: # mine\n  drawbridge:\n    command: x":                   "servers: {} # mine\n",
		"servers:\n  drawbridge:\n    command: x\nb: 2\n":                  "b: 2\n",
	} {
		client, value := Client{Format: YAML, KeyPath: []string{"servers"}}, entry
		if strings.Contains(src, "- name") {
			client.ContainerKind, value = "list", named
		}
		back := removeEntry(t, client, []byte(src))
		assert.Equalf(t, want, string(back), "%q", src)
		file, err := parse(back, client)
		require.NoError(t, err)
		again, err := file.set(client.KeyPath, EntryName, value)
		require.NoError(t, err)
		assert.Truef(t, sameDecoded(t, back, again, client, []edit{{path: client.KeyPath, name: EntryName}}), "%q with the entry again is %q", back, again)
	}
}

func FuzzYAMLEntryKeepsOtherParts(f *testing.F) {
	files, _ := filepath.Glob("testdata/corpus/*.yaml")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			f.Add(b, strings.Contains(file, "continue"))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, list bool) {
		client := Client{ID: "y", Name: "Y", Format: YAML, KeyPath: []string{"extensions"}}
		value := entry
		if list {
			client.ContainerKind, client.KeyPath = "list", []string{"mcpServers"}
			value = []byte(`{"name": "drawbridge", "command": "/opt/drawbridge", "args": ["stdio"]}`)
		}
		p := &Plan{Client: client, Path: "x", edits: []edit{{client.KeyPath, EntryName, value}}, before: src, existed: true}
		if p.splice() != nil || p.Action != Add {
			return // refused, or nothing to do
		}
		back := removeEntry(t, client, p.after)
		if _, err := parse(back, client); err != nil {
			return // undo makes the same check and refuses
		}
		require.Truef(t, sameDecoded(t, src, back, client, []edit{{path: client.KeyPath, name: EntryName}}), "removing changed other parts: %q", back)
	})
}

// sameDecoded reports whether two files decode to the same value except for the edited entries, and fails
// if sameExcept, which decodes no JSON, says otherwise.
func sameDecoded(t testing.TB, before, after []byte, client Client, edits []edit) bool {
	t.Helper()
	x, errX := parse(before, client)
	y, errY := parse(after, client)
	if errX != nil || errY != nil {
		return false
	}
	a, errA := x.decode()
	b, errB := y.decode()
	if errA != nil || errB != nil || a == nil || b == nil {
		return false
	}
	for _, e := range edits {
		stripEntry(a, e.path, e.name)
		stripEntry(b, e.path, e.name)
	}
	same := reflect.DeepEqual(a, b)
	assert.Equalf(t, same, sameExcept(x, y, edits), "%v %v", before, after)
	return same
}

// One byte that differs outside of the entries is found.
func TestEditThatTouchesAnotherPartIsFound(t *testing.T) {
	client := mustByID(t, "claude-code")
	const before = `{"a": [1, {"b": "c"}], "mcpServers": {"x": {"command": "x"}}, "p": {"q": null}}`
	edits := []edit{{path: client.KeyPath, name: "drawbridge"}}
	for after, want := range map[string]bool{
		before: true,
		strings.Replace(before, `"x": {`, `"drawbridge": {"command": "d"}, "x": {`, 1): true,
		strings.Replace(before, `"c"`, `"d"`, 1):                                       false,
		strings.Replace(before, `"command"`, `"cmd"`, 1):                               false,
		strings.Replace(before, `, "p": {"q": null}`, ``, 1):                           false,
		strings.Replace(before, `"x": {"command": "x"}`, ``, 1):                        false,
		strings.Replace(before, `"x": {`, `"y": {}, "x": {`, 1):                        false,
	} {
		assert.Equal(t, want, sameDecoded(t, []byte(before), []byte(after), client, edits), after)
	}
}

func TestEachVersionOfAFileIsParsedOnce(t *testing.T) {
	c, home := newConnector(t)
	write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {}}`)
	p := connect(t, c, "claude-code")
	for _, src := range [][]byte{p.before, p.after} {
		known := slices.Clone(p.parsed)
		if file, err := p.parse(src); err != nil || len(known) != 2 || !slices.ContainsFunc(known, func(one parsedFile) bool { return one.file == file }) {
			t.Errorf("%s was parsed again (%v)", src, err)
		}
	}
}
