package config

import (
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var secretRef = osutil.LazyRegexp(`(\$?)\$\{secret:([^}]*?)(?::-[^}]*)?\}`)

// ReferencedSecrets returns the names of the secrets that servers refer to, each with the ids of those
// servers in order.
func ReferencedSecrets(c *Config) map[string][]string {
	used := map[string][]string{}
	for _, s := range c.Servers {
		texts := append([]string{s.Command, s.Cwd, s.URL, s.OAuth.ClientSecret}, s.Args...)
		texts = append(slices.AppendSeq(texts, maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers))...)
		for _, a := range s.Accounts {
			texts = append(slices.AppendSeq(texts, maps.Values(a.Env)), a.OAuth.ClientSecret)
			texts = slices.AppendSeq(texts, maps.Values(a.Headers))
		}
		for _, text := range texts {
			for _, m := range secretRef().FindAllStringSubmatch(text, -1) {
				if m[1] == "" && !slices.Contains(used[m[2]], s.ID) {
					used[m[2]] = append(used[m[2]], s.ID)
				}
			}
		}
	}
	return used
}
