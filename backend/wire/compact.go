package wire

import "unicode/utf8"

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
