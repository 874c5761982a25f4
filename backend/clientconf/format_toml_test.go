package clientconf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	codex = Client{ID: "codex-like", Name: "Codex", Format: TOML, KeyPath: []string{"mcp_servers"}}
	vibe  = Client{ID: "vibe-like", Name: "Vibe", Format: TOML, ContainerKind: "list", KeyPath: []string{"mcp_servers"}}
	named = []byte(`{"name": "drawbridge", "command": "/opt/drawbridge", "args": ["stdio", "--client", "x"]}`)
)

var tomlCorpus = []struct {
	name   string
	client Client
	src    string
}{
	{"empty", codex, ""},
	{"comment only", codex, "# mine\n"},
	{"no newline at the end", codex, "model = \"x\""},
	{"other tables and comments", codex, "model = \"gpt\" # why\n\n[projects.\"/a b\"]\ntrust_level = \"trusted\"\n\n# servers\n[mcp_servers.github]\ncommand = \"npx\"\nargs = [\n  \"-y\", # quiet\n  \"x\",\n]\n[mcp_servers.github.env]\nTOKEN = '''a\n[not.a.table]\n# no comment\n'''\n"},
	{"crlf", codex, "a = 1\r\n\r\n[b]\r\nc = 2\r\n"},
	{"byte order mark", codex, "\xEF\xBB\xBFa = 1\n"},
	{"list of servers", vibe, "[[mcp_servers]]\nname = \"a\"\ncommand = \"x\"\n\n[other]\nb = 1\n"},
	{"big number and dates", codex, "n = 9007199254740993\nf = 1.0\nd = 2026-11-20T10:00:00Z\n"},
}

func TestTOMLEntryIsAppendedAndRemoved(t *testing.T) {
	for _, c := range tomlCorpus {
		t.Run(c.name, func(t *testing.T) {
			value := entry
			if c.client.ContainerKind == "list" {
				value = named
			}
			file, err := parse([]byte(c.src), c.client)
			require.NoError(t, err)
			out, err := file.set(c.client.KeyPath, EntryName, value)
			require.NoError(t, err)
			require.Truef(t, strings.HasPrefix(string(out), c.src), "the old text changed:\n%s", out)
			again, err := parse(out, c.client)
			require.NoError(t, err, out)
			_, got, err := again.entry(c.client.KeyPath, EntryName)
			require.Truef(t, err == nil && sameJSON(got, value), "our entry is %s (%v)\n%s", got, err, out)
			require.Truef(t, sameDecoded(t, []byte(c.src), out, c.client, []edit{{path: c.client.KeyPath, name: EntryName}}), "other parts changed:\n%s", out)
			back, err := again.remove(c.client.KeyPath, EntryName)
			if err != nil || !sameDecoded(t, []byte(c.src), back, c.client, []edit{{path: c.client.KeyPath, name: EntryName}}) {
				t.Fatalf("removing: %v\n%s", err, back)
			}
			require.Equalf(t, strings.TrimRight(c.src, "\r\n"), strings.TrimRight(string(back), "\r\n"), "after removing:\n%q", back)
		})
	}
}

func TestTOMLEntryInMiddleKeepsNeighbors(t *testing.T) {
	src := "a = 1\n\n[mcp_servers.drawbridge]\ncommand = \"/old/drawbridge\"\nargs = [\"stdio\"]\n\n[mcp_servers.drawbridge.env]\nA = \"1\"\n\n# of z\n[z]\nb = 2\n"
	file, err := parse([]byte(src), codex)
	require.NoError(t, err)
	back, err := file.remove(codex.KeyPath, EntryName)
	want := "a = 1\n\n# of z\n[z]\nb = 2\n"
	require.Truef(t, err == nil && string(back) == want, "%v\n%s", err, back)
	out, err := file.set(codex.KeyPath, EntryName, entry)
	require.Truef(t, err == nil && strings.HasSuffix(string(out), "\n\n# of z\n[z]\nb = 2\n") && !strings.Contains(string(out), "/old/"), "%v\n%s", err, out)
}

func TestTOMLEntryInUnsupportedFormIsRefused(t *testing.T) {
	for _, src := range []string{
		"mcp_servers = { drawbridge = { command = \"x\" } }\n",
		"[mcp_servers]\ndrawbridge = { command = \"x\" }\n",
		"mcp_servers.drawbridge.command = \"x\"\n",
		"[mcp_servers.drawbridge]\ncommand = \"x\"\n[other]\na = 1\n[mcp_servers.drawbridge.env]\nB = \"2\"\n",
	} {
		file, err := parse([]byte(src), codex)
		if err == nil {
			_, err = file.set(codex.KeyPath, EntryName, entry)
		}
		assert.Errorf(t, err, "taken: %s", src)
	}
}

func FuzzTOMLEntryKeepsOtherParts(f *testing.F) {
	for _, c := range tomlCorpus {
		f.Add([]byte(c.src), c.client.ContainerKind == "list")
	}
	f.Fuzz(func(t *testing.T, src []byte, list bool) {
		client, value := codex, entry
		if list {
			client, value = vibe, named
		}
		p := &Plan{Client: client, Path: "x", edits: []edit{{client.KeyPath, EntryName, value}}, before: src, existed: true}
		if p.splice() != nil || p.Action != Add {
			return
		}
		back := removeEntry(t, client, p.after)
		require.Truef(t, sameDecoded(t, src, back, client, []edit{{path: client.KeyPath, name: EntryName}}), "removing changed other parts: %q", back)
	})
}
