package registry

import (
	"fmt"
	"strings"
)

// hidden holds the URIs that cannot be reached because an earlier server has listed
// them, by both servers: the hidden one first.
type hidden map[[2]string][]string

// conflicts puts what servers take from each other into sentences, for the server
// that is the worse for it: names that could not be what they should, and URIs
// that lead elsewhere.
func conflicts(naming Naming, servers []*held, hidden hidden) map[string][]string {
	list := map[string][]string{}
	if naming == Bare {
		naming = Prefixed // which Bare falls back to
	}
	for _, h := range servers {
		for _, o := range servers {
			if h == o {
				continue
			}
			hb, ha := naming.affixes(h.prefix())
			ob, oa := naming.affixes(o.prefix())
			if strings.EqualFold(hb+ha, ob+oa) {
				list[h.ID] = append(list[h.ID], fmt.Sprintf("the names of its tools carry a hash: server %q has the same namespace", o.ID))
			}
		}
		for _, o := range servers {
			if uris := hidden[[2]string{h.ID, o.ID}]; len(uris) > 0 {
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%s cannot be reached: server %q lists the same and comes first", count(uris), o.ID))
			}
		}
	}
	return list
}

// count names one URI, or says how many there are.
func count(uris []string) string {
	if len(uris) == 1 {
		return fmt.Sprintf("resource %.100q", uris[0])
	}
	return fmt.Sprintf("%d resources, such as %.100q,", len(uris), uris[0])
}
