package wire

import (
	"strconv"
	"unicode/utf8"

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

// AppendNotification appends a notification. params is raw and may be empty.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendMethod(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends a response with a result. id and result are raw.
func AppendResult(dst, id, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends a response with an error. id and data are raw; an empty id
// becomes null, empty data is omitted.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	return AppendErrorObject(dst, id, ErrorObject(code, message, data))
}

// AppendErrorObject appends a response whose error object is given raw.
func AppendErrorObject(dst, id, object []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"error":`...)
	dst = append(dst, object...)
	return append(dst, '}')
}

// ErrorObject makes a JSON-RPC error object. data is raw and may be empty.
func ErrorObject(code int, message string, data []byte) []byte {
	dst := append([]byte(nil), `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, message)
	if len(data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, '}')
}

// Compact appends src, which must be valid JSON, without white space between tokens and with U+FFFD
// in place of invalid Unicode in strings. Otherwise tokens keep their spelling.
func Compact(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		switch src[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			dst, i = appendRepaired(dst, src, i)
		default:
			dst = append(dst, src[i])
			i++
		}
	}
	return dst
}

// appendRepaired appends the string literal at i and returns the index after it.
func appendRepaired(dst, src []byte, i int) ([]byte, int) {
	dst = append(dst, '"')
	i++
	for i < len(src) {
		from := i
		i = skipPlain(src, i)
		dst = append(dst, src[from:i]...)
		if i == len(src) {
			break
		}
		switch {
		case src[i] == '"':
			return append(dst, '"'), i + 1
		case src[i] == '\\':
			next, lone, ok := escape(src, i)
			switch {
			case !ok: // not valid JSON: keep it unchanged
				dst = append(dst, src[i])
				next = i + 1
			case lone:
				dst = append(dst, `\ufffd`...)
			default:
				dst = append(dst, src[i:next]...)
			}
			i = next
		default:
			r, n := utf8.DecodeRune(src[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst, i
}
