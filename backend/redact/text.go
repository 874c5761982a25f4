package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
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
	if kind == notSecret || isSecretReference(text, start) {
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

// isSecretReference reports whether the name at start begins ${secret:NAME}, as hints and configurations have it.
func isSecretReference(text []byte, start int) bool {
	if start < 2 || !bytes.HasPrefix(text[start-2:], []byte("${secret:")) {
		return false
	}
	reference := text[start-2 : min(len(text), start+130)]
	return onlyReference().Match(reference[:bytes.IndexByte(reference, '}')+1])
}

// secretPattern matches a prefix followed by at least min bytes of letters, digits, '_' and '-'. In
// a configuration file, least bytes are enough: there, text that only looks like a token is rare.
type secretPattern struct {
	prefix                 string
	minInText, minInConfig int
	dots                   bool // dots are allowed too
}

var secretPatterns = []secretPattern{
	{"dbr_", 20, 1, false},
	{"ghp_", 20, 1, false}, {"gho_", 20, 1, false}, {"ghu_", 20, 1, false}, {"ghs_", 20, 1, false}, {"ghr_", 20, 1, false},
	{"github_pat_", 20, 1, false}, {"glpat-", 16, 1, false}, {"glptt-", 16, 12, false},
	{"sk-", 20, 1, false}, {"sk_live_", 12, 12, false}, {"sk_test_", 12, 12, false}, {"rk_live_", 12, 12, false}, {"whsec_", 16, 12, false},
	{"xoxb-", 10, 1, false}, {"xoxp-", 10, 1, false}, {"xoxa-", 10, 1, false}, {"xoxr-", 10, 1, false}, {"xoxs-", 10, 1, false}, {"xoxe-", 10, 1, false},
	{"xapp-", 10, 10, false},
	{"AKIA", 16, 1, false}, {"ASIA", 16, 12, false}, {"AIza", 30, 1, false}, {"ya29.", 20, 12, true}, {"GOCSPX-", 16, 12, false},
	{jwtPrefix, 30, 2, true},
	{"npm_", 20, 1, false}, {"pypi-", 30, 1, false}, {"hf_", 20, 1, false}, {"SG.", 30, 1, true}, {"shpat_", 20, 1, false}, {"shpss_", 20, 1, false},
	{"dop_v1_", 20, 12, false}, {"ntn_", 20, 12, false}, {"secret_", 32, 32, false}, {"lin_api_", 20, 12, false}, {"figd_", 20, 12, false},
	{"sntryu_", 32, 32, false}, {"sntrys_", 32, 32, false},
	{"AGE-SECRET-KEY-", 20, 12, false}, {pemPrefix, 1, 1, false},
}

const jwtPrefix = "eyJ" // of a JSON Web Token

const pemPrefix = "-----BEGIN "

// length returns the length of the secret at the start of b, with at least this many bytes
// after the prefix, or 0 if there is none.
func (s *secretPattern) length(b []byte, least int) int {
	if len(b) < len(s.prefix)+least || string(b[:len(s.prefix)]) != s.prefix {
		return 0
	}
	if s.prefix == pemPrefix {
		return privateKeyLength(b)
	}
	n, dots := len(s.prefix), 0
	for n < len(b) && (isSecretByte(b[n]) || s.dots && b[n] == '.') {
		if b[n] == '.' {
			dots++
		}
		n++
	}
	if n < len(s.prefix)+least || (s.prefix == jwtPrefix && dots == 0) {
		return 0
	}
	return n
}

// privateKeyLength returns the length of the PEM private key at the start of b, or 0 if there is
// none. A key without its end line extends to the end of b.
func privateKeyLength(b []byte) int {
	head := b[:min(len(b), 64)]
	if !strings.Contains(string(head), "PRIVATE KEY") {
		return 0
	}
	if i := bytes.Index(b, []byte("-----END ")); i >= 0 {
		if j := bytes.Index(b[i+9:], []byte("-----")); j >= 0 {
			return i + 9 + j + 5
		}
	}
	return len(b)
}

// rareBytes contains bytes that are rare in ordinary text. Each prefix contains one of them, by
// which it is found.
const rareBytes = "_-JKIzG9"

// anchoredPattern is a pattern with the offset of the first rare byte of its prefix.
type anchoredPattern struct {
	pattern *secretPattern
	offset  int
}

var byteClasses, patternsByByte = func() (stops [256]uint8, by [256][]anchoredPattern) {
	stops[':'], stops['='] = separator, separator
	for i := range secretPatterns {
		offset := strings.IndexAny(secretPatterns[i].prefix, rareBytes)
		c := secretPatterns[i].prefix[offset]
		stops[c] = anchor
		by[c] = append(by[c], anchoredPattern{&secretPatterns[i], offset})
	}
	return stops, by
}()

// isToken reports whether a value in a configuration file begins with a token of a known format.
func isToken(value string) bool {
	for i := range secretPatterns {
		p := &secretPatterns[i]
		if strings.HasPrefix(value, p.prefix) && (p.prefix == pemPrefix || p.length([]byte(value), p.minInConfig) > 0) {
			return true
		}
	}
	return false
}

// replaceTokens replaces tokens of known formats and passwords in URLs, wherever they are in a
// text. short also finds tokens of the length that is enough in a configuration file, and treats
// what follows the start of a private key as a part of it.
func replaceTokens(line string, short bool, replace func(token string) string) string {
	text := []byte(line)
	r := redaction{src: text}
	for i := range text {
		if text[i] == ':' {
			if from, to := userinfo(text, i); from < to && !isReference(line[from:to]) {
				r.replace(from, to, replace(line[from:to]))
			}
			continue
		}
		for _, a := range patternsByByte[text[i]] {
			at := i - a.offset
			if at < r.kept || at > 0 && isWordByte(text[at-1]) && !isAfterEscape(text, at) || !strings.HasPrefix(line[at:], a.pattern.prefix) {
				continue
			}
			n := a.pattern.length(text[at:], a.pattern.minInText)
			switch {
			case short && a.pattern.prefix == pemPrefix:
				n = len(text) - at
			case short:
				n = a.pattern.length(text[at:], a.pattern.minInConfig)
			}
			if n > 0 {
				r.replace(at, at+n, replace(line[at:at+n]))
			}
		}
	}
	return string(append(r.dst, text[r.kept:]...))
}

func numberEnd(src []byte, at int) int {
	for ; at < len(src); at++ {
		switch c := src[at]; {
		case c == '-', c == '+', c == '.', c == 'e', c == 'E', '0' <= c && c <= '9':
		default:
			return at
		}
	}
	return at
}

// stringEnd returns the index of the quote that ends the JSON string that contains index at, or
// len(src) if there is none.
func stringEnd(src []byte, at int) int {
	for at < len(src) {
		n := bytes.IndexByte(src[at:], '"')
		if n < 0 {
			return len(src)
		}
		end := at + n
		slashes := 0
		for slashes < n && src[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		at = end + 1
	}
	return len(src)
}

// quotedEnd returns the end of a quoted value within a text: the index before the next quote, and
// its backslashes, that has at most depth backslashes. depth is the number of backslashes before
// the opening quote.
func quotedEnd(text []byte, at, depth int) int {
	slashes := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '\\':
			slashes++
			continue
		case '"':
			if slashes <= depth {
				return at - slashes
			}
		}
		slashes = 0
	}
	return len(text)
}

// plainEnd returns the end of an unquoted value: the end of the word or, if line is set, of the
// line.
func plainEnd(src []byte, at int, line bool) int {
	for start := at; at < len(src); at++ {
		switch src[at] {
		case '"', '\\', '\n', '\r', '`', '<':
			return at
		case ' ', '\t':
			if line || scheme(src[start:at]) {
				continue
			}
			return at
		case ',', ';', '&', '}', ']', ')', '\'':
			if !line {
				return at
			}
		}
	}
	return len(src)
}

// scheme reports whether a word is the scheme of an Authorization header value, which is followed
// by the credentials.
func scheme(word []byte) bool {
	switch strings.ToLower(string(word)) {
	case "bearer", "basic", "token", "bot", "apikey":
		return true
	}
	return false
}
