package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/revision"
)

// ForEra returns the view with the lists that clients of an era can read, for list requests. Tools
// of MCP 2026-07-28 are converted for legacy clients. An item that makes these clients refuse the
// whole list is left out, unless the view is that of its server alone. Names lead to the same
// targets as in v.
func (v *View) ForEra(era core.Era) *View {
	other := v.modern
	if era == core.Legacy {
		other = v.legacy
	}
	if other == nil {
		return v
	}
	return other
}

// forEra computes ForEra; nil if the lists are the same.
func (v *View) forEra(era core.Era) *View {
	differs := false
	other := &View{server: v.server, items: v.items, lists: v.lists, names: v.names, renamed: v.renamed, withheld: v.withheld,
		uris: v.uris, unlisted: v.unlisted, catalogs: v.catalogs, conflicts: v.conflicts, scope: v.scope, resourcesExcluded: v.resourcesExcluded, hash: v.hash}
	for i, kind := range allKinds {
		affected := func(item Item) bool {
			return item.odd != nil && (item.odd.Converts && era == core.Legacy || item.odd.Unreadable != "" && v.server == "")
		}
		if !slices.ContainsFunc(v.items[i], affected) {
			continue
		}
		differs = true
		items := make([]Item, 0, len(v.items[i]))
		for _, item := range v.items[i] {
			if affected(item) {
				if item.odd.Unreadable != "" {
					continue
				}
				item.Raw = revision.ForLegacy(kind, item.Raw)
			}
			items = append(items, item)
		}
		other.items[i], other.lists[i] = items, listOf(kind, items)
	}
	if !differs {
		return nil
	}
	return other
}

// checkEntries repairs the entries of a server that some clients cannot read, and returns what the
// user should know about them.
func checkEntries(server string, entries [Kinds][]entry) (warnings []string) {
	for i, kind := range allKinds {
		var omitted, problems problemList
		for n := range entries[i] {
			e := &entries[i][n]
			var raw []byte
			raw, e.odd = revision.Check(kind, e.raw)
			if string(raw) != string(e.raw) {
				e.raw = raw
				e.nameSpans, _ = memberValues(raw, "name")
			}
			if kind == core.Tools {
				for _, text := range revision.ModelAPIProblems(raw) {
					problems.add(text, e.name)
				}
			}
			if e.odd == nil {
				continue
			}
			for _, text := range e.odd.Repairs {
				problems.add(text, e.name)
			}
			if e.odd.Unreadable != "" {
				omitted.add(fmt.Sprintf("%s; no client gets it at /mcp and in profiles, because clients would refuse the whole list (it is passed on as it is at /s/%s/mcp)", e.odd.Unreadable, server), e.name)
			}
		}
		warnings = append(append(warnings, omitted.describe(kind)...), problems.describe(kind)...)
	}
	return warnings
}

// problemList groups the items of one list by their problem.
type problemList struct {
	texts []string
	names map[string][]string
}

func (l *problemList) add(text, name string) {
	if l.names == nil {
		l.names = map[string][]string{}
	}
	if l.names[text] == nil {
		l.texts = append(l.texts, text)
	}
	l.names[text] = append(l.names[text], name)
}

const (
	maxProblems     = 10 // problems that are described
	maxProblemNames = 3  // items that are named for each
)

// nouns are the words for an item of each kind.
var nouns = map[core.Kind]string{core.Tools: "tool", core.Prompts: "prompt", core.Resources: "resource", core.Templates: "resource template"}

func (l *problemList) describe(kind core.Kind) (warnings []string) {
	for i, text := range l.texts {
		if i == maxProblems {
			return append(warnings, fmt.Sprintf("%d more problems of %ss", len(l.texts)-i, nouns[kind]))
		}
		var names []string
		for _, name := range l.names[text][:min(maxProblemNames, len(l.names[text]))] {
			names = append(names, fmt.Sprintf("%.100q", name))
		}
		which := nouns[kind] + " " + names[0]
		if n := len(l.names[text]); n > 1 {
			which = fmt.Sprintf("%d %ss (%s", n, nouns[kind], strings.Join(names, ", "))
			if n > len(names) {
				which += ", …"
			}
			which += ")"
		}
		warnings = append(warnings, which+": "+text)
	}
	return warnings
}
