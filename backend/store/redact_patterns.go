package store

import (
	"bytes"
	"strings"
)

// secretPattern matches a prefix followed by at least min bytes of letters, digits, '_' and '-'.
type secretPattern struct {
	prefix string
	min    int
	dots   bool // dots are allowed too
}

var secretPatterns = []secretPattern{
	{"dbr_", 20, false},
	{"ghp_", 20, false}, {"gho_", 20, false}, {"ghu_", 20, false}, {"ghs_", 20, false}, {"ghr_", 20, false},
	{"github_pat_", 20, false}, {"glpat-", 16, false}, {"glptt-", 16, false},
	{"sk-", 20, false}, {"sk_live_", 12, false}, {"sk_test_", 12, false}, {"rk_live_", 12, false}, {"whsec_", 16, false},
	{"xoxb-", 10, false}, {"xoxp-", 10, false}, {"xoxa-", 10, false}, {"xoxr-", 10, false}, {"xoxs-", 10, false}, {"xapp-", 10, false},
	{"AKIA", 16, false}, {"ASIA", 16, false}, {"AIza", 30, false}, {"ya29.", 20, true}, {"GOCSPX-", 16, false},
	{"eyJ", 30, true}, // JSON Web Token
	{"npm_", 20, false}, {"pypi-", 30, false}, {"hf_", 20, false}, {"SG.", 30, true}, {"shpat_", 20, false},
	{"dop_v1_", 20, false}, {"ntn_", 20, false}, {"secret_", 32, false}, {"lin_api_", 20, false}, {"figd_", 20, false},
	{"AGE-SECRET-KEY-", 20, false}, {pemPrefix, 1, false},
}

const pemPrefix = "-----BEGIN "

// length returns the length of the secret at the start of b, or 0 if there is none.
func (s *secretPattern) length(b []byte) int {
	if len(b) < len(s.prefix)+s.min || string(b[:len(s.prefix)]) != s.prefix {
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
	if n < len(s.prefix)+s.min || (s.prefix == "eyJ" && dots == 0) {
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
