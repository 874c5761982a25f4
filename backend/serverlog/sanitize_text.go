package serverlog

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean makes a line safe to display in a terminal or on a web page. It removes terminal escape
// sequences and replaces all other control characters, and all characters that reorder or hide
// text, by \xNN or \u{NNNN}. Tabs are preserved.
func Clean(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := escapeLen(text[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\t':
			b.WriteByte('\t')
		case r < 0x20, r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isHidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// CleanJSON makes text safe to display. It replaces the same characters as Clean by JSON escapes, so
// that JSON text parses to the same value, and keeps line feeds.
func CleanJSON(text []byte) []byte {
	unsafe := func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || isHidden(r)
	}
	if !bytes.ContainsFunc(text, unsafe) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		switch {
		case !unsafe(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// isHidden reports whether r reorders text, joins characters invisibly or has no width:
// bidirectional controls, zero-width characters, line and paragraph separators, and tags.
func isHidden(r rune) bool {
	switch {
	case r == 0x200d: // zero-width joiner, used in emoji
		return false
	case r == 0x2028, r == 0x2029, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// escapeLen returns the length of the terminal escape sequence at the start of s, or 0 if there is
// none: CSI, string sequences such as OSC, and two-character escapes. An unterminated sequence
// extends to the end of the line.
func escapeLen(s string) int {
	start := 0
	var kind byte
	switch {
	case len(s) >= 2 && s[0] == 0x1b:
		kind, start = s[1], 2
	case len(s) >= 2 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f: // C1, as UTF-8
		kind, start = s[1]-0x40, 2
	case s[0] == 0x1b:
		return 1
	default:
		return 0
	}
	switch kind {
	case '[':
		for i := start; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := start; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
				return i + 2
			}
		}
		return len(s)
	}
	if s[0] == 0xc2 {
		return 0 // other C1 controls are displayed by Clean
	}
	if kind >= 0x20 && kind <= 0x2f { // ESC, intermediate bytes, one final byte
		for i := start; i < len(s); i++ {
			if s[i] < 0x20 || s[i] > 0x2f {
				return i + 1
			}
		}
		return len(s)
	}
	if kind >= 0x30 && kind <= 0x7e {
		return 2
	}
	return 1
}
