// Package fulltext produces the searchable text of JSON, and full-text queries for SQLite's FTS5
// with its tokenizer unicode61.
package fulltext

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendText appends the searchable text of JSON: the content of strings with their escape
// sequences decoded, numbers and keys. Truncated JSON is processed up to its end. The result for a
// payload must not change without a migration, because an entry of the index is removed by passing
// its original text.
func AppendText(dst, src []byte) []byte {
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

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Mn, r)
}

// maxWords is the maximum number of words of a query; others are ignored.
const maxWords = 32

// Word is a word of a query.
type Word struct {
	Text   string
	Prefix bool // matches all words that begin with Text
}

// Words returns the words of a query, at most maxWords. It splits the query in the same way as the
// tokenizer of the index. A word that is followed by * is a prefix.
func Words(query string) (words []Word) {
	for rest := query; len(words) < maxWords; {
		start := strings.IndexFunc(rest, isWordRune)
		if start < 0 {
			break
		}
		rest = rest[start:]
		end := strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) })
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = rest[end:]
		words = append(words, Word{word, strings.HasPrefix(rest, "*")})
	}
	return words
}

// MatchExpression returns an FTS5 query that matches texts with all words of a query, or "" if it
// has none.
func MatchExpression(query string) string {
	var b strings.Builder
	for _, w := range Words(query) {
		b.WriteString(` "` + w.Text + `"`)
		if w.Prefix {
			b.WriteByte('*')
		}
	}
	return strings.TrimSpace(b.String())
}

// Find returns the position of the first occurrence of the word in text, or -1. Case is ignored.
func (w Word) Find(text []byte) int {
	inWord := false
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		was := inWord
		inWord = isWordRune(r)
		if inWord && !was && w.begins(text[at:]) {
			return at
		}
		at += size
	}
	return -1
}

// begins reports whether the first word of text matches w.
func (w Word) begins(text []byte) bool {
	for _, want := range w.Text {
		r, size := utf8.DecodeRune(text)
		if r != want && unicode.ToLower(r) != unicode.ToLower(want) || size == 0 {
			return false
		}
		text = text[size:]
	}
	r, size := utf8.DecodeRune(text)
	return w.Prefix || size == 0 || !isWordRune(r)
}
