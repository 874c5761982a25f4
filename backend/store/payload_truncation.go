package store

import (
	"crypto/sha256"
	"unicode/utf8"
)

// lookAhead is the number of bytes beyond the limit that are searched for secrets, so that a
// secret that crosses the limit is recognized.
const lookAhead = 1024

// appendField appends a payload without its secrets, truncated to most bytes. The Cut is nil if the
// payload was not truncated; otherwise it refers to src.
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
	return dst[:end], &Cut{Size: len(src), full: src}
}

// hash computes the hash of the payload and releases it. It is called by the goroutine that writes
// batches, so that calls do not wait for it.
func (c *Cut) hash() {
	if c == nil || c.full == nil {
		return
	}
	sum := sha256.Sum256(c.full)
	c.Hash, c.full = sum[:], nil
}

// dropUnhashed releases the payload without computing its hash.
func (c *Cut) dropUnhashed() {
	if c != nil {
		c.full = nil
	}
}

// unhashed returns the number of bytes that wait to be hashed.
func (c *Cut) unhashed() int {
	if c == nil {
		return 0
	}
	return len(c.full)
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
