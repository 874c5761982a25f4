package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// CutMark is part of the text that replaces binary data that is too long to be recorded.
const CutMark = " characters not recorded, sha256 "

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

// In text, secrets are recognized by the name before them (a JSON key, a header, an environment or
// URL variable, also escaped inside a JSON string) and by known patterns of tokens and keys. The
// replaced range never contains an unescaped quote and never splits an escape sequence, so valid
// JSON stays valid.
//
// False positives are accepted: in the sentence "token: soon", the word "soon" is removed.

// AppendJSON appends JSON text without its secrets. Valid JSON stays valid. Truncated JSON is
// processed up to its end.
func AppendJSON(dst, src []byte) []byte {
	r := redaction{dst: dst, src: src}
	var key []byte     // the last string, which is a key if a colon follows
	secret := false    // key is the name of a secret, and its value follows
	inSecrets := false // inside an array that is the value of such a key
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			end := stringEnd(src, i+1)
			if secret {
				r.replace(i+1, end, Mark)
			} else {
				r.text(i+1, end)
			}
			key, secret = src[i+1:end], false
			i = end
		case c == ':':
			secret = secretKind(key) != notSecret
		case c == '[':
			inSecrets = secret
		case c == ',':
			secret = inSecrets
		case c == '{', c == ']', c == '}':
			secret, inSecrets = false, false
		case secret && !inSecrets && (c == '-' || '0' <= c && c <= '9'):
			end := numberEnd(src, i)
			r.replace(i, end, `"`+Mark+`"`)
			i, secret = end-1, false
		}
	}
	return append(r.dst, src[r.kept:]...)
}

// Text returns a text that is not JSON without its secrets. It does not allocate if the text
// contains none of the characters that occur in secrets.
func Text(s string) string {
	if !strings.ContainsAny(s, ":=_-.A") && !strings.Contains(s, "eyJ") {
		return s
	}
	r := redaction{src: []byte(s)}
	r.text(0, len(s))
	if r.kept == 0 {
		return s
	}
	return string(append(r.dst, r.src[r.kept:]...))
}

// Find returns the parts of a text that are recognized as secrets by their pattern or by the name
// before them.
func Find(text string) []string {
	var found []string
	r := redaction{src: []byte(text), found: &found}
	r.text(0, len(text))
	return found
}

// redaction copies src to dst and replaces ranges of it.
type redaction struct {
	dst, src []byte
	kept     int       // src[:kept] has been copied or replaced
	found    *[]string // collects the replaced text, unless nil
}

func (r *redaction) replace(from, to int, with string) {
	if from < r.kept || to <= from {
		return
	}
	if r.found != nil {
		*r.found = append(*r.found, string(r.src[from:to]))
	}
	r.dst = append(r.dst, r.src[r.kept:from]...)
	r.dst = append(r.dst, with...)
	r.kept = to
}

// text replaces the secrets within src[start:end], the content of a string. It examines only
// separators and, for each pattern, the first of its bytes that is rare in ordinary text.
func (r *redaction) text(start, end int) {
	text := r.src[start:end]
	for i := 0; i < len(text); i++ {
		switch byteClasses[text[i]] {
		case ordinary:
			continue
		case separator:
			from, to := namedSecret(text, i)
			if to <= from {
				from, to = userinfo(text, i)
			}
			if to > from {
				r.replace(start+from, start+to, Mark)
				i = to - 1
			}
		case anchor:
			for _, a := range patternsByByte[text[i]] {
				at := i - a.offset
				if at < 0 || start+at < r.kept || at > 0 && isWordByte(text[at-1]) && !isAfterEscape(text, at) {
					continue
				}
				if n := a.pattern.length(text[at:], a.pattern.minInText); n > 0 {
					r.replace(start+at, start+at+n, Mark)
					i = at + n - 1
					break
				}
			}
		}
	}
}

const (
	ordinary  = iota
	separator // ':' or '=', which precede a value
	anchor    // a rare byte that occurs in the prefix of a pattern
)

func isWordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

func isSecretByte(b byte) bool { return isWordByte(b) || b == '-' }

// isAfterEscape reports whether the letter at i-1 belongs to an escape sequence such as \n.
func isAfterEscape(src []byte, i int) bool {
	return i >= 2 && src[i-2] == '\\' && strings.IndexByte("nrtbf", src[i-1]) >= 0
}

// userinfo returns the range of the password in the URL whose "://" begins at i, or 0, 0.
func userinfo(src []byte, i int) (from, to int) {
	if i+2 >= len(src) || src[i+1] != '/' || src[i+2] != '/' {
		return 0, 0
	}
	for j := i + 3; j < len(src) && j < i+512; j++ {
		switch src[j] {
		case ':':
			if from == 0 {
				from = j + 1
			}
		case '@':
			if from > 0 {
				return from, j
			}
			if j-i-3 >= 20 { // a token used as user name
				return i + 3, j
			}
			return 0, 0
		case '/', '?', '#', '"', '\'', '\\', ' ', '<', '>', '\n':
			return 0, 0
		}
	}
	return 0, 0
}

// namedSecret returns the range of the value that follows the separator at i if the name before it
// denotes a secret, or 0, 0. The range does not split an escape sequence. It is empty for values
// that were redacted before.
func namedSecret(text []byte, i int) (from, to int) {
	end := i
	for end > 0 && (text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	if end > 0 && (text[end-1] == '"' || text[end-1] == '\'' || text[end-1] == '`') {
		end--
		for end > 0 && text[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < 64 && (isSecretByte(text[start-1]) || text[start-1] == '.') {
		start--
	}
	if start > 0 && start < end && text[start-1] == '\\' {
		start++ // the letter belongs to an escape sequence
	}
	kind := secretKind(text[start:end])
	if kind == notSecret {
		return 0, 0
	}
	at := i + 1
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	quote := at
	for quote < len(text) && text[quote] == '\\' {
		quote++
	}
	switch {
	case quote < len(text) && text[quote] == '"':
		return quote + 1, quotedEnd(text, quote+1, quote-at)
	case quote > at:
		return 0, 0 // an escape sequence, such as a line break
	case at < len(text) && (text[at] == '\'' || text[at] == '`'):
		at++
	}
	if bytes.HasPrefix(text[at:], []byte(Mark)) || bytes.HasPrefix(text[at:], []byte(masked)) {
		return 0, 0
	}
	return at, plainEnd(text, at, kind == wholeLine)
}
