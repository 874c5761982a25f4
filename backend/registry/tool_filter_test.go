package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func filter(t *testing.T, keys string) *config.Filter {
	t.Helper()
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {"fs": {"command": "x", `+keys+`}}}`))
	if c == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
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
	if got := publicNames(r.All()); !slices.Equal(got, []string{"fs__cat", "fs__list", "web__read"}) {
		t.Errorf("all: %q", got)
	}
	one, _ := r.Server("fs")
	if got := publicNames(one); !slices.Equal(got, []string{"cat", "list"}) {
		t.Errorf("fs: %q", got)
	}
	want := `{"tools":[{"title":"R","name":"cat","description":"Shows \"all\" of it.","annotations":{"readOnlyHint":true,"idempotentHint":"x"},"n":1.0},` +
		`{"name":"list","description":"New.","inputSchema":{"type":"object"}}]}`
	if got := string(one.ListResult(core.Tools)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for name, found := range map[string]string{"cat": "read", "list": "list", "read": "", "delete": ""} {
		for view, public := range map[*View]string{one: name, r.All(): "fs__" + name} {
			if target, ok := view.Lookup(core.Tools, public); ok != (found != "") || target.Name != found {
				t.Errorf("%s: %+v", public, target)
			}
		}
	}
	for name, ok := range map[string]bool{"read": true, "list": true, "cat": false, "delete": false} {
		if _, got := one.LookupOwnName(core.Tools, name); got != ok {
			t.Errorf("own %s: %v", name, got)
		}
	}
	if target, ok := one.LookupOwnName(core.Prompts, "delete"); !ok || target.Name != "delete" {
		t.Error("a prompt is hidden like a tool")
	}
	if target, _ := one.Lookup(core.Tools, "cat"); target.Hints != (Hints{ReadOnly: Yes}) {
		t.Errorf("%+v", target.Hints)
	}
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
		if got := string(one.Items(core.Tools)[0].Raw); got != want {
			t.Errorf("%s\n got %s\nwant %s", raw, got, want)
		}
		if got := one.Items(core.Tools)[0].Hints; got.ReadOnly != Yes || got.Destructive != Unsaid {
			t.Errorf("%s: %+v", raw, got)
		}
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
	if after, _ := r.Server("fs"); after != before || len(told) != 1 {
		t.Error("the same filter made new lists")
	}
	r.Configure("", []Server{{ID: "fs"}})
	if got := publicNames(r.All()); !slices.Equal(got, []string{"fs__read", "fs__delete"}) {
		t.Errorf("%q", got)
	}
}

func TestHiddenToolOfUnlistedServerIsNotGuessed(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, filterConfig)}})
	one, _ := r.Server("fs")
	for name, found := range map[string]string{"cat": "read", "other": "other", "read": "", "delete": ""} {
		for view, public := range map[*View]string{one: name, r.All(): "fs__" + name} {
			if target, ok := view.Lookup(core.Tools, public); ok != (found != "") || target.Name != found {
				t.Errorf("%s: %+v", public, target)
			}
		}
	}
	if _, ok := one.Lookup(core.Prompts, "delete"); !ok {
		t.Error("a prompt is hidden like a tool")
	}
}

func TestConflictsAndUnmatchedPatternsAreReported(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "fs", Filter: filter(t, `"includeTools": ["raed*", "*"], "tools": {"read": {"rename": "list"}}`)}})
	r.Set("fs", "", tools("read", "list"))
	if got := publicNames(r.All()); !slices.Equal(got, []string{"fs__read", "fs__list"}) {
		t.Errorf("%q", got)
	}
	said := strings.Join(r.All().Conflicts("fs"), "\n")
	if said != "includeTools 'raed*' matches no tool; did you mean 'read*'?\ntool 'read' was not renamed, because another tool is already named 'list'" {
		t.Error(said)
	}
}
