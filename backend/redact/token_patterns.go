package redact

import (
	"bytes"
	"strings"
)

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
