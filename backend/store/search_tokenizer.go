package store

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// appendWords appends the searchable text of JSON: the content of strings with their escape
// sequences decoded, numbers and keys. Truncated JSON is processed up to its end. The result for a
// payload must not change without a migration, because an entry of the index is removed by passing
// its original text.
func appendWords(dst, src []byte) []byte {
	for len(src) > 0 {
		n := bytes.IndexByte(src, '\\')
		if n < 0 || n+1 >= len(src) {
			return append(dst, src...)
		}
		dst = append(dst, src[:n]...)
		escape := src[n+1]
		src = src[n+2:]
		if escape != 'u' || len(src) < 4 {
			dst = append(dst, ' ')
			continue
		}
		r, ok := hex4(src[:4])
		if !ok {
			dst = append(dst, ' ')
			continue
		}
		src = src[4:]
		if low, ok := lowSurrogate(src); ok && r >= 0xd800 && r < 0xdc00 {
			r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
			src = src[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func lowSurrogate(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r, ok := hex4(b[2:6])
	return r, ok && r >= 0xdc00 && r < 0xe000
}

func hex4(b []byte) (r rune, ok bool) {
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// appendCallWords appends the searchable text of a call.
func appendCallWords(dst []byte, c callWords, args, reply []byte) []byte {
	for _, s := range []string{c.server, c.name, c.publicName, c.client, c.reason} {
		dst = append(dst, s...)
		dst = append(dst, ' ')
	}
	dst = appendWords(dst, args)
	dst = append(dst, ' ')
	return appendWords(dst, reply)
}

type callWords struct{ server, name, publicName, client, reason string }

// word is one word of a full-text query.
type word struct {
	text   string // folded to lower case
	prefix bool   // written as word*: matches all words that begin with text
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Mn, r)
}

// maxWords is the maximum number of words of a query; others are ignored.
const maxWords = 32

// parseWords splits a query into words in the same way as the tokenizer of the index.
func parseWords(query string) []word {
	var out []word
	rest := query
	for rest != "" && len(out) < maxWords {
		start := strings.IndexFunc(rest, isWordRune)
		if start < 0 {
			break
		}
		rest = rest[start:]
		end := strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) })
		if end < 0 {
			end = len(rest)
		}
		w := word{text: strings.ToLower(rest[:end])}
		rest = rest[end:]
		w.prefix = strings.HasPrefix(rest, "*")
		out = append(out, w)
	}
	return out
}

// ftsQuery returns an FTS5 query that matches texts with all words.
func ftsQuery(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		b.WriteString(w.text)
		b.WriteByte('"')
		if w.prefix {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// containsWords reports whether text, in lower case, contains all words.
func containsWords(text []byte, words []word) bool {
	for _, w := range words {
		if !containsWord(text, w) {
			return false
		}
	}
	return true
}

func containsWord(text []byte, w word) bool {
	for at := 0; at < len(text); {
		n := bytes.Index(text[at:], []byte(w.text))
		if n < 0 {
			return false
		}
		start := at + n
		end := start + len(w.text)
		before, _ := utf8.DecodeLastRune(text[:start])
		after, _ := utf8.DecodeRune(text[end:])
		if (start == 0 || !isWordRune(before)) && (w.prefix || end == len(text) || !isWordRune(after)) {
			return true
		}
		at = end
	}
	return false
}
