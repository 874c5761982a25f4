// Package payload encodes the stored form of arguments and replies: each compressed on its own, or
// many of them together in a block.
package payload

import (
	"slices"

	"github.com/klauspost/compress/s2"
)

// Encodings of a stored payload.
const (
	Plain   = 0
	S2      = 2
	InBlock = 3 // the stored payload is a Location in a block
)

const (
	minCompressBytes = 1024      // minimum size in bytes; compressing shorter payloads does not pay
	maxDecompressed  = 128 << 20 // twice the maximum that the configuration allows
)

// Compressor compresses payloads into a buffer that is reused after Reset. Its zero value is ready
// to use. It is not safe for concurrent use.
type Compressor struct {
	buf []byte
}

// maxCompressBuffer is the capacity in bytes above which Reset releases the buffer.
const maxCompressBuffer = 1 << 20

// Compress returns b in its stored encoding, and the encoding. The result is valid until Reset. It
// is nil for an empty payload.
func (c *Compressor) Compress(b []byte) (stored any, enc int64) {
	if len(b) == 0 {
		return nil, Plain
	}
	if len(b) < minCompressBytes {
		return b, Plain
	}
	from := len(c.buf)
	c.buf = slices.Grow(c.buf, s2.MaxEncodedLen(len(b)))
	out := s2.Encode(c.buf[from:cap(c.buf)], b)
	if len(out) > len(b)*4/5 {
		return b, Plain
	}
	c.buf = c.buf[:from+len(out)]
	return out[:len(out):len(out)], S2
}

// Reset invalidates all results of Compress.
func (c *Compressor) Reset() {
	c.buf = c.buf[:0]
	if cap(c.buf) > maxCompressBuffer {
		c.buf = nil
	}
}

// Decompress returns the original payload for a stored encoding other than InBlock.
func Decompress(b []byte, enc int) ([]byte, error) {
	if enc == Plain {
		return b, nil
	}
	if n, err := s2.DecodedLen(b); err != nil || n > maxDecompressed {
		return nil, s2.ErrCorrupt
	}
	return s2.Decode(nil, b)
}
