package registry

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func item(name, raw string) core.Item { return core.Item{Name: name, Raw: json.RawMessage(raw)} }

func toolNamed(name string) core.Item {
	quoted, _ := json.Marshal(name)
	return item(name, `{"name":`+string(quoted)+`,"inputSchema":{"type":"object"}}`)
}

func tools(names ...string) *core.Catalog {
	c := &core.Catalog{}
	for _, n := range names {
		c.Tools = append(c.Tools, toolNamed(n))
	}
	return c
}

func publicNames(v *View) (names []string) {
	for _, i := range v.Items(core.Tools) {
		names = append(names, i.Public)
	}
	return names
}

func TestEachNamingSchemeFindsItsTools(t *testing.T) {
	for naming, want := range map[Naming][]string{
		"":          {"my_fs__read", "web__read", "web__fetch"},
		Prefixed:    {"my_fs__read", "web__read", "web__fetch"},
		Bare:        {"my_fs__read", "web__read", "fetch"},
		Colon:       {"my_fs:read", "web:read", "web:fetch"},
		DoubleColon: {"my_fs::read", "web::read", "web::fetch"},
		AtServer:    {"read@my_fs", "read@web", "fetch@web"},
		MCP:         {"mcp_my-fs_read", "mcp_web_read", "mcp_web_fetch"},
	} {
		r := New(Options{})
		r.Configure(naming, []Server{{ID: "my_fs"}, {ID: "web"}})
		r.Set("web", "", tools("read", "fetch"))
		r.Set("my_fs", "", tools("read"))
		assert.Equalf(t, want, publicNames(r.All()), "%q", naming)
		for _, i := range r.All().Items(core.Tools) {
			target, ok := r.All().Lookup(core.Tools, i.Public)
			assert.Truef(t, ok && target.Server == i.Server && target.Name == i.Name, "%q: %q leads to %+v", naming, i.Public, target)
		}
	}
}

func TestNamespaceReplacesServerName(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "filesystem", Namespace: "fs"}})
	r.Set("filesystem", "", tools("read"))
	require.Equal(t, []string{"fs__read"}, publicNames(r.All()))
}

func TestSingleServerViewKeepsNames(t *testing.T) {
	r := New(Options{})
	r.Set("web", "", tools("read file", strings.Repeat("x", 90)))
	v, ok := r.Server("web")
	if !ok || v.Items(core.Tools)[0].Public != "read file" || len(v.Items(core.Tools)[1].Public) != 90 {
		t.Fatalf("got %q", publicNames(v))
	}
	if _, ok := r.Server("other"); ok {
		t.Fatal("a view of a server that is not there")
	}
}

func TestOnlyItemNameIsRewritten(t *testing.T) {
	raw := `{ "zeta": 9007199254740993, "na\u006de" : "add", "inputSchema": {"name":"inner", "x":1e3},
	  "title":"A\u00e9 <b>", "name":"add" }`
	r := New(Options{})
	r.Set("calc", "", &core.Catalog{Tools: []core.Item{item("add", raw)}})
	want := `{"tools":[{"zeta":9007199254740993,"na\u006de":"calc__add","inputSchema":{"name":"inner","x":1e3},"title":"A\u00e9 <b>","name":"calc__add"}]}`
	require.Equal(t, want, string(r.All().ListResult(core.Tools)))
	own, _ := r.Server("calc")
	require.Equal(t, strings.ReplaceAll(want, "calc__add", "add"), string(own.ListResult(core.Tools)), "own view")
	require.Equal(t, `{"prompts":[]}`, string(own.ListResult(core.Prompts)), "empty list")
}

func TestOnlyBrokenItemsAreLeftOut(t *testing.T) {
	r := New(Options{})
	r.Set("s", "", &core.Catalog{Tools: []core.Item{toolNamed("a"), item("b", `{"name":`), item("", `{}`), toolNamed("a"), toolNamed("c")}})
	require.Equal(t, []string{"s__a", "s__c"}, publicNames(r.All()))
	require.True(t, json.Valid(r.All().ListResult(core.Tools)), "the list is not JSON")
}

func TestUnlistedServerAcceptsAnyTool(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "files"}, {ID: "web"}})
	r.Set("web", "", tools("fetch"))
	got, ok := r.All().Lookup(core.Tools, "files__read")
	require.Truef(t, ok && got.Server == "files" && got.Name == "read" && got.Raw == nil, "got %+v", got)
	if _, ok := r.All().Lookup(core.Tools, "web__nothing"); ok {
		t.Fatal("a listed server has a tool that it does not list")
	}
	r.Set("files", "", tools("write"))
	if _, ok := r.All().Lookup(core.Tools, "files__read"); ok {
		t.Fatal("the doubt outlives the list")
	}
}

func TestOtherToolsOfServerCanBeViewedWithoutListingThem(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "a", Filter: &config.Filter{Exclude: []string{"hidden"}}}, {ID: "b"}})
	r.Set("a", "", tools("x"))
	r.Set("b", "", tools("x"))
	assert.Equal(t, []string{"a__y", "b__x"}, publicNames(r.WithTools("a", tools("y", "hidden").Tools)))
	assert.Equal(t, []string{"a__x", "b__x"}, publicNames(r.All()))
}

func TestListenersRunAfterViewIsVisible(t *testing.T) {
	r := New(Options{})
	var heard []string
	r.OnChange(func(c Change) { heard = append(heard, fmt.Sprint(c.Server, c.Kinds, publicNames(r.All()))) })
	r.Configure("", []Server{{ID: "a"}})
	r.Set("a", "", tools("x"))
	r.Set("a", "", tools("x")) // nothing changed
	r.Set("a", "", tools("x"), core.Tools, core.Prompts)
	r.Configure("", nil)
	r.Configure("", nil)
	want := []string{"a[tools] [a__x]", "a[tools prompts] [a__x]", "[tools] []"}
	require.Equal(t, want, heard)
}

// A listener runs without the registry's lock: it may change the registry itself, and does not
// block others that do.
func TestListenersRunWithoutLock(t *testing.T) {
	r := New(Options{})
	var heard []string
	r.OnChange(func(c Change) {
		heard = append(heard, c.Server)
		done := make(chan struct{})
		go func() { defer close(done); r.Update("a", tools("x", "y")) }()
		eventually.Receive(t, time.Minute, "the registry is locked", done)
	})
	r.Configure("", []Server{{ID: "a"}})
	r.Set("a", "", tools("x"))
	if want := []string{"a", "a"}; !slices.Equal(heard, want) || !slices.Equal(publicNames(r.All()), []string{"a__x", "a__y"}) {
		t.Errorf("heard %q, and there are %q", heard, publicNames(r.All()))
	}
}

func TestOrderFollowsConfigAndHashFollowsLists(t *testing.T) {
	servers := []Server{{ID: "b"}, {ID: "a"}, {ID: "c"}}
	one, two := New(Options{}), New(Options{})
	one.Configure("", servers)
	two.Configure("", servers)
	for _, id := range []string{"a", "b", "c"} {
		one.Set(id, "", tools("z", "y"))
	}
	for _, id := range []string{"c", "b", "a"} {
		two.Set(id, "", tools("z", "y"))
	}
	require.Equal(t, []string{"b__z", "b__y", "a__z", "a__y", "c__z", "c__y"}, publicNames(one.All()))
	require.Equal(t, two.All().Hash(), one.All().Hash(), "the order of starting shows in the view")
	before := one.All().Hash()
	one.Set("a", "", tools("y"))
	require.NotEqual(t, before, one.All().Hash(), "another list, the same hash")
}

func TestLookupAllocatesNothing(t *testing.T) {
	r := New(Options{})
	r.Set("a", "", tools("x"))
	v := r.All()
	if n := testing.AllocsPerRun(100, func() { v.Lookup(core.Tools, "a__x") }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestLateListDoesNotReviveRemovedServer(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "a"}, {ID: "b"}})
	require.True(t, r.Update("a", tools("x")), "refused")
	r.Configure("", []Server{{ID: "b"}})
	require.True(t, !r.Update("a", tools("x")) && len(r.All().Items(core.Tools)) == 0, "it came back")
}

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
	require.True(t, ok, "there is no view")
	assert.Equal(t, []string{"b__read"}, publicNames(v))
	require.Empty(t, v.Items(core.Prompts))
	require.Len(t, v.Items(core.Templates), 1)
	// Server a keeps the URI of the shared resource, but is not in the profile.
	if target, ok := v.Resource("res://b__shared"); !ok || target.Server != "b" {
		t.Errorf("the shared resource leads to %+v", target)
	}
	for _, uri := range []string{"res://a/a", "res://a/x", "res://shared"} {
		if target, ok := v.Resource(uri); ok {
			t.Errorf("%s leads to %+v", uri, target)
		}
	}
	assert.Len(t, v.Offers(), 2)
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
				target, ok := part.Lookup(kind, i.Public)
				require.Falsef(t, ok && (target.Server != "c" || naming == Bare), "%s %q of %s is outside and leads to %+v", kind, i.Public, i.Server, target)
			}
			var got []string
			for _, i := range part.Items(kind) {
				got = append(got, fmt.Sprint(i.Public, i.Server, i.Name))
			}
			require.Equalf(t, want, got, "%s with %+v", kind, p)
		}
		var listed struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(part.ListResult(core.Tools), &listed), "the list is not what the view holds")
		require.Len(t, listed.Tools, len(part.Items(core.Tools)), "the list is not what the view holds")
		for _, uri := range []string{"res://a/a", "res://a/zz", "res://b/a", "res://b/zz", "res://shared"} {
			target, ok := part.Resource(uri)
			require.Falsef(t, ok && !profileOffers(&p, target.Server, core.Resources, uri), "%s leads to %s, which the profile does not hold", uri, target.Server)
			owner := strings.TrimPrefix(uri, "res://")[:1]
			require.Falsef(t, !ok && (owner == "a" || owner == "b") && profileOffers(&p, owner, core.Resources, uri), "%s is not found", uri)
		}
	}
}

func first(v *View, _ bool) *View { return v }

func TestProfilesFollowCatalogsAndEdits(t *testing.T) {
	p := config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"a": {}}}
	r := registryWithProfiles("", p)
	before := first(r.Profile("p", 0))
	assert.Same(t, before, first(r.Profile("p", 0)), "the view is made anew for each reader")
	r.Set("a", "", tools("other"))
	assert.Equal(t, []string{"a__other"}, publicNames(first(r.Profile("p", 0))))
	assert.False(t, r.SetProfiles([]config.Profile{p}), "the same profiles count as a change")
	assert.True(t, r.SetProfiles(nil), "taking the profiles away is no change")
	_, ok := r.Profile("p", 0)
	assert.False(t, ok, "the profile is still there")
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
		w, ok := all.Withheld(core.Tools, name)
		assert.Falsef(t, ok, "%s says %+v", name, w)
	}
	w, ok := one.Withheld(core.Tools, "changed")
	assert.Falsef(t, ok, "of one server: %+v", w)
	w, ok = first(r.ProfileServer("q", "a")).Withheld(core.Tools, "changed")
	assert.True(t, ok && w.Why != "", "who may see it does not hear why it is withheld")
	for _, name := range []string{"old", "new", "changed"} {
		if target, ok := one.LookupOwnName(core.Tools, name); ok {
			t.Errorf("%s leads to %+v", name, target)
		}
	}
	target, ok := first(r.ProfileServer("q", "a")).LookupOwnName(core.Tools, "old")
	assert.Truef(t, ok && target.Name == "old", "inside: %+v", target)
	late := first(r.ProfileServer("p", "late"))
	_, ok = late.Lookup(core.Tools, "good")
	assert.True(t, ok, "a server that was never listed gets no call")
	target, ok = late.Lookup(core.Tools, "bad")
	assert.Falsef(t, ok, "bad leads to %+v", target)
	target, ok = late.Lookup(core.Prompts, "ask")
	assert.Falsef(t, ok, "a prompt leads to %+v", target)
}

// What is derived from a view is calculated once for each key, and again for another view.
func TestValuesAreDerivedOncePerView(t *testing.T) {
	r, calls := New(Options{}), 0
	derive := func(key string) any { return r.All().Derived(key, func() any { calls++; return key }) }
	assert.Truef(t, derive("a") == "a" && derive("b") == "b" && derive("a") == "a" && calls == 2, "%d calls for two keys", calls)
	r.Set("new", "", &core.Catalog{})
	if derive("a"); calls != 3 {
		t.Errorf("%d calls after a change", calls)
	}
}
