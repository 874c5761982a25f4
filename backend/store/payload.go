package store

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
)

// lookAhead is the number of bytes beyond the limit that are searched for secrets, so that a
// secret that crosses the limit is recognized.
const lookAhead = 1024

// appendField appends a payload without its secrets, truncated to maxField bytes. The Cut is nil
// if the payload was not truncated; otherwise it refers to src.
func (r *rules) appendField(dst, src []byte) ([]byte, *Cut) {
	most := r.maxField
	if len(src) <= most {
		return r.appendClean(dst, src), nil
	}
	start := len(dst)
	dst = r.appendClean(dst, src[:min(len(src), most+lookAhead)])
	end := min(len(dst), start+most)
	for end > start && end < len(dst) && !utf8.RuneStart(dst[end]) {
		end--
	}
	return dst[:end], &Cut{Size: len(src), whole: src}
}

// hash computes the hash of the payload and releases it. It is called by the goroutine that writes
// batches, so that calls do not wait for it.
func (c *Cut) hash() {
	if c == nil || c.whole == nil {
		return
	}
	sum := sha256.Sum256(c.whole)
	c.Hash, c.whole = sum[:], nil
}

// letGo releases the payload without computing its hash.
func (c *Cut) letGo() {
	if c != nil {
		c.whole = nil
	}
}

// held returns the number of bytes that wait to be hashed.
func (c *Cut) held() int {
	if c == nil {
		return 0
	}
	return len(c.whole)
}

// appendClean appends JSON text without secrets: those recognized by their name or pattern, those
// with a known value, and those that match the patterns of the configuration.
func (r *rules) appendClean(dst, src []byte) []byte {
	start := len(dst)
	dst = r.known.clean(appendRedacted(dst, src), start)
	return matching(r.patterns, dst, start)
}

// text returns a text that is not JSON without the same kinds of secrets.
func (r *rules) text(s string) string {
	s = redactText(s)
	if r.known == nil && len(r.patterns) == 0 || s == "" {
		return s
	}
	return string(matching(r.patterns, r.known.clean([]byte(s), 0), 0))
}

// name is like text, for the names of tools. Names without secrets are cached, because they recur
// with each call.
func (r *rules) name(s string) string {
	if r.harmless.has(s) {
		return s
	}
	clean := r.text(s)
	if clean == s {
		r.harmless.add(s)
	}
	return clean
}

// harmless caches names that contain no secret. A nil cache is always empty.
type harmless struct {
	names sync.Map
	count atomic.Int32
}

const (
	mostHarmless    = 1024 // maximum number of names; later names are not cached
	longestHarmless = 256  // maximum size of a name in bytes
)

func (h *harmless) has(name string) bool {
	if h == nil || len(name) > longestHarmless {
		return false
	}
	_, ok := h.names.Load(name)
	return ok
}

func (h *harmless) add(name string) {
	if h == nil || len(name) > longestHarmless || h.count.Load() >= mostHarmless {
		return
	}
	if _, there := h.names.LoadOrStore(strings.Clone(name), struct{}{}); !there {
		h.count.Add(1)
	}
}

const (
	encPlain   = 0
	encDeflate = 1    // written by earlier versions
	encS2      = 2    // encTogether (3) is defined in payload_packing.go
	packFrom   = 1024 // minimum size in bytes; compressing shorter payloads does not pay

	maxUnpacked = 128 << 20 // twice the maximum that the configuration allows
)

// packer compresses payloads into a buffer that is reused after reset. Its zero value is ready to
// use. It is not safe for concurrent use.
type packer struct {
	buf []byte
}

// keepPacked is the capacity in bytes above which reset releases the buffer.
const keepPacked = 1 << 20

// pack returns b in its stored encoding, and the encoding. The result is valid until reset. It is
// nil for an empty payload.
func (p *packer) pack(b []byte) (stored any, enc int64) {
	if len(b) == 0 {
		return nil, encPlain
	}
	if len(b) < packFrom {
		return b, encPlain
	}
	from := len(p.buf)
	p.buf = slices.Grow(p.buf, s2.MaxEncodedLen(len(b)))
	out := s2.Encode(p.buf[from:cap(p.buf)], b)
	if len(out) > len(b)*4/5 {
		return b, encPlain
	}
	p.buf = p.buf[:from+len(out)]
	return out[:len(out):len(out)], encS2
}

func (p *packer) reset() {
	p.buf = p.buf[:0]
	if cap(p.buf) > keepPacked {
		p.buf = nil
	}
}

// unpack returns the original payload for its stored encoding.
func unpack(b []byte, enc int) ([]byte, error) {
	switch enc {
	case encPlain:
		return b, nil
	case encS2:
		if n, err := s2.DecodedLen(b); err != nil || n > maxUnpacked {
			return nil, s2.ErrCorrupt
		}
		return s2.Decode(nil, b)
	}
	return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxUnpacked))
}

// cutText returns the first most characters of s.
func cutText(s string, most int) string {
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

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
