package registry

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// fullCatalog returns a catalog with items of every kind.
func fullCatalog(server string, tools ...string) *core.Catalog {
	c := &core.Catalog{}
	for _, t := range tools {
		c.Tools = append(c.Tools, toolNamed(t))
		c.Prompts = append(c.Prompts, item("p_"+t, `{"name":"p_`+t+`"}`))
	}
	c.Resources = []core.Item{item("res://"+server+"/a", `{"uri":"res://`+server+`/a","name":"a"}`), item("res://shared", `{"uri":"res://shared","name":"s"}`)}
	c.Templates = []core.Item{item("res://"+server+"/{x}", `{"uriTemplate":"res://`+server+`/{x}","name":"t"}`)}
	return c
}

func registryWithProfiles(naming Naming, profiles ...config.Profile) *Registry {
	r := New(Options{})
	r.Configure(naming, []Server{{ID: "a"}, {ID: "b"}, {ID: "c"}})
	r.Set("a", "", fullCatalog("a", "read", "write"))
	r.Set("b", "", fullCatalog("b", "read", "fetch"))
	r.SetProfiles(profiles)
	return r
}

func TestProfileContainsOnlyNamedItems(t *testing.T) {
	r := registryWithProfiles("", config.Profile{Name: "p", Servers: map[string]config.ProfileServer{
		"b": {Tools: config.Filter{Include: []string{"re*"}}, NoPrompts: true}, "c": {Tools: config.Filter{Exclude: []string{"bad"}}},
	}})
	v, ok := r.Profile("p", 0)
	if !ok {
		t.Fatal("there is no view")
	}
	if got := publicNames(v); !slices.Equal(got, []string{"b__read"}) {
		t.Errorf("tools %v", got)
	}
	if len(v.Items(core.Prompts)) != 0 || len(v.Items(core.Templates)) != 1 {
		t.Errorf("%v %v", v.Items(core.Prompts), v.Items(core.Templates))
	}
	// Server a keeps the URI of the shared resource, but is not in the profile.
	if target, ok := v.Resource("res://b__shared"); !ok || target.Server != "b" {
		t.Errorf("the shared resource leads to %+v", target)
	}
	for _, uri := range []string{"res://a/a", "res://a/x", "res://shared"} {
		if target, ok := v.Resource(uri); ok {
			t.Errorf("%s leads to %+v", uri, target)
		}
	}
	if len(v.Offers()) != 2 {
		t.Errorf("servers: %v", v.Offers())
	}
	for name, want := range map[string]bool{"b__read": true, "b__fetch": false, "a__read": false, "c__any": true, "c__bad": false} {
		if _, ok := v.Lookup(core.Tools, name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if _, ok := v.Lookup(core.Prompts, "b__p_read"); ok {
		t.Error("a prompt of a server without prompts is found")
	}
	if _, ok := r.Profile("q", 0); ok {
		t.Error("a profile that is not there has a view")
	}
}

func TestOneServerWithinAProfile(t *testing.T) {
	r := registryWithProfiles("", config.Profile{Name: "p", Servers: map[string]config.ProfileServer{
		"b": {Tools: config.Filter{Exclude: []string{"fetch"}}, NoResources: true},
	}})
	if _, ok := r.ProfileServer("p", "a"); ok {
		t.Error("a server outside of the profile has a view")
	}
	v, ok := r.ProfileServer("p", "b")
	if !ok || !slices.Equal(publicNames(v), []string{"read"}) {
		t.Fatalf("%v", publicNames(v))
	}
	for _, uri := range []string{"res://b/a", "res://b/x", "anything"} {
		if target, ok := v.Resource(uri); ok {
			t.Errorf("%s leads to %+v", uri, target)
		}
	}
}

// For any profile, its view contains exactly the items that the profile selects, under the same
// names, and resolves nothing else.
func TestProfileViewsAreSubsets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		naming := []Naming{"", Bare, Colon, AtServer, MCP}[round%5]
		p := config.Profile{Name: "p", Servers: map[string]config.ProfileServer{}}
		for _, id := range []string{"a", "b", "c"} {
			if rnd.IntN(3) > 0 {
				s := config.ProfileServer{NoPrompts: rnd.IntN(2) == 0, NoResources: rnd.IntN(2) == 0}
				if rnd.IntN(2) == 0 {
					s.Tools.Exclude = []string{[]string{"read", "w*", "?etch"}[rnd.IntN(3)]}
				}
				p.Servers[id] = s
			}
		}
		r := registryWithProfiles(naming, p)
		limit := []int{0, 12}[rnd.IntN(2)]
		whole, part := r.WithNameLimit(limit), first(r.Profile("p", limit))
		for _, kind := range []core.Kind{core.Tools, core.Prompts} {
			var want []string
			for _, i := range whole.Items(kind) {
				if profileOffers(&p, i.Server, kind, i.Name) {
					want = append(want, fmt.Sprint(i.Public, i.Server, i.Name))
					continue
				}
				if target, ok := part.Lookup(kind, i.Public); ok && (target.Server != "c" || naming == Bare) {
					t.Fatalf("%s %q of %s is outside and leads to %+v", kind, i.Public, i.Server, target)
				}
			}
			var got []string
			for _, i := range part.Items(kind) {
				got = append(got, fmt.Sprint(i.Public, i.Server, i.Name))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s with %+v: got %v, want %v", kind, p, got, want)
			}
		}
		var listed struct{ Tools []struct{ Name string } }
		if json.Unmarshal(part.ListResult(core.Tools), &listed) != nil || len(listed.Tools) != len(part.Items(core.Tools)) {
			t.Fatal("the list is not what the view holds")
		}
		for _, uri := range []string{"res://a/a", "res://a/zz", "res://b/a", "res://b/zz", "res://shared"} {
			target, ok := part.Resource(uri)
			if ok && !profileOffers(&p, target.Server, core.Resources, uri) {
				t.Fatalf("%s leads to %s, which the profile does not hold", uri, target.Server)
			}
			if owner := strings.TrimPrefix(uri, "res://")[:1]; !ok && (owner == "a" || owner == "b") && profileOffers(&p, owner, core.Resources, uri) {
				t.Fatalf("%s is not found", uri)
			}
		}
	}
}

func first(v *View, _ bool) *View { return v }

func TestProfilesFollowCatalogsAndEdits(t *testing.T) {
	p := config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"a": {}}}
	r := registryWithProfiles("", p)
	before := first(r.Profile("p", 0))
	if again := first(r.Profile("p", 0)); again != before {
		t.Error("the view is made anew for each reader")
	}
	r.Set("a", "", tools("other"))
	if got := publicNames(first(r.Profile("p", 0))); !slices.Equal(got, []string{"a__other"}) {
		t.Errorf("%v", got)
	}
	if r.SetProfiles([]config.Profile{p}) {
		t.Error("the same profiles count as a change")
	}
	if !r.SetProfiles(nil) {
		t.Error("taking the profiles away is no change")
	}
	if _, ok := r.Profile("p", 0); ok {
		t.Error("the profile is still there")
	}
}

// Withheld, renamed and not yet listed tools outside a profile are unreachable like all others.
func TestListMetadataStaysWithinProfile(t *testing.T) {
	r := New(Options{Withhold: func(string, *core.Catalog) (map[core.Kind]map[string]string, bool) {
		return map[core.Kind]map[string]string{core.Tools: {"changed": "it has changed"}}, false
	}})
	renamed := config.Filter{Tools: map[string]config.Tool{"old": {Rename: "new"}}}
	r.Configure("", []Server{{ID: "a", Filter: &renamed}, {ID: "b"}, {ID: "late"}})
	for _, id := range []string{"a", "b"} {
		r.Set(id, "", tools("old", "changed", "read"))
	}
	r.SetProfiles([]config.Profile{{Name: "p", Servers: map[string]config.ProfileServer{
		"a": {Tools: config.Filter{Exclude: []string{"old", "changed"}}}, "late": {Tools: config.Filter{Exclude: []string{"bad"}}, NoPrompts: true},
	}}, {Name: "q", Servers: map[string]config.ProfileServer{"a": {}}}})
	all, one := first(r.Profile("p", 0)), first(r.ProfileServer("p", "a"))
	for _, name := range []string{"b__changed", "a__changed"} {
		if w, ok := all.Withheld(core.Tools, name); ok {
			t.Errorf("%s says %+v", name, w)
		}
	}
	if w, ok := one.Withheld(core.Tools, "changed"); ok {
		t.Errorf("of one server: %+v", w)
	}
	if w, ok := first(r.ProfileServer("q", "a")).Withheld(core.Tools, "changed"); !ok || w.Why == "" {
		t.Error("who may see it does not hear why it is withheld")
	}
	for _, name := range []string{"old", "new", "changed"} {
		if target, ok := one.LookupOwnName(core.Tools, name); ok {
			t.Errorf("%s leads to %+v", name, target)
		}
	}
	if target, ok := first(r.ProfileServer("q", "a")).LookupOwnName(core.Tools, "old"); !ok || target.Name != "old" {
		t.Errorf("inside: %+v", target)
	}
	late := first(r.ProfileServer("p", "late"))
	if _, ok := late.Lookup(core.Tools, "good"); !ok {
		t.Error("a server that was never listed gets no call")
	}
	if target, ok := late.Lookup(core.Tools, "bad"); ok {
		t.Errorf("bad leads to %+v", target)
	}
	if target, ok := late.Lookup(core.Prompts, "ask"); ok {
		t.Errorf("a prompt leads to %+v", target)
	}
}
