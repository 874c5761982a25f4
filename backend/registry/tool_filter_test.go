package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func filter(t *testing.T, keys string) *config.Filter {
	t.Helper()
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {"fs": {"command": "x", `+keys+`}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	return c.Servers[0].Filter
}

const filterConfig = `"excludeTools": ["del*"], "tools": {"read": {"rename": "cat", "description": "Shows \"all\" of it."}, "list": {"description": "New."}}`

func TestHiddenToolIsNeitherListedNorFound(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, filterConfig)}, {ID: "web"}})
	r.Set("web", "", tools("read"))
	r.Set("fs", "", &core.Catalog{
		Tools: []core.Item{
			item("read", `{"title":"R","name":"read","description":"Old.","annotations":{"readOnlyHint":true,"idempotentHint":"x"},"n":1.0}`),
			item("list", `{"name":"list","inputSchema":{"type":"object"}}`),
			toolNamed("delete"),
		},
		Prompts: []core.Item{item("delete", `{"name":"delete"}`)},
	})
	assert.Equal(t, []string{"fs__cat", "fs__list", "web__read"}, publicNames(r.All()))
	one, _ := r.Server("fs")
	assert.Equal(t, []string{"cat", "list"}, publicNames(one))
	want := `{"tools":[{"title":"R","name":"cat","description":"Shows \"all\" of it.","annotations":{"readOnlyHint":true,"idempotentHint":"x"},"n":1.0},` +
		`{"name":"list","description":"New.","inputSchema":{"type":"object"}}]}`
	assert.Equal(t, want, string(one.ListResult(core.Tools)))
	for name, found := range map[string]string{"cat": "read", "list": "list", "read": "", "delete": ""} {
		for view, public := range map[*View]string{one: name, r.All(): "fs__" + name} {
			target, ok := view.Lookup(core.Tools, public)
			assert.Truef(t, ok == (found != "") && target.Name == found, "%s: %+v", public, target)
		}
	}
	for name, ok := range map[string]bool{"read": true, "list": true, "cat": false, "delete": false} {
		_, got := one.LookupOwnName(core.Tools, name)
		assert.Equalf(t, ok, got, "own %s", name)
	}
	target, ok := one.LookupOwnName(core.Prompts, "delete")
	assert.True(t, ok && target.Name == "delete", "a prompt is hidden like a tool")
	target, _ = one.Lookup(core.Tools, "cat")
	assert.Equal(t, Hints{ReadOnly: Yes}, target.Hints)
	if all := r.All(); !all.ReadOnly("fs", "read") || all.ReadOnly("fs", "list") || all.ReadOnly("fs", "cat") || all.ReadOnly("other", "read") {
		t.Error("only fs's read says that it changes nothing")
	}
}

// The configuration replaces what a server declares about a tool, for clients and for the policy.
func TestConfiguredTitleAndAnnotationsReplaceThoseOfTheServer(t *testing.T) {
	const keys = `{"title": "New <é>", "annotations": {"readOnlyHint": true, "openWorldHint": false}}`
	for raw, want := range map[string]string{
		`{"name":"x","n":1.0}`:                        `{"name":"x","annotations":{"readOnlyHint":true,"openWorldHint":false},"title":"New <é>","n":1.0}`,
		`{"annotations":{},"name":"x","title":"Old"}`: `{"annotations":{"readOnlyHint":true,"openWorldHint":false},"name":"x","title":"New <é>"}`,
		`{"annotations":{"title":"Old","ReadOnlyHint":false,"v":"1.0<","openWorldHint":5},"name":"x"}`: `{"annotations":{"readOnlyHint":true,"title":"New <é>","ReadOnlyHint":false,"v":"1.0<","openWorldHint":false},"name":"x","title":"New <é>"}`,
		`{"name":"x","annotations":null,"name":"x"}`:                                                   `{"name":"x","annotations":{"readOnlyHint":true,"openWorldHint":false},"name":"x","title":"New <é>"}`,
	} {
		r := New(Options{})
		r.Configure("", []Server{{ID: "fs", Filter: filter(t, `"tools": {"x": `+keys+`}`)}})
		r.Set("fs", "", &core.Catalog{Tools: []core.Item{item("x", raw)}})
		one, _ := r.Server("fs")
		assert.Equal(t, want, string(one.Items(core.Tools)[0].Raw), raw)
		got := one.Items(core.Tools)[0].Hints
		assert.Truef(t, got.ReadOnly == Yes && got.Destructive == Unsaid, "%s: %+v", raw, got)
	}
}

func TestFilterChangeUpdatesListsOfUnchangedServer(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "fs"}})
	r.Set("fs", "", tools("read", "delete"))
	var told []Change
	r.OnChange(func(c Change) { told = append(told, c) })
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, `"excludeTools": ["delete"]`)}})
	if got := publicNames(r.All()); !slices.Equal(got, []string{"fs__read"}) || len(told) != 1 || !slices.Equal(told[0].Kinds, []core.Kind{core.Tools}) {
		t.Errorf("%q, told %+v", got, told)
	}
	before, _ := r.Server("fs")
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, `"excludeTools": ["delete"]`)}})
	after, _ := r.Server("fs")
	assert.True(t, after == before && len(told) == 1, "the same filter made new lists")
	r.Configure("", []Server{{ID: "fs"}})
	assert.Equal(t, []string{"fs__read", "fs__delete"}, publicNames(r.All()))
}

func TestHiddenToolOfUnlistedServerIsNotGuessed(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, filterConfig)}})
	one, _ := r.Server("fs")
	for name, found := range map[string]string{"cat": "read", "other": "other", "read": "", "delete": ""} {
		for view, public := range map[*View]string{one: name, r.All(): "fs__" + name} {
			target, ok := view.Lookup(core.Tools, public)
			assert.Truef(t, ok == (found != "") && target.Name == found, "%s: %+v", public, target)
		}
	}
	_, ok := one.Lookup(core.Prompts, "delete")
	assert.True(t, ok, "a prompt is hidden like a tool")
}

func TestConflictsAndUnmatchedPatternsAreReported(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, `"includeTools": ["raed*", "*"], "tools": {"read": {"rename": "list"}}`)}})
	r.Set("fs", "", tools("read", "list"))
	assert.Equal(t, []string{"fs__read", "fs__list"}, publicNames(r.All()))
	said := strings.Join(r.All().Conflicts("fs"), "\n")
	assert.Equal(t, "includeTools 'raed*' matches no tool; did you mean 'read*'?\ntool 'read' was not renamed, because another tool is already named 'list'", said)
}
