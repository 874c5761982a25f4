package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

var secretRef = lazyregexp.New(`(\$?)\$\{secret:([^}]*?)(?::-[^}]*)?\}`)

// SecretsOf returns the names of the secrets that servers refer to, each with the ids of those
// servers in order.
func SecretsOf(c *Config) map[string][]string {
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

var anyRef = lazyregexp.New(`\$\{([^}]*)\}`)

// References returns the names of the secrets and of the environment variables that the entry of
// a server refers to, in order. entry is JSON text.
func References(entry json.RawMessage) (secrets, variables []string) {
	var whole any
	if json.Unmarshal(entry, &whole) != nil {
		return nil, nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				walk(key)
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		case string:
			for _, m := range anyRef().FindAllStringSubmatch(v, -1) {
				name, _, _ := parts(m[1])
				if secret, ok := strings.CutPrefix(name, "secret:"); ok {
					secrets = append(secrets, secret)
				} else if name != "workspaceFolder" {
					variables = append(variables, name)
				}
			}
		}
	}
	walk(whole)
	slices.Sort(secrets)
	slices.Sort(variables)
	return slices.Compact(secrets), slices.Compact(variables)
}
