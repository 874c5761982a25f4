package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// MaxDepth is the maximum nesting depth of a message. It protects every later parser.
const MaxDepth = 500

// JSON-RPC error codes that this package itself uses.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // JSON, but not a message we accept
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeRefused        = -32000 // a request of a server that no client can handle
)

// Error is the reason why a message was refused. It contains no payload.
type Error struct {
	Code   int    // CodeParse or CodeInvalidRequest
	Offset int    // in bytes from the start of the scanned text
	Reason string // a fixed phrase, safe to show
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// scanner validates JSON in one pass and allocates only its error.
type scanner struct {
	b []byte
	// newline: CR or LF occurs between tokens. broken: a string contains invalid
	// UTF-8 or a lone surrogate escape.
	newline, invalidUnicode bool
}

func (s *scanner) parseError(at int, reason string) (int, error) {
	return at, &Error{Code: CodeParse, Offset: at, Reason: reason}
}

func (s *scanner) invalidRequest(at int, reason string) error {
	return &Error{Code: CodeInvalidRequest, Offset: at, Reason: reason}
}

// space returns the index of the first byte at or after i that is not white space.
func (s *scanner) space(i int) int {
	for i < len(s.b) {
		switch s.b[i] {
		case ' ', '\t':
		case '\r', '\n':
			s.newline = true
		default:
			return i
		}
		i++
	}
	return i
}

// value validates the value that starts at i and returns the index after it.
func (s *scanner) value(i, depth int) (int, error) {
	if i >= len(s.b) {
		return s.parseError(i, "unexpected end")
	}
	switch c := s.b[i]; {
	case c == '"':
		return s.str(i)
	case c == '{':
		return s.object(i, depth)
	case c == '[':
		return s.array(i, depth)
	case c == '-' || '0' <= c && c <= '9':
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return s.parseError(i, "not a JSON value")
}

func (s *scanner) literal(i int, word string) (int, error) {
	if len(s.b)-i < len(word) || string(s.b[i:i+len(word)]) != word {
		return s.parseError(i, "not a JSON value")
	}
	return i + len(word), nil
}

func (s *scanner) number(i int) (int, error) {
	b := s.b
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && '1' <= b[i] && b[i] <= '9':
		i = digits(b, i)
	default:
		return s.parseError(i, "number without digits")
	}
	if i < len(b) && b[i] == '.' {
		from := i + 1
		if i = digits(b, from); i == from {
			return s.parseError(i, "number without digits after the point")
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from := i
		if i = digits(b, from); i == from {
			return s.parseError(i, "number without digits in the exponent")
		}
	}
	return i, nil
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// plainBytes marks the bytes that need no escape inside a string.
var plainBytes = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// skipPlain returns the index of the first byte at or after i that is not plain.
// It tests eight bytes at a time, because most of the input is strings.
func skipPlain(b []byte, i int) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		// The top bit of a byte is set where the byte is below 0x20, a quote, a
		// backslash or not ASCII. Borrows can only set bits above a true hit.
		hit := ((w - ones*0x20) | (quote - ones) | (slash - ones) | w) & high
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
		i += 8
	}
	for i < len(b) && plainBytes[b[i]] {
		i++
	}
	return i
}

// str validates the string whose quote is at i and returns the index after it.
func (s *scanner) str(i int) (int, error) {
	b := s.b
	i++
	for {
		i = skipPlain(b, i)
		if i >= len(b) {
			return s.parseError(i, "unterminated string")
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			next, lone, ok := escape(b, i)
			if !ok {
				return s.parseError(i, "bad escape in a string")
			}
			s.invalidUnicode = s.invalidUnicode || lone
			i = next
		case c < 0x20:
			return s.parseError(i, "control character in a string")
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				s.invalidUnicode = true
			}
			i += n
		}
	}
}

// escape reads the escape at i. lone is true for half of a surrogate pair without the other half; a
// pair is read as one escape.
func escape(b []byte, i int) (next int, lone, ok bool) {
	if i+1 >= len(b) {
		return i, false, false
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, false, true
	case 'u':
		r, ok := hex4(b, i+2)
		if !ok {
			return i, false, false
		}
		if r < 0xD800 || r > 0xDFFF {
			return i + 6, false, true
		}
		if r < 0xDC00 && i+7 < len(b) && b[i+6] == '\\' && b[i+7] == 'u' {
			if low, ok := hex4(b, i+8); ok && 0xDC00 <= low && low <= 0xDFFF {
				return i + 12, false, true
			}
		}
		return i + 6, true, true
	}
	return i, false, false
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func (s *scanner) array(i, depth int) (int, error) {
	if depth >= MaxDepth {
		return i, s.invalidRequest(i, "nested too deeply")
	}
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = s.value(i, depth+1); err != nil {
			return i, err
		}
		i = s.space(i)
		if i >= len(s.b) {
			return s.parseError(i, "unterminated array")
		}
		switch s.b[i] {
		case ',':
			i = s.space(i + 1)
		case ']':
			return i + 1, nil
		default:
			return s.parseError(i, "no comma between array elements")
		}
	}
}

// object validates an object of a payload, with any keys.
func (s *scanner) object(i, depth int) (int, error) {
	if depth >= MaxDepth {
		return i, s.invalidRequest(i, "nested too deeply")
	}
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, nil
	}
	for {
		_, value, err := s.key(i)
		if err != nil {
			return value, err
		}
		if i, err = s.value(value, depth+1); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = s.memberEnd(i); err != nil || done {
			return i, err
		}
	}
}

// key reads the key of a member at i. It returns the span of the key with its quotes and the index
// where the value starts.
func (s *scanner) key(i int) (key core.Span, value int, err error) {
	if i >= len(s.b) {
		value, err = s.parseError(i, "unterminated object")
		return key, value, err
	}
	if s.b[i] != '"' {
		value, err = s.parseError(i, "object key is not a string")
		return key, value, err
	}
	end, err := s.str(i)
	if err != nil {
		return key, end, err
	}
	key = core.Span{Start: i, End: end}
	if i = s.space(end); i >= len(s.b) || s.b[i] != ':' {
		value, err = s.parseError(i, "no colon after an object key")
		return key, value, err
	}
	return key, s.space(i + 1), nil
}

// memberEnd steps over what follows a member: a comma (and the next key is at the
// returned index) or the closing brace (done, and the index is after it).
func (s *scanner) memberEnd(i int) (next int, done bool, err error) {
	i = s.space(i)
	if i >= len(s.b) {
		next, err = s.parseError(i, "unterminated object")
		return next, false, err
	}
	switch s.b[i] {
	case ',':
		return s.space(i + 1), false, nil
	case '}':
		return i + 1, true, nil
	}
	next, err = s.parseError(i, "no comma between object members")
	return next, false, err
}
