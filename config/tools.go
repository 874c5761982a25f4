package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Filter selects and changes the tools of a server that clients see. All names and patterns are
// those of the server. It is immutable; nil shows everything unchanged.
type Filter struct {
	Include []string // patterns; nil includes every tool, an empty list none
	Exclude []string // patterns; they win
	Tools   map[string]Tool

	renamed map[string]string // from the new name to that of the server
}

// Tool holds the settings of one tool. Zero values are unset.
type Tool struct {
	Disabled    bool   `key:"enabled,not"`
	Rename      string `key:"rename,tool"` // what clients call it, before the server's prefix
	Title       string `key:"title"`       // replaces that of the server
	Description string `key:"description"` // replaces that of the server
	// Annotations replace those of the server, by the names in Hints.
	Annotations    map[string]bool
	RequestTimeout time.Duration `key:"requestTimeoutMs"`
	MaxRequest     time.Duration `key:"maxRequestMs"`
	CacheTTL       time.Duration `key:"cacheTtlMs"`
	Approval       string        `key:"approval"`     // one of Approvals
	AllowClients   []string      `key:"allowClients"` // tokens whose calls need no approval
	ValidateInput  string        `key:"validateInput"`
	Preview        string        `key:"preview"` // argument with which the tool changes nothing, PreviewOff, or "" to recognize it
	Record         string        `key:"record"`  // RecordFull, RecordMeta or RecordOff; wins over that of the server
	Retry          *Retry
	RateLimit      *RateLimit
	// ClientLimits are the rate limits of single clients, by the name of their token.
	// They win over RateLimit and over that of the client.
	ClientLimits map[string]RateLimit
}

// PreviewOff is a tool without an argument for a preview.
const PreviewOff = "off"

// Hints are the annotations that describe what a tool does.
var Hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// The key that hides a tool.
const (
	HiddenByEnabled = "enabled"
	HiddenByInclude = "includeTools"
	HiddenByExclude = "excludeTools"
)

// HiddenBy returns the key that hides a tool from clients, or "".
func (f *Filter) HiddenBy(tool string) string {
	switch {
	case f == nil:
		return ""
	case f.Tools[tool].Disabled:
		return HiddenByEnabled
	case matchesAny(f.Exclude, tool):
		return HiddenByExclude
	case f.Include != nil && !matchesAny(f.Include, tool):
		return HiddenByInclude
	}
	return ""
}

// HiddenNames returns the tools that are hidden by their name, not by a pattern, in order.
func (f *Filter) HiddenNames() []string {
	if f == nil {
		return nil
	}
	hidden := map[string]bool{}
	for _, name := range f.Exclude {
		if !strings.ContainsAny(name, "*?") {
			hidden[name] = true
		}
	}
	for name, tool := range f.Tools {
		if tool.Disabled {
			hidden[name] = true
		}
	}
	return slices.Sorted(maps.Keys(hidden))
}

// PublicName returns the name of a tool for clients.
func (f *Filter) PublicName(tool string) string {
	if f != nil {
		if name := f.Tools[tool].Rename; name != "" {
			return name
		}
	}
	return tool
}

// Original returns the name that the server uses for the tool that clients call name. A renamed
// tool is not reachable under its original name.
func (f *Filter) Original(name string) (tool string, ok bool) {
	if f == nil {
		return name, true
	}
	if tool, ok := f.renamed[name]; ok {
		return tool, true
	}
	return name, f.Tools[name].Rename == ""
}

// Unmatched describes the patterns and names that match none of the tools of a server.
func (f *Filter) Unmatched(tools []string) []string {
	if f == nil {
		return nil
	}
	var list []string
	say := func(key, word string) {
		sentence := fmt.Sprintf("%s '%s' matches no tool", key, word)
		if near := nearestPattern(word, tools); near != "" {
			sentence += fmt.Sprintf("; did you mean '%s'?", near)
		}
		list = append(list, sentence)
	}
	for _, p := range []struct {
		key      string
		patterns []string
	}{{HiddenByInclude, f.Include}, {HiddenByExclude, f.Exclude}} {
		for _, pattern := range p.patterns {
			if !slices.ContainsFunc(tools, func(t string) bool { return Match(pattern, t) }) {
				say(p.key, pattern)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		if !slices.Contains(tools, name) {
			say("tools", name)
		}
	}
	return list
}

// nearestPattern suggests a replacement for a pattern: the most similar name, or a pattern whose
// text before the first star is most similar to that of a tool.
func nearestPattern(pattern string, tools []string) string {
	head, tail, glob := strings.Cut(pattern, "*")
	if !glob {
		return Nearest(pattern, tools)
	}
	heads := make([]string, 0, len(tools))
	for _, t := range tools {
		if len(t) >= len(head) {
			heads = append(heads, t[:len(head)])
		}
	}
	if near := Nearest(head, heads); near != "" && len(head) > 0 {
		return near + "*" + tail
	}
	return ""
}

// Equal reports whether both have the same effect.
func (f *Filter) Equal(o *Filter) bool { return reflect.DeepEqual(f, o) }

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, name) })
}

// Match reports whether name matches pattern: '*' is any sequence of characters, '?' any one.
func Match(pattern, name string) bool {
	star, back := -1, 0 // position of the last star, and of the text that it matches up to
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(name[n:])
			p, n = p+1, n+size
		case p < len(pattern) && pattern[p] == name[n]:
			p, n = p+1, n+1
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func toolFields(t *Tool) []field {
	return schemaTree().Defs["tool"].fields(t,
		section("annotations", hintFields(&t.Annotations)...),
		retryField(&t.Retry),
		rateLimitField(&t.RateLimit),
		objects("clients", func(r *reader, m member) {
			var limit *RateLimit
			r.object(m.value, []field{rateLimitField(&limit)})
			if limit == nil {
				return
			}
			if t.ClientLimits == nil {
				t.ClientLimits = make(map[string]RateLimit)
			}
			t.ClientLimits[m.name] = *limit
		}),
	)
}

func hintFields(to *map[string]bool) []field {
	fields := make([]field, len(Hints))
	for i, name := range Hints {
		fields[i] = booleanSetter(name, func(yes bool) {
			if *to == nil {
				*to = map[string]bool{}
			}
			(*to)[name] = yes
		})
	}
	return fields
}

// filterFields are the keys of a server that make its Filter.
func filterFields(f *Filter) []field {
	return []field{
		includeList(&f.Include),
		list(HiddenByExclude, &f.Exclude),
		objects("tools", func(r *reader, m member) {
			var t Tool
			if strings.ContainsAny(m.name, "*?") {
				r.report(m.at, "tools", false, "write the pattern in 'excludeTools', or 'approval' beside 'tools'", "'%s' in 'tools'%s is a pattern, not the name of a tool", m.name, r.inServer())
			}
			r.object(m.value, toolFields(&t))
			if f.Tools == nil {
				f.Tools = make(map[string]Tool)
			}
			if t.Rename == m.name {
				t.Rename = ""
			}
			if t.Rename != "" {
				if other, taken := f.renamed[t.Rename]; taken {
					r.report(m.value.at, "rename", false, "give one of them another name", "tools '%s' and '%s' would share the name '%s'%s", other, m.name, t.Rename, r.inServer())
				}
				if f.renamed == nil {
					f.renamed = make(map[string]string)
				}
				f.renamed[t.Rename] = m.name
			}
			f.Tools[m.name] = t
		}),
	}
}

// includeList reads the only tools that are offered: none, if the list is empty.
func includeList(to *[]string) field {
	all := list(HiddenByInclude, to)
	return all.andThen(func() { *to = append([]string{}, *to...) })
}

// filter returns the parsed filter, or nil if it has no effect.
func (f *Filter) orNil() *Filter {
	if f.Include == nil && len(f.Exclude) == 0 && len(f.Tools) == 0 {
		return nil
	}
	return f
}

// validateToolName reports a name that is not valid for a tool.
func validateToolName(s string) string {
	const most = 128
	if s == "" || len(s) > most || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" {
		return fmt.Sprintf("must be at most %d characters: letters, digits, '_', '-' and '.'", most)
	}
	return ""
}
