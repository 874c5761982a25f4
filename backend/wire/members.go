package wire

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Member is one member of an object.
type Member struct {
	Name       []byte    // the decoded key; valid during the visit only
	Key, Value core.Span // raw, the key with its quotes
}

// members validates the object at i, whose keys must be unique, calls visit for every member, and
// returns the index after the object.
func (s *scanner) members(i, depth int, visit func(Member) error) (int, error) {
	var keys keySet
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, from, err := s.key(i)
		if err != nil {
			return from, err
		}
		if err := keys.add(s, key); err != nil {
			return i, err
		}
		if i, err = s.value(from, depth); err != nil {
			return i, err
		}
		m := Member{Name: s.b[key.Start+1 : key.End-1], Key: key, Value: core.Span{Start: from, End: i}}
		if skipPlain(m.Name, 0) < len(m.Name) {
			text, _ := Unquote(s.b[key.Start:key.End])
			m.Name = []byte(text)
		}
		if err := visit(m); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = s.memberEnd(i); err != nil || done {
			return i, err
		}
	}
}

// Members validates obj as one object with unique keys, as ScanParams does, and calls visit for
// every member. It stops at an error of visit and returns it.
func Members(obj []byte, visit func(Member) error) error {
	s := scanner{b: obj}
	i := s.space(0)
	if i >= len(obj) || obj[i] != '{' {
		return &Error{Code: CodeInvalidRequest, Offset: i, Reason: "not an object"}
	}
	i, err := s.members(i, 1, visit)
	if err == nil && s.space(i) < len(obj) {
		_, err = s.parseError(i, "more than one value")
	}
	return err
}

// Pick validates obj as Members does, and returns the values of the members with these names, in the
// order of names. The span of a missing member is empty.
func Pick(obj []byte, names ...string) ([]core.Span, error) {
	values := make([]core.Span, len(names))
	err := Members(obj, func(m Member) error {
		for i, name := range names {
			if string(m.Name) == name {
				values[i] = m.Value
			}
		}
		return nil
	})
	return values, err
}

// WithoutMember returns a copy of obj without the member name. The other members keep their bytes.
func WithoutMember(obj []byte, name string) ([]byte, error) {
	out := []byte{'{'}
	err := Members(obj, func(m Member) error {
		if string(m.Name) == name {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, Bytes(obj, m.Key)...), ':')
		out = append(out, Bytes(obj, m.Value)...)
		return nil
	})
	return append(out, '}'), err
}

// Elements validates list as one array and calls visit for every element. It stops at an error of
// visit and returns it.
func Elements(list []byte, visit func(element core.Span) error) error {
	s := scanner{b: list}
	i := s.space(0)
	if i >= len(list) || list[i] != '[' {
		return &Error{Code: CodeInvalidRequest, Offset: i, Reason: "not an array"}
	}
	i = s.space(i + 1)
	for done := i < len(list) && list[i] == ']'; !done; {
		from := i
		var err error
		if i, err = s.value(i, 1); err != nil {
			return err
		}
		if err := visit(core.Span{Start: from, End: i}); err != nil {
			return err
		}
		if i = s.space(i); i >= len(list) {
			_, err = s.parseError(i, "unterminated array")
			return err
		}
		switch list[i] {
		case ',':
			i = s.space(i + 1)
		case ']':
			done = true
		default:
			_, err = s.parseError(i, "no comma between array elements")
			return err
		}
	}
	if s.space(i+1) < len(list) {
		_, err := s.parseError(i+1, "more than one value")
		return err
	}
	return nil
}

// EqualJSON reports whether a text is a JSON value, apart from white space between tokens. It
// validates neither, and does not allocate.
func EqualJSON(text string, value []byte) bool {
	i, j, inString := 0, 0, false
	for {
		if !inString {
			for i < len(text) && isSpace(text[i]) {
				i++
			}
			for j < len(value) && isSpace(value[j]) {
				j++
			}
		}
		switch {
		case i == len(text) || j == len(value):
			return i == len(text) && j == len(value)
		case text[i] != value[j]:
			return false
		case inString && text[i] == '\\':
			i, j = i+1, j+1
			if i == len(text) || j == len(value) || text[i] != value[j] {
				return false
			}
		case text[i] == '"':
			inString = !inString
		}
		i, j = i+1, j+1
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

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

// maxKeys limits the members of the few objects whose keys are compared.
const maxKeys = 128

// keySet finds duplicate keys, including keys that differ only by escapes or by case folding,
// which a parser that ignores case would treat as one. The zero keySet is empty. It does not
// allocate for objects of usual size.
type keySet struct {
	inline   [12]core.Span
	n        int
	overflow []core.Span
}

func (k *keySet) add(s *scanner, key core.Span) error {
	b := s.b[key.Start+1 : key.End-1]
	if bytes.IndexByte(b, '\\') >= 0 && hasNUL(b) {
		return s.invalidRequest(key.Start, "a key with U+0000")
	}
	for _, other := range k.inline[:k.n] {
		if foldEqual(b, s.b[other.Start+1:other.End-1]) {
			return s.invalidRequest(key.Start, "a key that occurs twice")
		}
	}
	for _, other := range k.overflow {
		if foldEqual(b, s.b[other.Start+1:other.End-1]) {
			return s.invalidRequest(key.Start, "a key that occurs twice")
		}
	}
	if k.n < len(k.inline) {
		k.inline[k.n] = key
		k.n++
		return nil
	}
	if len(k.overflow) >= maxKeys {
		return s.invalidRequest(key.Start, "too many keys")
	}
	k.overflow = append(k.overflow, key)
	return nil
}

// hasNUL reports whether the inside of a valid string literal spells U+0000. A raw
// NUL cannot occur in one.
func hasNUL(b []byte) bool {
	for i := 0; i < len(b); {
		r, n := nextRune(b, i)
		if r == 0 {
			return true
		}
		i += n
	}
	return false
}

// nextRune decodes the character at i of the inside of a valid string literal.
func nextRune(b []byte, i int) (rune, int) {
	if b[i] != '\\' {
		if b[i] < utf8.RuneSelf {
			return rune(b[i]), 1
		}
		return utf8.DecodeRune(b[i:])
	}
	switch c := b[i+1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, _ := hex4(b, i+2)
		next, lone, _ := escape(b, i)
		switch {
		case lone:
			return utf8.RuneError, 6
		case next == i+12:
			low, _ := hex4(b, i+8)
			return (r-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12
		}
		return r, 6
	default:
		return rune(c), 2
	}
}

// foldEqual compares the insides of two valid string literals, decoded and
// without regard to case (Unicode simple folding).
func foldEqual(a, b []byte) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		ra, na := nextRune(a, i)
		rb, nb := nextRune(b, j)
		if ra != rb && fold(ra) != fold(rb) {
			return false
		}
		i, j = i+na, j+nb
	}
	return i == len(a) && j == len(b)
}

func fold(r rune) rune {
	if r < utf8.RuneSelf && r != 'k' && r != 'K' && r != 's' && r != 'S' {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// foldsToAny reports whether a name, which is none of names byte for byte, is one
// of them decoded or folded.
func foldsToAny(name []byte, names []string) bool {
	for _, want := range names {
		if foldEqualString(name, want) {
			return true
		}
	}
	return false
}

func foldEqualString(a []byte, want string) bool {
	i := 0
	for _, r := range want {
		if i >= len(a) {
			return false
		}
		ra, n := nextRune(a, i)
		if ra != r && fold(ra) != fold(r) {
			return false
		}
		i += n
	}
	return i == len(a)
}
