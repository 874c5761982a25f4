package wire

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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

// fold returns the smallest character that r folds to.
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
