package clientconf

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Each file is given with MARK where the instruction tells the user to add the text. The result must
// be valid in the language of the file and contain the entry.
func TestSnippetIsValidWhereItIsToBeAdded(t *testing.T) {
	const (
		braces   = ", between the braces of %s and separated by a comma"
		brackets = ", between the brackets of %s and separated by a comma"
	)
	for _, c := range []struct{ client, file, place, sample string }{
		{"goose", "MARK", "", "extensions:\n  drawbridge:\n    type: \"stdio\"\n"},
		{"goose", "GOOSE_MODE: auto\nMARK", "", "extensions:\n  drawbridge:\n"},
		{"goose", "extensions:\n    a:\n        type: builtin\nMARK", `, under "extensions"`, "    drawbridge:\n"},
		{"goose", "GOOSE_MODE: auto\nMARK", "", ""},
		{"goose", "extensions: {a: {type: builtin}, MARK}\n", strings.ReplaceAll(braces, "%s", `"extensions"`), `"drawbridge": {"type": "stdio"`},
		{"goose", "{extensions: {a: {type: builtin}, MARK}}\n", strings.ReplaceAll(braces, "%s", `"extensions"`), ""},
		{"goose", "{GOOSE_MODE: auto, MARK}\n", strings.ReplaceAll(braces, "%s", "the file"), `"extensions": {"drawbridge": {`},
		{"hermes", "mcp_servers:\n  a:\n    command: x\nMARK", `, under "mcp_servers"`, "  drawbridge:\n"},
		{"continue", "MARK", "", "schema: v1\nmcpServers:\n  - name: \"drawbridge\"\n"},
		{"continue", "name: x\nmcpServers:\n- name: a\n  command: x\nMARK", `, under "mcpServers"`, "- name: \"drawbridge\"\n"},
		{"continue", "name: x\nmcpServers: [{name: a, command: x}, MARK]\n", strings.ReplaceAll(brackets, "%s", `"mcpServers"`), `{"name": "drawbridge"`},
		{"codex", "MARK", "", "[mcp_servers.drawbridge]\ncommand = "},
		{"codex", "model = \"x\"\n\n[mcp_servers]\na = { command = \"x\" }\n\n[other]\nb = 1\nMARK", "", "[mcp_servers.drawbridge]\n"},
		{"codex", "mcp_servers.a.command = \"x\"\nMARK", "", "[mcp_servers.drawbridge]\n"},
		{"codex", "mcp_servers = { a = { command = \"x\" }, MARK }\n[other]\nb = 1\n", strings.ReplaceAll(braces, "%s", `"mcp_servers"`), `drawbridge = { command = "`},
		{"mistral-vibe", "[[mcp_servers]]\nname = \"a\"\nMARK", "", "[[mcp_servers]]\nname = \"drawbridge\""},
		{"mistral-vibe", "mcp_servers = [\n  { name = \"a\" },\n  MARK\n]\n", strings.ReplaceAll(brackets, "%s", `"mcp_servers"`), `{ name = "drawbridge", `},
	} {
		connector, _ := newConnector(t)
		p, err := connector.openPlan(Choice{Client: c.client})
		must(t, err)
		before := strings.ReplaceAll(strings.ReplaceAll(c.file, ", MARK", ""), "MARK", "")
		if before != "" {
			write(t, p.Path, before)
		}
		h, err := connector.ManualSetup(Choice{Client: c.client})
		must(t, err)
		last := h.Steps[len(h.Steps)-1]
		for _, step := range h.Steps {
			if strings.HasPrefix(step, "Or add") {
				last = step
			}
		}
		if want := "Or add the text to " + p.Path + c.place + "."; last != want {
			t.Errorf("%s %q: %s\nwant %s", c.client, c.file, last, want)
		}
		after := strings.ReplaceAll(c.file, "MARK", h.Text)
		if !strings.Contains(h.Text, c.sample) {
			t.Errorf("%s %q: the text is\n%s", c.client, c.file, h.Text)
		}
		file, ok := decodeFile([]byte(after), p.Client)
		if strings.HasPrefix(c.file, "{") { // such a file is never edited, but the client reads it
			file, ok = decodeFile([]byte("all: "+after), p.Client)
			file, _ = file["all"].(map[string]any)
		}
		if entry := lookupEntry(file, p.Client.KeyPath, EntryName); !ok || entry == nil {
			t.Errorf("%s: not valid, or without the entry:\n%s", c.client, after)
		}
	}
}

func TestRefusalSaysWhereToAddSnippet(t *testing.T) {
	c, _ := newConnector(t)
	p, err := c.openPlan(Choice{Client: "codex"})
	must(t, err)
	write(t, p.Path, "mcp_servers = { a = { command = \"x\" } }\n")
	_, err = c.Plan(Choice{Client: "codex"})
	want := "Nothing was changed. Add this manually to " + p.Path + ", between the braces of \"mcp_servers\" and separated by a comma:\ndrawbridge = { command = "
	if _, hint := core.Describe(err); !strings.HasPrefix(hint, want) {
		t.Errorf("%s\nwant %s", hint, want)
	}
}
