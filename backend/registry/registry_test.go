package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
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
		if got := publicNames(r.All()); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", naming, got, want)
		}
		for _, i := range r.All().Items(core.Tools) {
			if target, ok := r.All().Lookup(core.Tools, i.Public); !ok || target.Server != i.Server || target.Name != i.Name {
				t.Errorf("%q: %q leads to %+v", naming, i.Public, target)
			}
		}
	}
}

func TestNamespaceReplacesServerName(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "filesystem", Namespace: "fs"}})
	r.Set("filesystem", "", tools("read"))
	if got := publicNames(r.All()); !slices.Equal(got, []string{"fs__read"}) {
		t.Fatalf("got %q", got)
	}
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
	if got := string(r.All().ListResult(core.Tools)); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	own, _ := r.Server("calc")
	if got := string(own.ListResult(core.Tools)); got != strings.ReplaceAll(want, "calc__add", "add") {
		t.Fatalf("own view: %s", got)
	}
	if got := string(own.ListResult(core.Prompts)); got != `{"prompts":[]}` {
		t.Fatalf("empty list: %s", got)
	}
}

func TestOnlyBrokenItemsAreLeftOut(t *testing.T) {
	r := New(Options{})
	r.Set("s", "", &core.Catalog{Tools: []core.Item{toolNamed("a"), item("b", `{"name":`), item("", `{}`), toolNamed("a"), toolNamed("c")}})
	if got := publicNames(r.All()); !slices.Equal(got, []string{"s__a", "s__c"}) {
		t.Fatalf("got %q", got)
	}
	if !json.Valid(r.All().ListResult(core.Tools)) {
		t.Fatal("the list is not JSON")
	}
}

func TestUnlistedServerAcceptsAnyTool(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "files"}, {ID: "web"}})
	r.Set("web", "", tools("fetch"))
	got, ok := r.All().Lookup(core.Tools, "files__read")
	if !ok || got.Server != "files" || got.Name != "read" || got.Raw != nil {
		t.Fatalf("got %+v", got)
	}
	if _, ok := r.All().Lookup(core.Tools, "web__nothing"); ok {
		t.Fatal("a listed server has a tool that it does not list")
	}
	r.Set("files", "", tools("write"))
	if _, ok := r.All().Lookup(core.Tools, "files__read"); ok {
		t.Fatal("the doubt outlives the list")
	}
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
	if !slices.Equal(heard, want) {
		t.Fatalf("heard %q, want %q", heard, want)
	}
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
	if got := publicNames(one.All()); !slices.Equal(got, []string{"b__z", "b__y", "a__z", "a__y", "c__z", "c__y"}) {
		t.Fatalf("got %q", got)
	}
	if one.All().Hash() != two.All().Hash() {
		t.Fatal("the order of starting shows in the view")
	}
	before := one.All().Hash()
	one.Set("a", "", tools("y"))
	if one.All().Hash() == before {
		t.Fatal("another list, the same hash")
	}
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
	if !r.Update("a", tools("x")) {
		t.Fatal("refused")
	}
	r.Configure("", []Server{{ID: "b"}})
	if r.Update("a", tools("x")) || len(r.All().Items(core.Tools)) != 0 {
		t.Fatal("it came back")
	}
}
