package redact

import (
	"bytes"
	"strings"
)

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
