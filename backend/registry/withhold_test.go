package registry

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
	if !strings.Contains(before, "a__search") || !strings.Contains(before, "b__search") {
		t.Fatal(before)
	}
	heard = nil
	hide, mute = map[string]string{"search": "it has changed"}, true
	r.ReapplyWithhold("a")
	if len(heard) != 1 || len(heard[0].Kinds) != 1 || heard[0].Kinds[0] != core.Tools {
		t.Errorf("clients hear %v", heard)
	}
	own, _ := r.Server("a")
	for name, v := range map[string]*View{"all": r.All(), "within": r.WithNameLimit(40), "own": own} {
		if list := string(v.ListResult(core.Tools)); strings.Contains(list, "a__search") || name == "own" && strings.Contains(list, "search") {
			t.Errorf("%s lists it: %s", name, list)
		}
		if v.Offers()[0].Catalog.Instructions != "" {
			t.Errorf("%s has instructions that are withheld", name)
		}
	}
	if _, ok := r.All().Lookup(core.Tools, "a__search"); ok {
		t.Error("it is found by its public name")
	}
	if _, ok := own.LookupOwnName(core.Tools, "search"); ok {
		t.Error("it is found by its own name")
	}
	if w, ok := r.All().Withheld(core.Tools, "a__search"); !ok || w.Server != "a" || w.Name != "search" || w.Why != "it has changed" {
		t.Errorf("why is not known: %v", w)
	}
	if list := string(r.All().ListResult(core.Tools)); !strings.Contains(list, "b__search") {
		t.Errorf("another server's tool has a new name: %s", list)
	}
	heard = nil
	hide, mute = nil, false
	r.ReapplyWithhold("a")
	if after := string(r.All().ListResult(core.Tools)); after != before || len(heard) != 1 {
		t.Errorf("it does not come back as it was: %s, %v", after, heard)
	}
	own, _ = r.Server("a")
	if own.Offers()[0].Catalog.Instructions != "Hello." {
		t.Error("the instructions do not come back")
	}
}

// Clients neither list nor get a withheld prompt. A withheld resource is not listed, but can be
// read.
func TestWithheldPromptsAndResourcesAreNotListed(t *testing.T) {
	r := New(Options{Withhold: func(_ string, offered *core.Catalog) (map[core.Kind]map[string]string, bool) {
		if len(offered.Prompts) != 1 || len(offered.Resources) != 1 || len(offered.Templates) != 1 {
			t.Errorf("offered %+v", offered)
		}
		return map[core.Kind]map[string]string{core.Prompts: {"ask": "changed"}, core.Resources: {"r://1": "changed"}, core.Templates: {"r://{i}": "changed"}}, false
	}})
	c := catalogOf("r://1", "r://{i}")
	c.Tools, c.Prompts = []core.Item{item("ask", `{"name":"ask"}`)}, []core.Item{item("ask", `{"name":"ask"}`)}
	r.Set("a", "", c)
	own, _ := r.Server("a")
	for prefix, v := range map[string]*View{"a__": r.All(), "": own} {
		for _, kind := range []core.Kind{core.Prompts, core.Resources, core.Templates} {
			if list := v.Items(kind); len(list) != 0 {
				t.Errorf("%q lists %v", prefix, list)
			}
		}
		if w, ok := v.Withheld(core.Prompts, prefix+"ask"); !ok || w.Server != "a" || w.Name != "ask" {
			t.Errorf("%q does not say why: %+v", prefix, w)
		}
		if _, ok := v.Lookup(core.Prompts, prefix+"ask"); ok {
			t.Errorf("%q finds the prompt", prefix)
		}
		if _, ok := v.Lookup(core.Tools, prefix+"ask"); !ok {
			t.Errorf("%q lacks the tool of the same name", prefix)
		}
		for _, uri := range []string{"r://1", "r://2"} {
			if target, ok := v.Resource(uri); !ok || target.Server != "a" {
				t.Errorf("%q does not read %s", prefix, uri)
			}
		}
	}
}
