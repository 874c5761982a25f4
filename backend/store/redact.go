package store

import (
	"bytes"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// Secrets are recognised in two ways: by the name that stands before them (a JSON
// key, a header, an environment or URL variable, also inside a JSON string and
// escaped there), and by their own shape. What is replaced never holds an
// unescaped quote and never splits an escape, so JSON stays JSON.
//
// It errs on the safe side: "token: soon" in a sentence loses its word as well.

// appendRedacted appends JSON text without the secrets in it. What is valid stays
// valid; text that was cut off is taken as far as it goes.
func appendRedacted(dst, src []byte) []byte {
	r := redaction{dst: dst, src: src}
	var key []byte     // the string before the last colon
	secret := false    // key announces one, and its value comes now
	inSecrets := false // within an array of them
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			end := stringEnd(src, i+1)
			if secret {
				r.replace(i+1, end, redacted)
			} else {
				r.text(i+1, end)
			}
			key, secret = src[i+1:end], false
			i = end
		case c == ':':
			secret = secretName(key) != notSecret
		case c == '[':
			inSecrets = secret
		case c == ',':
			secret = inSecrets
		case c == '{', c == ']', c == '}':
			secret, inSecrets = false, false
		case secret && !inSecrets && (c == '-' || '0' <= c && c <= '9'):
			end := numberEnd(src, i)
			r.replace(i, end, `"`+redacted+`"`)
			i, secret = end-1, false
		}
	}
	return append(r.dst, src[r.kept:]...)
}

// Redacted takes what looks like a secret out of a text, by the rules for calls that need no
// configuration.
func Redacted(text string) string { return redactText(text) }

// redactText takes the secrets out of a text that is no JSON. Most texts come back
// as they are.
func redactText(s string) string {
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

// redaction copies src to dst, leaving things out.
type redaction struct {
	dst, src []byte
	kept     int       // src[:kept] is dealt with
	found    *[]string // gets what is left out, unless nil
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

// text looks for secrets within src[start:end], the inside of a string. It stops at
// few bytes only: separators, and for each shape the first of its bytes that is rare
// in ordinary text.
func (r *redaction) text(start, end int) {
	text := r.src[start:end]
	for i := 0; i < len(text); i++ {
		switch stops[text[i]] {
		case dull:
			continue
		case separator:
			from, to := namedSecret(text, i)
			if to <= from {
				from, to = userinfo(text, i)
			}
			if to > from {
				r.replace(start+from, start+to, redacted)
				i = to - 1
			}
		case anchor:
			for _, a := range anchored[text[i]] {
				at := i - a.offset
				if at < 0 || start+at < r.kept || at > 0 && wordByte(text[at-1]) && !afterEscape(text, at) {
					continue
				}
				if n := a.shape.length(text[at:]); n > 0 {
					r.replace(start+at, start+at+n, redacted)
					i = at + n - 1
					break
				}
			}
		}
	}
}

const (
	dull      = iota
	separator // ':' and '=', which a value follows
	anchor    // a byte by which a shape is noticed
)

// rare are the bytes by which shapes are noticed: each prefix has one of them.
const rare = "_-JKIzG9"

// anchoredShape is a shape with the place of its first rare byte.
type anchoredShape struct {
	shape  *known
	offset int
}

var stops, anchored = func() (stops [256]uint8, by [256][]anchoredShape) {
	stops[':'], stops['='] = separator, separator
	for i := range shapes {
		offset := strings.IndexAny(shapes[i].prefix, rare)
		c := shapes[i].prefix[offset]
		stops[c] = anchor
		by[c] = append(by[c], anchoredShape{&shapes[i], offset})
	}
	return stops, by
}()

func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

func secretByte(b byte) bool { return wordByte(b) || b == '-' }

// afterEscape reports whether the letter before i belongs to an escape such as \n.
func afterEscape(src []byte, i int) bool {
	return i >= 2 && src[i-2] == '\\' && strings.IndexByte("nrtbf", src[i-1]) >= 0
}

// known is a shape: a prefix, then at least min bytes of the secret's alphabet.
type known struct {
	prefix string
	min    int
	dots   bool // the alphabet has dots
}

var shapes = []known{
	{"dbr_", 20, false},
	{"ghp_", 20, false}, {"gho_", 20, false}, {"ghu_", 20, false}, {"ghs_", 20, false}, {"ghr_", 20, false},
	{"github_pat_", 20, false}, {"glpat-", 16, false}, {"glptt-", 16, false},
	{"sk-", 20, false}, {"sk_live_", 12, false}, {"sk_test_", 12, false}, {"rk_live_", 12, false}, {"whsec_", 16, false},
	{"xoxb-", 10, false}, {"xoxp-", 10, false}, {"xoxa-", 10, false}, {"xoxr-", 10, false}, {"xoxs-", 10, false}, {"xapp-", 10, false},
	{"AKIA", 16, false}, {"ASIA", 16, false}, {"AIza", 30, false}, {"ya29.", 20, true}, {"GOCSPX-", 16, false},
	{"eyJ", 30, true}, // a JSON web token
	{"npm_", 20, false}, {"pypi-", 30, false}, {"hf_", 20, false}, {"SG.", 30, true}, {"shpat_", 20, false},
	{"dop_v1_", 20, false}, {"ntn_", 20, false}, {"secret_", 32, false}, {"lin_api_", 20, false}, {"figd_", 20, false},
	{"AGE-SECRET-KEY-", 20, false}, {pem, 1, false},
}

const pem = "-----BEGIN "

// length returns how long the secret at the start of b is, 0 when there is none.
func (s *known) length(b []byte) int {
	if len(b) < len(s.prefix)+s.min || string(b[:len(s.prefix)]) != s.prefix {
		return 0
	}
	if s.prefix == pem {
		return privateKey(b)
	}
	n, dots := len(s.prefix), 0
	for n < len(b) && (secretByte(b[n]) || s.dots && b[n] == '.') {
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

// privateKey returns the length of the private key in PEM at the start of b; one
// whose end is missing takes all of b.
func privateKey(b []byte) int {
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

// userinfo finds the password in the URL whose "://" begins at i.
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
			if j-i-3 >= 20 { // a token in the place of the user's name
				return i + 3, j
			}
			return 0, 0
		case '/', '?', '#', '"', '\'', '\\', ' ', '<', '>', '\n':
			return 0, 0
		}
	}
	return 0, 0
}

// namedSecret looks at the name before the separator at i, and returns the range of
// its value when the name says that it is a secret. The range begins and ends where
// no escape is split.
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
	for start > 0 && end-start < 64 && (secretByte(text[start-1]) || text[start-1] == '.') {
		start--
	}
	if start > 0 && start < end && text[start-1] == '\\' {
		start++ // the letter belongs to an escape
	}
	kind := secretName(text[start:end])
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
		return 0, 0 // an escape, such as the end of the line
	case at < len(text) && (text[at] == '\'' || text[at] == '`'):
		at++
	}
	return at, plainEnd(text, at, kind == wholeLine)
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

// stringEnd returns the place of the quote that ends the JSON string around at, or
// the end of src.
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

// quotedEnd returns where a quoted value within a text ends: before the next quote
// that has at most as many backslashes as the one that opened it.
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

// plainEnd returns the end of a value without quotes: the end of the word, or of the line.
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

// scheme reports whether a word is the first half of an Authorization value.
func scheme(word []byte) bool {
	switch strings.ToLower(string(word)) {
	case "bearer", "basic", "token", "bot", "apikey":
		return true
	}
	return false
}

const (
	notSecret = iota
	oneWord
	wholeLine // a header, whose value may have spaces
)

// secretName says whether a name announces a secret.
func secretName(name []byte) int {
	if len(name) < 3 || len(name) > 64 {
		return notSecret
	}
	if !maybeSecret(name) {
		return notSecret
	}
	var buf [64]byte
	folded := buf[:0]
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			folded = append(folded, c+'a'-'A')
		case c == '_' || c == '-' || c == '.':
		default:
			folded = append(folded, c)
		}
	}
	s := string(folded) // does not escape: no allocation
	switch {
	case strings.HasSuffix(s, "authorization"), strings.HasSuffix(s, "cookie"), s == "xapikey":
		return wholeLine
	case strings.HasSuffix(s, "token"):
		for _, harmless := range []string{"progresstoken", "pagetoken", "continuationtoken", "nexttoken", "synctoken", "starttoken", "bostoken", "eostoken", "padtoken"} {
			if strings.HasSuffix(s, harmless) {
				return notSecret
			}
		}
		return oneWord
	}
	for _, part := range []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "credential", "signingkey", "encryptionkey", "xamzsignature", "connectionstring"} {
		if strings.Contains(s, part) {
			return oneWord
		}
	}
	switch s {
	case "pwd", "pass", "auth", "bearer", "otp":
		return oneWord
	}
	return notSecret
}

// maybeSecret throws out most names by the letters they lack.
func maybeSecret(name []byte) bool {
	var has uint32
	for _, c := range name {
		if c >= 'A' {
			has |= 1 << (c & 31)
		}
	}
	for _, need := range needed {
		if has&need == need {
			return true
		}
	}
	return false
}

// needed are the letters of the words that announce secrets.
var needed = func() (sets []uint32) {
	for _, word := range []string{"token", "pas", "pwd", "secret", "key", "credential", "signature", "cookie", "auth", "bearer", "otp", "connectionstring"} {
		set := uint32(0)
		for _, c := range []byte(word) {
			set |= 1 << (c & 31)
		}
		sets = append(sets, set)
	}
	return sets
}()
