package store

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
