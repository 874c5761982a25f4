package store

import (
	"crypto/sha256"
	"unicode/utf8"
)

// lookAhead is the number of bytes beyond the limit that are searched for secrets, so that a
// secret that crosses the limit is recognized.
const lookAhead = 1024

// appendField appends a payload without its secrets, truncated to most bytes. The Cut is nil if the
// payload was not truncated.
func (r *rules) appendField(dst, src []byte, most int) ([]byte, *Cut) {
	if len(src) <= most {
		return r.secrets.AppendJSON(dst, src), nil
	}
	start := len(dst)
	dst = r.secrets.AppendJSON(dst, src[:min(len(src), most+lookAhead)])
	end := min(len(dst), start+most)
	for end > start && end < len(dst) && !utf8.RuneStart(dst[end]) {
		end--
	}
	hash := sha256.Sum256(src)
	return dst[:end], &Cut{Size: len(src), Hash: hash[:]}
}

// truncateChars returns the first most characters of s.
func truncateChars(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for at := range s {
		if n == most {
			return s[:at]
		}
		n++
	}
	return s
}

func truncateBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
