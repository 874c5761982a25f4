package redact

import (
	"regexp"
	"slices"
)

// Redactor removes all secrets from text: those that are recognized by their name or format, those
// with a known value, and everything that matches a pattern. The zero value is usable.
type Redactor struct {
	Values   *Values
	Patterns []*regexp.Regexp
}

// AppendJSON is the function AppendJSON for all kinds of secrets.
func (r *Redactor) AppendJSON(dst, src []byte) []byte {
	start := len(dst)
	return r.replaceMatches(r.Values.Redact(AppendJSON(dst, src), start), start)
}

// Text is the function Text for all kinds of secrets.
func (r *Redactor) Text(s string) string { return r.Known(Text(s)) }

// Known removes the secrets with a known value and everything that matches a pattern, but not what
// only looks like a secret.
func (r *Redactor) Known(s string) string {
	if r.Values == nil && len(r.Patterns) == 0 || s == "" {
		return s
	}
	return string(r.replaceMatches(r.Values.Redact([]byte(s), 0), 0))
}

// replaceMatches replaces all matches of the patterns in text[start:] and returns the result.
func (r *Redactor) replaceMatches(text []byte, start int) []byte {
	for _, p := range r.Patterns {
		if p.Match(text[start:]) {
			text = append(text[:start], p.ReplaceAllLiteral(slices.Clone(text[start:]), []byte(Mark))...)
		}
	}
	return text
}
