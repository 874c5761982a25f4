package store

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"io"
	"unicode/utf8"
)

// lookAhead is how much beyond the cut is read for secrets, so that one that lies
// across the cut is recognised.
const lookAhead = 1024

// appendField appends what is kept of a payload: without secrets, cut at most bytes.
func appendField(dst, src []byte, most int) ([]byte, *Cut) {
	if len(src) <= most {
		return appendRedacted(dst, src), nil
	}
	sum := sha256.Sum256(src)
	start := len(dst)
	dst = appendRedacted(dst, src[:min(len(src), most+lookAhead)])
	end := min(len(dst), start+most)
	for end > start && end < len(dst) && !utf8.RuneStart(dst[end]) {
		end--
	}
	return dst[:end], &Cut{Size: len(src), Hash: sum[:]}
}

const (
	encPlain   = 0
	encDeflate = 1
	packFrom   = 1024 // shorter payloads gain nothing

	maxUnpacked = 128 << 20 // twice what the configuration allows
)

// deflater packs payloads for the disk. Its zero value is ready; one goroutine uses it.
type deflater struct {
	w *flate.Writer
}

// pack returns b as it is stored. nil stays nil.
func (d *deflater) pack(b []byte) ([]byte, int) {
	if len(b) == 0 {
		return nil, encPlain
	}
	if len(b) < packFrom {
		return b, encPlain
	}
	var out bytes.Buffer
	if d.w == nil {
		d.w, _ = flate.NewWriter(&out, flate.BestSpeed) // the level is valid
	} else {
		d.w.Reset(&out)
	}
	_, err := d.w.Write(b)
	if err == nil {
		err = d.w.Close()
	}
	if err != nil || out.Len() > len(b)*4/5 {
		return b, encPlain
	}
	return out.Bytes(), encDeflate
}

// unpack returns a stored payload as it was recorded.
func unpack(b []byte, enc int) ([]byte, error) {
	if enc == encPlain {
		return b, nil
	}
	return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxUnpacked))
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
