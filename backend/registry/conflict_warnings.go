package registry

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// describeConflicts describes the name conflicts between servers in sentences, by the id of the
// affected server: names that could not follow the scheme.
func describeConflicts(naming Naming, servers []*registeredServer) map[string][]string {
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
				list[h.ID] = append(list[h.ID], fmt.Sprintf("the names of its tools end in a hash, because server %q has the same namespace", o.ID))
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
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%.100q is prefixed with the server's name, because another server has a tool or prompt with that name", shared[h][0]))
			case n > 1:
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%d %s, such as %.100q, are prefixed with the server's name, because other servers have %s with the same names", n, kind, shared[h][0], kind))
			}
		}
	}
}
