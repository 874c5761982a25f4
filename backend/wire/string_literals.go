package wire

import (
	"unicode/utf8"
)

// Unquote decodes a valid string literal including its quotes; ok is false if raw is anything else.
// Invalid UTF-8 and lone surrogates become U+FFFD.
func Unquote(raw []byte) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	inside := raw[1 : len(raw)-1]
	if skipPlain(inside, 0) == len(inside) {
		return string(inside), true
	}
	out := make([]byte, 0, len(inside))
	for i := 0; i < len(inside); {
		r, n := nextRune(inside, i)
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out), true
}

// AppendString appends text as a string literal.
func AppendString(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
