package trust

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func corpus(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

type cleanTool struct {
	name string
	raw  []byte
}

// cleanTools returns n definitions in the style of public servers: those of the file, and generated
// ones that combine typical sentences with many kinds of objects.
func cleanTools(t testing.TB, n int) []cleanTool {
	t.Helper()
	var list []cleanTool
	add := func(name, text, parameter string) {
		raw, err := json.Marshal(map[string]any{
			"name": name, "description": text,
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{
				"id":    map[string]any{"type": "string", "description": parameter},
				"limit": map[string]any{"type": "integer", "description": "How many to return, at most 100", "default": 20},
			}, "required": []string{"id"}},
		})
		require.NoError(t, err)
		list = append(list, cleanTool{name, raw})
	}
	lines := corpus(t, "clean_definitions.txt")
	for _, l := range lines {
		name, text, ok := strings.Cut(l, "|")
		require.Truef(t, ok, "no name: %q", l)
		add(name, text, "The id of the object")
	}
	verbs := strings.Split("get|list|create|update|delete|search|export|import|archive|share|copy|move|rename|validate|publish|read|send|open|run|sync", "|")
	objects := strings.Split("file|folder|issue|pull request|message|channel|user|token|secret|environment variable|API key|conversation|prompt|system prompt|deployment|database|table|row|record|e-mail|calendar event|contact|invoice|payment|page|screenshot|container|image|pod|log|metric|dashboard|alert|certificate|SSH key|credential|session|comment|review|branch|commit|release|webhook|workflow|dataset|model|document", "|")
	styles := []string{
		"%[1]s a %[2]s.", "%[1]s a %[2]s by its id. Returns an error if the %[2]s does not exist.",
		"Use this tool to %[1]s a %[2]s. Do not use it for more than one %[2]s at a time.",
		"%[1]s a %[2]s. IMPORTANT: ask the user before you %[1]s a %[2]s that belongs to someone else.",
		"%[1]s a %[2]s in the workspace. You must call list_%[3]ss first to get the id.",
		"%[1]s one or more %[2]ss. The user must have permission to do this. Never guess an id.",
		"%[1]s a %[2]s.\n\nArgs:\n  id: the id of the %[2]s\n\nReturns:\n  The %[2]s as JSON, or an error message that you should show to the user.",
		"%[1]s a %[2]s. When to use: the user asks to %[1]s a %[2]s. When NOT to use: for several %[2]ss use batch_%[3]s instead.",
		"This tool can %[1]s a %[2]s. It sends the %[2]s to the API and waits until the server has stored it.",
		"%[1]s a %[2]s and include its metadata in the result. Sensitive values are never shown.",
		"%[1]s the %[2]s and tell the user where to find it. Always confirm with the user first.",
		"WARNING: this will %[1]s the %[2]s and cannot be undone. Don't call it without asking the user.",
	}
	parameters := []string{
		"The %s to work on", "Id or name of the %s, e.g. user@example.com or https://example.com/x", "Path of the %s, relative to the project root",
		"The content of the %s", "Optional: pass the %s as a base64 string", "A summary of the %s for the user",
	}
	for i := 0; len(list) < n; i++ {
		v, o := verbs[i%len(verbs)], objects[(i/len(verbs))%len(objects)]
		s, p := styles[(i*7+i/len(verbs))%len(styles)], parameters[(i/3)%len(parameters)]
		snake := strings.ReplaceAll(strings.ToLower(o), " ", "_")
		add(v+"_"+snake, fmt.Sprintf(s, v, o, snake), fmt.Sprintf(p, o))
	}
	return list
}

func TestCleanDefinitionsRaiseWarningsBelowOnePercent(t *testing.T) {
	tools := cleanTools(t, cleanDefinitions)
	warned := 0
	for _, c := range tools {
		if w := Scan(c.name, c.raw); len(w) > 0 {
			if warned++; warned < 40 {
				t.Logf("%s: %s %s", c.name, w[0].Code, w[0].Quote)
			}
		}
	}
	t.Logf("%d of %d clean definitions raise a warning", warned, len(tools))
	assert.Truef(t, warned*100 < len(tools), "%d of %d clean definitions raise a warning", warned, len(tools))
	known := 0 // warnings about definitions from real servers
	for _, c := range tools[:len(corpus(t, "clean_definitions.txt"))] {
		if len(Scan(c.name, c.raw)) > 0 {
			known++
		}
	}
	assert.Truef(t, known <= 1, "%d of the written ones raise a warning", known)
	assert.Len(t, prefilterWords, len(rules()))
}

func TestPoisonedDefinitionsAreFound(t *testing.T) {
	lines := corpus(t, "poisoned_definitions.txt")
	found, all := 0, 0
	for _, l := range lines {
		for where, raw := range map[string]any{
			"description": map[string]any{"name": "add", "description": "Adds two numbers. " + l},
			"parameter":   map[string]any{"name": "add", "description": "Adds.", "inputSchema": map[string]any{"properties": map[string]any{"a": map[string]any{"type": "number", "description": l}}}},
		} {
			data, err := json.Marshal(raw)
			require.NoError(t, err)
			all++
			if w := Scan("add", data); len(w) > 0 {
				found++
				require.NotEmptyf(t, w[0].Reason, "%q", l)
				require.NotEmptyf(t, w[0].Where, "%q", l)
			} else {
				t.Logf("not found in the %s: %s", where, l)
			}
		}
	}
	t.Logf("%d of %d poisoned definitions (%d texts) are found", found, all, len(lines))
	assert.Truef(t, len(lines) >= 100 && found*100 >= all*95, "%d of %d poisoned definitions are found, of %d texts", found, all, len(lines))
}

func FuzzScanAndTextNeverFail(f *testing.F) {
	for _, l := range corpus(f, "poisoned_definitions.txt") {
		f.Add([]byte(`{"name":"a","description":` + fmt.Sprintf("%q", l) + `}`))
	}
	f.Add([]byte(`{"a":{"a":[[[{}]]]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w := Scan("a", raw)
		assert.Truef(t, len(w) <= maxWarnings, "%d warnings", len(w))
		one := canonical(raw)
		assert.Falsef(t, json.Valid(raw) && !json.Valid(one), "%q became %q", raw, one)
		d := core.Diff(Text(raw), Text(one))
		assert.Truef(t, len(d) <= 2*maxLines+2, "%d lines", len(d))
		for _, l := range Text(raw) {
			assert.Falsef(t, strings.ContainsAny(l, "\u202e\u200b\x1b"), "%q cannot be seen", l)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	tools := cleanTools(b, 1000)
	for n := 0; b.Loop(); n++ {
		c := tools[n%len(tools)]
		Scan(c.name, c.raw)
	}
}

func BenchmarkCanonical(b *testing.B) {
	tools := cleanTools(b, 1000)
	for n := 0; b.Loop(); n++ {
		hashOf(canonical(tools[n%len(tools)].raw))
	}
}
