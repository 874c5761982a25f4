package registry

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// shadowedURIs holds the URIs that are unreachable because an earlier server lists the same URI.
// The key is the pair of server ids: the hidden server, then the earlier one.
type shadowedURIs map[[2]string][]string

// describeConflicts describes the name conflicts between servers in sentences, by the id of the
// affected server: names that could not follow the scheme, and URIs that resolve to another server.
func describeConflicts(naming Naming, servers []*registeredServer, hidden shadowedURIs) map[string][]string {
	list := map[string][]string{}
	if naming == Bare {
		describeSharedNames(servers, list)
		naming = Prefixed // the fallback of Bare
	}
	same := make(map[string][]*registeredServer, len(servers)) // by lower-case affixes
	affixes := make([]string, len(servers))
	for i, h := range servers {
		before, after := naming.affixes(h.namePrefix())
		affixes[i] = strings.ToLower(before + after)
		same[affixes[i]] = append(same[affixes[i]], h)
	}
	for i, h := range servers {
		for _, o := range same[affixes[i]] {
			if h != o {
				list[h.ID] = append(list[h.ID], fmt.Sprintf("the names of its tools end in a hash: server %q has the same namespace", o.ID))
			}
		}
		if len(hidden) == 0 {
			continue
		}
		for _, o := range servers {
			if uris := hidden[[2]string{h.ID, o.ID}]; len(uris) > 0 {
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%s cannot be reached: server %q lists the same URI and has priority", describeURIs(uris), o.ID))
			}
		}
	}
	return list
}

// describeSharedNames describes the names that several servers share. Under Bare such a name is
// prefixed for all of them, and it changes for clients when one of the servers is added or removed.
func describeSharedNames(servers []*registeredServer, list map[string][]string) {
	for _, kind := range []core.Kind{core.Tools, core.Prompts} {
		i := IndexOf(kind)
		holders := map[string][]*registeredServer{}
		var names []string
		for _, h := range servers {
			for _, e := range h.entries[i] {
				if len(holders[e.visibleName]) == 0 {
					names = append(names, e.visibleName)
				}
				holders[e.visibleName] = append(holders[e.visibleName], h)
			}
		}
		shared := map[*registeredServer][]string{}
		for _, name := range names {
			if len(holders[name]) > 1 {
				for _, h := range holders[name] {
					shared[h] = append(shared[h], name)
				}
			}
		}
		for _, h := range servers {
			switch n := len(shared[h]); {
			case n == 1:
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%.100q is prefixed with the server's name: another server has a tool or prompt of that name", shared[h][0]))
			case n > 1:
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%d %s, such as %.100q, are prefixed with the server's name: other servers have the same names", n, kind, shared[h][0]))
			}
		}
	}
}

// describeURIs describes uris: the URI itself when there is one, otherwise their number with an
// example.
func describeURIs(uris []string) string {
	if len(uris) == 1 {
		return fmt.Sprintf("resource %.100q", uris[0])
	}
	return fmt.Sprintf("%d resources, such as %.100q,", len(uris), uris[0])
}
