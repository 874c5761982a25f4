package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// UnsetError is the error of Expand for a variable without value and default.
type UnsetError struct{ Name string }

func (e *UnsetError) Error() string { return "variable ${" + e.Name + "} is not set" }

// Expand replaces the variables of s:
//
//	${NAME}           the variable NAME; an error that names it when it is not set
//	${NAME:-default}  NAME, or the default when NAME is not set or empty
//	${env:NAME}       the same as ${NAME}, as VS Code and Cursor write it
//	${secret:NAME}    looked up under "secret:NAME"
//	$${               a literal ${
//
// A "$" that does not open "${...}" is literal. A default may contain variables, as in
// ${DIR:-${HOME}/dir}. Values are not expanded again, so that a secret may contain any character.
func Expand(s string, lookup func(name string) (value string, ok bool)) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var b strings.Builder
	for {
		open := strings.Index(s, "${")
		if open < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if open > 0 && s[open-1] == '$' {
			b.WriteString(s[:open-1])
			b.WriteString("${")
			s = s[open+2:]
			continue
		}
		end := closingBrace(s[open:])
		if end < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:open])
		value, err := variable(s[open+2:open+end], lookup)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = s[open+end+1:]
	}
}

// closingBrace returns the index of the brace that closes the reference at the beginning of s, or
// -1. References in its default are skipped.
func closingBrace(s string) int {
	for i, depth := 2, 1; i < len(s); i++ {
		switch {
		case s[i] == '{' && s[i-1] == '$':
			depth++
		case s[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func variable(expr string, lookup func(string) (string, bool)) (string, error) {
	name, fallback, hasDefault := parts(expr)
	value, ok := lookup(name)
	switch {
	case ok && (value != "" || !hasDefault):
		return value, nil
	case hasDefault:
		return Expand(fallback, lookup)
	}
	return "", &UnsetError{name}
}

func parts(expr string) (name, fallback string, hasDefault bool) {
	name, fallback, hasDefault = strings.Cut(expr, ":-")
	return strings.TrimPrefix(name, "env:"), fallback, hasDefault
}

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
