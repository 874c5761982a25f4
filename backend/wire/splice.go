package wire

import (
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Edit replaces the bytes of Span by With. A span whose Start equals its End inserts.
type Edit struct {
	Span core.Span
	With []byte
}

// Splice appends src to dst with the edits done and returns the extended slice.
// Edits must be in order, must not overlap and must lie inside src; anything else
// is a programming error and panics. Bytes outside of the edits are unchanged.
func Splice(dst, src []byte, edits ...Edit) []byte {
	at := 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start {
			panic("wire: edits overlap or are out of order")
		}
		dst = append(dst, src[at:e.Span.Start]...)
		dst = append(dst, e.With...)
		at = e.Span.End
	}
	return append(dst, src[at:]...)
}
