package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
)

// catalogOf returns a catalog of resources and, where the text has braces, templates.
func catalogOf(uris ...string) *core.Catalog {
	c := &core.Catalog{}
	for _, uri := range uris {
		quoted, _ := json.Marshal(uri)
		if strings.Contains(uri, "{") {
			c.Templates = append(c.Templates, item(uri, `{"n":1.0,"name":"r","uriTemplate":`+string(quoted)+`}`))
		} else {
			c.Resources = append(c.Resources, item(uri, `{"n":1.0,"name":"r","uri":`+string(quoted)+`}`))
		}
	}
	return c
}

func publicURIs(v *View, server string) (all []string) {
	for _, i := range slices.Concat(v.Items(core.Resources), v.Items(core.Templates)) {
		if i.Server == server {
			all = append(all, i.Public)
		}
	}
	return all
}

func TestCollidingURIsEachReachTheirServer(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b, marked []string
		reads        map[string]string // public URI → server and own URI
	}{
		"distinct": {a: []string{"a://x", "a://{i}"}, b: []string{"b://x", "b://{i}"}, marked: []string{"b://x", "b://{i}"},
			reads: map[string]string{"b://9": "b b://9", "a://x": "a a://x", "nobody://x": " "}},
		"same resource": {a: []string{"ui://w/v.html"}, b: []string{"ui://w/v.html", "ui://w/o.html"}, marked: []string{"ui://b__w/v.html", "ui://w/o.html"},
			reads: map[string]string{"ui://w/v.html": "a ui://w/v.html", "ui://b__w/v.html": "b ui://w/v.html", "ui://B__w/v.html": "b ui://w/v.html"}},
		"same template": {a: []string{"note://{id}"}, b: []string{"note://{id}", "note://1"}, marked: []string{"note://b__1", "note://b__{id}"},
			reads: map[string]string{"note://1": "a note://1", "note://b__2": "b note://2"}},
		"overlapping templates": {a: []string{"file:///logs/{name}"}, b: []string{"file:///{path}"}, marked: []string{"file://b__/{path}"},
			reads: map[string]string{"file:///logs/a/b": "a file:///logs/a/b", "file://b__/logs/x": "b file:///logs/x", "file:///tmp": " "}},
		"templates with different ends": {a: []string{"repo://{o}/issues"}, b: []string{"repo://{o}/pulls"}, marked: []string{"repo://{o}/pulls"},
			reads: map[string]string{"repo://x/pulls": "b repo://x/pulls", "repo://x/issues": "a repo://x/issues"}},
		"a template of what another lists": {a: []string{"q://s"}, b: []string{"q://s{?term}"}, marked: []string{"q://b__s{?term}"},
			reads: map[string]string{"q://s": "a q://s", "q://b__s?term=1": "b q://s?term=1"}},
		"web, opaque and no URI": {a: []string{"https://10.0.0.1:8/x", "urn:x", "x/y"}, b: []string{"https://10.0.0.1:8/x", "urn:x", "x/y"},
			marked: []string{"https://b__@10.0.0.1:8/x", "urn:b__x", "b__x/y"},
			reads:  map[string]string{"https://b__@10.0.0.1:8/x": "b https://10.0.0.1:8/x", "urn:b__x": "b urn:x", "b__x/y": "b x/y", "x/y": "a x/y"}},
		"a URI that pretends to be another server's": {a: []string{"ui://b__w"}, b: []string{"ui://w"}, marked: []string{"ui://w"},
			reads: map[string]string{"ui://a__b__w": "a ui://b__w", "ui://b__w": "b ui://w"}},
		"invalid": {a: []string{"x://{", "x://{a}{"}, b: []string{"x://{", "x://{b}"}, marked: []string{"x://b__{", "x://{b}"},
			reads: map[string]string{"x://1": "b x://1", "x://{b}\ny": " "}},
	} {
		r := New(Options{})
		r.Configure("", []Server{{ID: "a"}, {ID: "b"}})
		r.Set("b", "", catalogOf(tt.b...)) // the order of listing does not matter
		r.Set("a", "", catalogOf(tt.a...))
		v := r.All()
		assert.Equal(t, tt.marked, publicURIs(v, "b"), name)
		for uri, want := range tt.reads {
			got, _ := v.Resource(uri)
			assert.Equalf(t, want, got.Server+" "+got.Name, "%s: %s", name, uri)
		}
		own, _ := r.Server("b")
		if got, ok := own.Resource("any://b__x"); !ok || got.Name != "any://b__x" || own.PublicURI("b", "ui://w/v.html") != "ui://w/v.html" {
			t.Errorf("%s: the server's own view changes URIs: %+v", name, got)
		}
		for _, i := range slices.Concat(v.Items(core.Resources), v.Items(core.Templates)) {
			if want := fmt.Sprintf(`":%q}`, i.Public); !strings.HasPrefix(string(i.Raw), `{"n":1.0,"name":"r","uri`) || !strings.HasSuffix(string(i.Raw), want) {
				t.Errorf("%s: %s is listed as %s", name, i.Public, i.Raw)
			}
			got, ok := v.Template(i.Public)
			assert.Falsef(t, strings.Contains(i.Name, "{") && (!ok || got.Name != i.Name), "%s: template %s is %+v", name, i.Public, got)
		}
	}
}

// A URI means the same resource in every profile, also where the server that keeps it is missing.
func TestPublicURIsAreTheSameInEveryProfile(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "a"}, {ID: "b"}})
	r.Set("a", "", catalogOf("mem://x", "t://{x}"))
	r.Set("b", "", catalogOf("mem://x", "t://{x}"))
	r.SetProfiles([]config.Profile{{Name: "p", Servers: map[string]config.ProfileServer{"b": {}}}})
	v, _ := r.Profile("p", 0)
	assert.Equal(t, "[mem://b__x t://b__{x}]", fmt.Sprint(publicURIs(v, "b")))
	for uri, want := range map[string]string{"mem://x": "", "t://1": "", "mem://b__x": "b", "t://b__1": "b", "mem://a__x": ""} {
		got, _ := v.Resource(uri)
		assert.Equal(t, want, got.Server, uri)
	}
	_, ok := v.Template("t://{x}")
	assert.False(t, ok, "a template outside the profile is known")
}

// The resources of MCP Apps are often not listed: only the tools refer to them.
func TestAppReferencesFollowTheirServer(t *testing.T) {
	const tool = `{"name":"show","_meta":{"v":1.0,"ui":{"resourceUri":"ui:\/\/app","visibility":["app"]},"ui/resourceUri":"ui://app","openai/outputTemplate":"ui://app"},"x":"ui://app"}`
	r := New(Options{})
	r.Configure("", []Server{{ID: "one"}, {ID: "two"}})
	for _, id := range []string{"one", "two"} {
		r.Set(id, "", &core.Catalog{Tools: []core.Item{item("show", tool)}})
	}
	items := r.All().Items(core.Tools)
	if got, want := string(items[0].Raw), strings.Replace(tool, `"show"`, `"one__show"`, 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want := `{"name":"two__show","_meta":{"v":1.0,"ui":{"resourceUri":"ui://two__app","visibility":["app"]},"ui/resourceUri":"ui://two__app","openai/outputTemplate":"ui://two__app"},"x":"ui://app"}`
	assert.Equal(t, want, string(items[1].Raw))
	for uri, server := range map[string]string{"ui://app": "one", "ui://two__app": "two"} {
		got, _ := r.All().Resource(uri)
		assert.Truef(t, got.Server == server && got.Name == "ui://app", "%s leads to %+v", uri, got)
	}
}

func FuzzPublicURILeadsBack(f *testing.F) {
	for _, uri := range []string{"ui://w", "a__x", "http://u@h", "urn:b__x", "://", "b__", "x://{a}", "ws://b__@"} {
		f.Add(uri, uri)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if !utf8.ValidString(one + two) {
			return
		}
		r := New(Options{})
		r.Configure("", []Server{{ID: "a"}, {ID: "b"}, {ID: "a-b"}})
		for _, id := range []string{"a", "b", "a-b"} {
			r.Set(id, "", catalogOf(one, two))
		}
		for _, server := range []string{"a", "b", "a-b"} {
			for _, own := range []string{one, two} {
				public := r.All().PublicURI(server, own)
				if got, ok := r.All().Resource(public); ok && (got.Server != server || got.Name != own) || !ok && !strings.Contains(one+two, "{") && own != "" {
					t.Fatalf("%q of %s is %q, which leads to %q of %q", own, server, public, got.Name, got.Server)
				}
			}
		}
	})
}

// A read never reaches another server than the one that the client was shown, whatever servers list
// afterwards.
func TestURIKeepsItsServerOnceClientsHaveSeenIt(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "a"}, {ID: "b"}})
	r.Set("b", "", catalogOf("mem://x", "t://{i}"))
	leads := func(want map[string]string) {
		t.Helper()
		for uri, server := range want {
			got, _ := r.All().Resource(uri)
			assert.Equal(t, server, got.Server, uri)
		}
	}
	r.All().ListResult(core.Resources) // a client sees the URIs of b
	r.Set("a", "", catalogOf("mem://x", "t://{i}", "t://5", "own://a"))
	leads(map[string]string{"mem://x": "b", "t://9": "b", "t://5": "b", "mem://a__x": "a", "t://a__5": "a", "own://a": "a"})
	r.Set("b", "", catalogOf("own://a", "mem://x")) // it no longer has the template
	leads(map[string]string{"mem://x": "b", "t://9": "b", "own://a": "a", "own://b__a": "b"})
	r.Configure("", []Server{{ID: "c"}, {ID: "a"}}) // b is gone
	r.Set("c", "", catalogOf("mem://x", "mem://b__x", "own://a"))
	leads(map[string]string{"mem://x": "b", "mem://b__x": "b", "own://a": "a", "mem://c__x": "c", "own://c__a": "c"})

	// The link of a result that no server lists.
	assert.Equal(t, "link://1", r.All().PublicURI("c", "link://1"))
	assert.Equal(t, "link://a__1", r.All().PublicURI("a", "link://1"))
	r.Set("a", "", catalogOf("link://1", "link://{n}"))
	leads(map[string]string{"link://1": "c", "link://a__1": "a", "link://a__2": "a"})
}
