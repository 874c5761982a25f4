package registry

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithheldToolIsHiddenAndKeepsItsName(t *testing.T) {
	hide := map[string]string{}
	mute := false
	r := New(Options{Withhold: func(server string, _ *core.Catalog) (map[core.Kind]map[string]string, bool) {
		if server == "a" {
			return map[core.Kind]map[string]string{core.Tools: hide}, mute
		}
		return nil, false
	}})
	var heard []Change
	r.OnChange(func(c Change) { heard = append(heard, c) })
	c := tools("read", "search")
	c.Instructions = "Hello."
	r.Set("a", "A", c)
	r.Set("b", "B", tools("search"))
	before := string(r.All().ListResult(core.Tools))
	require.Contains(t, before, "a__search")
	require.Contains(t, before, "b__search")
	heard = nil
	hide, mute = map[string]string{"search": "it has changed"}, true
	r.ReapplyWithhold("a")
	assert.Truef(t, len(heard) == 1 && len(heard[0].Kinds) == 1 && heard[0].Kinds[0] == core.Tools, "clients hear %v", heard)
	own, _ := r.Server("a")
	for name, v := range map[string]*View{"all": r.All(), "within": r.WithNameLimit(40), "own": own} {
		list := string(v.ListResult(core.Tools))
		assert.Truef(t, !strings.Contains(list, "a__search") && !(name == "own" && strings.Contains(list, "search")), "%s lists it: %s", name, list)
		assert.Emptyf(t, v.Offers()[0].Catalog.Instructions, "%s has instructions that are withheld", name)
	}
	_, ok := r.All().Lookup(core.Tools, "a__search")
	assert.False(t, ok, "it is found by its public name")
	_, ok = own.LookupOwnName(core.Tools, "search")
	assert.False(t, ok, "it is found by its own name")
	w, ok := r.All().Withheld(core.Tools, "a__search")
	assert.Truef(t, ok && w.Server == "a" && w.Name == "search" && w.Why == "it has changed", "why is not known: %v", w)
	assert.Contains(t, string(r.All().ListResult(core.Tools)), "b__search", "another server's tool has a new name")
	heard = nil
	hide, mute = nil, false
	r.ReapplyWithhold("a")
	after := string(r.All().ListResult(core.Tools))
	assert.Truef(t, after == before && len(heard) == 1, "it does not come back as it was: %s, %v", after, heard)
	own, _ = r.Server("a")
	assert.Equal(t, "Hello.", own.Offers()[0].Catalog.Instructions, "the instructions do not come back")
}

// Clients neither list nor get a withheld prompt. A withheld resource is not listed, but can be
// read.
func TestWithheldPromptsAndResourcesAreNotListed(t *testing.T) {
	r := New(Options{Withhold: func(_ string, offered *core.Catalog) (map[core.Kind]map[string]string, bool) {
		assert.Truef(t, len(offered.Prompts) == 1 && len(offered.Resources) == 1 && len(offered.Templates) == 1, "offered %+v", offered)
		return map[core.Kind]map[string]string{core.Prompts: {"ask": "changed"}, core.Resources: {"r://1": "changed"}, core.Templates: {"r://{i}": "changed"}}, false
	}})
	c := catalogOf("r://1", "r://{i}")
	c.Tools, c.Prompts = []core.Item{item("ask", `{"name":"ask"}`)}, []core.Item{item("ask", `{"name":"ask"}`)}
	r.Set("a", "", c)
	own, _ := r.Server("a")
	for prefix, v := range map[string]*View{"a__": r.All(), "": own} {
		for _, kind := range []core.Kind{core.Prompts, core.Resources, core.Templates} {
			assert.Emptyf(t, v.Items(kind), "%q", prefix)
		}
		w, ok := v.Withheld(core.Prompts, prefix+"ask")
		assert.Truef(t, ok && w.Server == "a" && w.Name == "ask", "%q does not say why: %+v", prefix, w)
		_, ok = v.Lookup(core.Prompts, prefix+"ask")
		assert.Falsef(t, ok, "%q finds the prompt", prefix)
		_, ok = v.Lookup(core.Tools, prefix+"ask")
		assert.Truef(t, ok, "%q lacks the tool of the same name", prefix)
		for _, uri := range []string{"r://1", "r://2"} {
			if target, ok := v.Resource(uri); !ok || target.Server != "a" {
				t.Errorf("%q does not read %s", prefix, uri)
			}
		}
	}
}
