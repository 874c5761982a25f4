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

// lookAhead is how much beyond the cut is read for secrets, so that one that lies
// across the cut is recognised.
const lookAhead = 1024

// appendField appends what is kept of a payload: without secrets, cut at maxField bytes.
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

// hash fills in the hash of the whole, which is let go. It is for the writer: a call
// does not wait for it.
func (c *Cut) hash() {
	if c == nil || c.whole == nil {
		return
	}
	sum := sha256.Sum256(c.whole)
	c.Hash, c.whole = sum[:], nil
}

// letGo leaves the hash out.
func (c *Cut) letGo() {
	if c != nil {
		c.whole = nil
	}
}

// held is how many bytes wait to be hashed.
func (c *Cut) held() int {
	if c == nil {
		return 0
	}
	return len(c.whole)
}

// appendClean appends JSON text without secrets: those that are recognised by their
// name or shape, those whose values we know, and what the configuration says.
func (r *rules) appendClean(dst, src []byte) []byte {
	start := len(dst)
	dst = r.known.clean(appendRedacted(dst, src), start)
	return matching(r.patterns, dst, start)
}

// text takes the same secrets out of a text that is not JSON.
func (r *rules) text(s string) string {
	s = redactText(s)
	if r.known == nil && len(r.patterns) == 0 || s == "" {
		return s
	}
	return string(matching(r.patterns, r.known.clean([]byte(s), 0), 0))
}

// name is text for the name of a tool, which comes again with its next call.
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

// harmless are names in which there is no secret. Nil has none.
type harmless struct {
	names sync.Map
	count atomic.Int32
}

const (
	mostHarmless    = 1024 // names, then those that are there stay
	longestHarmless = 256  // bytes of one
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
	encDeflate = 1    // of earlier versions
	encS2      = 2    // encTogether is 3
	packFrom   = 1024 // shorter payloads gain nothing

	maxUnpacked = 128 << 20 // twice what the configuration allows
)

// packer packs payloads for the disk into a buffer that it uses again after reset.
// Its zero value is ready; one goroutine uses it.
type packer struct {
	buf []byte
}

// keepPacked is the largest buffer that is kept.
const keepPacked = 1 << 20

// pack returns b as it is stored, and how, valid until reset: nil for nothing.
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

// unpack returns a stored payload as it was recorded.
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

// cutText keeps the first most characters.
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
