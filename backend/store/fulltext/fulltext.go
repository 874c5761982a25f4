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

// MatchExpression returns an FTS5 query that matches texts with all words of a query, or "" if it has
// none. It splits the query into words in the same way as the tokenizer of the index. A word that
// is followed by * matches all words with this prefix.
func MatchExpression(query string) string {
	var b strings.Builder
	for rest, n := query, 0; n < maxWords; n++ {
		start := strings.IndexFunc(rest, isWordRune)
		if start < 0 {
			break
		}
		rest = rest[start:]
		end := strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) })
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(` "` + rest[:end] + `"`)
		rest = rest[end:]
		if strings.HasPrefix(rest, "*") {
			b.WriteByte('*')
		}
	}
	return strings.TrimSpace(b.String())
}
