package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// placeholderPattern matches what READMEs write for a value of the reader. The page recognizes the
// same ones (frontend/src/features/servers/server-fields.ts).
var placeholderPattern = osutil.LazyRegexp(`<[A-Za-z][^<>]*>|\b(?:YOUR|MY)[-_ ][A-Z0-9_-]+|\byour[-_][a-z0-9_-]+|(?:\b[A-Za-z]:)?[\\/]*\bpath[\\/]+to[\\/][^\s"']*|\/(?:Users|home)\/username\b[^\s"']*|\b[Xx]{4,}\b|^[\w-]*\.{3}$`)

// Placeholder returns the first placeholder in a text, or "".
func Placeholder(text string) string { return placeholderPattern().FindString(text) }

// Placeholders returns the placeholders in the command, arguments, addresses, variables and headers
// of an entry.
func Placeholders(entry []byte) (found []string) {
	var e struct {
		Command, Cwd, Container, URL, HTTPURL string
		Args                                  []string
		Env, Headers                          map[string]string
	}
	_ = json.Unmarshal(entry, &e) // a member of another type has no placeholder
	texts := slices.Concat([]string{e.Command, e.Cwd, e.Container, e.URL, e.HTTPURL}, e.Args)
	for _, values := range []map[string]string{e.Env, e.Headers} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			texts = append(texts, values[name])
		}
	}
	for _, text := range texts {
		if p := Placeholder(text); p != "" && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}
