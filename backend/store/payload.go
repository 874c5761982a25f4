package store

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"io"
	"slices"
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

const (
	encPlain         = 0
	encDeflate       = 1    // written by earlier versions
	encS2            = 2    // encBlock (3) is defined in payload_packing.go
	minCompressBytes = 1024 // minimum size in bytes; compressing shorter payloads does not pay

	maxDecompressed = 128 << 20 // twice the maximum that the configuration allows
)

// compressor compresses payloads into a buffer that is reused after reset. Its zero value is ready
// to use. It is not safe for concurrent use.
type compressor struct {
	buf []byte
}

// maxCompressBuffer is the capacity in bytes above which reset releases the buffer.
const maxCompressBuffer = 1 << 20

// compress returns b in its stored encoding, and the encoding. The result is valid until reset. It
// is nil for an empty payload.
func (p *compressor) compress(b []byte) (stored any, enc int64) {
	if len(b) == 0 {
		return nil, encPlain
	}
	if len(b) < minCompressBytes {
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

func (p *compressor) reset() {
	p.buf = p.buf[:0]
	if cap(p.buf) > maxCompressBuffer {
		p.buf = nil
	}
}

// decompress returns the original payload for its stored encoding.
func decompress(b []byte, enc int) ([]byte, error) {
	switch enc {
	case encPlain:
		return b, nil
	case encS2:
		if n, err := s2.DecodedLen(b); err != nil || n > maxDecompressed {
			return nil, s2.ErrCorrupt
		}
		return s2.Decode(nil, b)
	}
	return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxDecompressed))
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
