package registry

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLongAndUnusualNamesGetStableHash(t *testing.T) {
	for tool, want := range map[string]string{
		"read":                  "s__read",
		"read file":             "s__read_file_332e344d",
		"a.b":                   "s__a_b_407e8e5c",
		"get_deadbeef":          "s__get_deadbeef_6f96d7bc", // looks like an altered name, so it is altered
		strings.Repeat("x", 43): "s__" + strings.Repeat("x", 43),
		strings.Repeat("x", 44): "s__" + strings.Repeat("x", 34) + "_613c5445",
	} {
		got := publicName(MaxPublicName, "s__", "", "s", tool, false, 0)
		assert.Equalf(t, want, got, "%q", tool)
	}
}

var fits = regexp.MustCompile(`^[A-Za-z0-9_-]{1,46}$`)

// FuzzNamingIsInjectiveAndStable splits data into servers and tools and checks for every scheme
// that no two tools share a name, that names fit the limit and resolve to their tool, and that
// (except under Bare) a name does not depend on the other servers.
func FuzzNamingIsInjectiveAndStable(f *testing.F) {
	f.Add("a,read,write;b,read,a__read")
	f.Add("a_b,c;a-b,c;a,b_c,b c,b.c,b\x00c")
	f.Add("x,tool,tool_12345678;y,x__tool;" + strings.Repeat("l", 32) + "," + strings.Repeat("t", 60))
	f.Add("a,a__a,a__a__a;b,a,a__a")
	f.Fuzz(func(t *testing.T, data string) {
		var servers []Server
		catalogs := map[string]*core.Catalog{}
		seen := map[string]bool{}
		for part := range strings.SplitSeq(data, ";") {
			id, rest, _ := strings.Cut(part, ",")
			if !core.ValidServerID(id) || seen[strings.ToLower(id)] || len(servers) == 8 {
				continue
			}
			seen[strings.ToLower(id)] = true
			servers = append(servers, Server{ID: id})
			catalogs[id] = tools(strings.Split(rest, ",")...)
		}
		for _, naming := range []Naming{Prefixed, Bare, Colon, DoubleColon, AtServer, MCP} {
			all := viewOf(naming, servers, catalogs)
			names := publicNames(all)
			sorted := slices.Sorted(slices.Values(names))
			require.Len(t, slices.Compact(sorted), len(names), naming)
			for _, i := range all.Items(core.Tools) {
				require.Truef(t, fits.MatchString(strings.NewReplacer(":", "_", "@", "_").Replace(i.Public)), "%s: %q does not fit", naming, i.Public)
				target, ok := all.Lookup(core.Tools, i.Public)
				require.Truef(t, ok && target.Server == i.Server && target.Name == i.Name, "%s: %q leads to %+v", naming, i.Public, target)
			}
			reversed := slices.Clone(servers)
			slices.Reverse(reversed)
			require.Equal(t, slices.Sorted(slices.Values(publicNames(viewOf(naming, reversed, catalogs)))), slices.Sorted(slices.Values(names)))
			checkNameLimit(t, naming, servers, catalogs)
			if naming == Bare || naming == MCP { // under MCP, a_b and a-b share a prefix and affect each other
				continue
			}
			for _, s := range servers {
				alone := publicNames(viewOf(naming, []Server{s}, catalogs))
				for _, name := range alone {
					require.Contains(t, names, name, naming)
				}
			}
		}
	})
}

// checkNameLimit checks that the view for a client with another limit is injective too, and differs
// only in names that do not fit both limits.
func checkNameLimit(t *testing.T, naming Naming, servers []Server, catalogs map[string]*core.Catalog) {
	t.Helper()
	r := registryOf(naming, servers, catalogs)
	for _, limit := range []int{30, 64} {
		v := r.WithNameLimit(limit)
		names := publicNames(v)
		require.Lenf(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "%s within %d", naming, limit)
		for i, item := range v.Items(core.Tools) {
			before, after := naming.affixes(item.Server)
			if len(item.Public) > max(limit, len(before)+len(after)+hashSuffixLength) && naming != Bare {
				t.Fatalf("%s within %d: %q does not fit", naming, limit, item.Public)
			}
			if target, ok := v.Lookup(core.Tools, item.Public); !ok || target.Server != item.Server || target.Name != item.Name {
				t.Fatalf("%s within %d: %q leads to %+v", naming, limit, item.Public, target)
			}
			if usual := r.All().Items(core.Tools)[i].Public; usual != item.Public && naming != Bare && len(usual) < min(limit, MaxPublicName) && !looksAltered(strings.TrimSuffix(usual, after)) {
				t.Fatalf("%s within %d: %q is called %q", naming, limit, usual, item.Public)
			}
		}
	}
}

func viewOf(naming Naming, servers []Server, catalogs map[string]*core.Catalog) *View {
	return registryOf(naming, servers, catalogs).All()
}

func registryOf(naming Naming, servers []Server, catalogs map[string]*core.Catalog) *Registry {
	r := New(Options{})
	r.Configure(naming, servers)
	for _, s := range servers {
		r.Set(s.ID, "", catalogs[s.ID])
	}
	return r
}

func TestNameLimitAppliesPerClient(t *testing.T) {
	long := strings.Repeat("x", 50)
	r := registryOf(Prefixed, []Server{{ID: "s"}}, map[string]*core.Catalog{"s": tools("read", long)})
	for limit, want := range map[int][]string{
		0:  {"s__read", "s__" + strings.Repeat("x", 34) + "_" + nameHash("s", long, 0)},
		53: {"s__read", "s__" + long},
		30: {"s__read", "s__" + strings.Repeat("x", 18) + "_" + nameHash("s", long, 0)},
	} {
		assert.Equalf(t, want, publicNames(r.WithNameLimit(limit)), "%d", limit)
	}
	before := r.WithNameLimit(53)
	assert.Same(t, before, r.WithNameLimit(53), "the view is made anew for every call")
	r.Set("s", "", tools("write"))
	assert.Equal(t, []string{"s__write"}, publicNames(r.WithNameLimit(53)), "after a change")
	assert.Len(t, publicNames(before), 2, "a view that somebody holds has changed")
}

func TestServersWithSharedPrefixAreDistinct(t *testing.T) {
	r := New(Options{})
	r.Configure("", []Server{{ID: "a"}, {ID: "b", Namespace: "a"}})
	r.Set("a", "", tools("x"))
	r.Set("b", "", tools("x"))
	names := publicNames(r.All())
	require.Len(t, names, 2)
	require.NotEqual(t, names[1], names[0])
	for i, server := range []string{"a", "b"} {
		target, _ := r.All().Lookup(core.Tools, names[i])
		require.Equal(t, server, target.Server)
	}
}
