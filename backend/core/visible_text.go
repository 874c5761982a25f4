package core

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible replaces invisible and control characters other than line breaks and tabs by escapes such
// as ⟨U+200B⟩.
func Visible(text string) string {
	if !strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && (InvisibleClass(c) != "" || unicode.IsControl(c)) }) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\n' || c == '\t':
			b.WriteRune(c)
		case InvisibleClass(c) != "" || unicode.IsControl(c):
			if c >= 0xE0020 && c <= 0xE007E {
				fmt.Fprintf(&b, "⟨tag %c⟩", c-0xE0000)
			} else {
				fmt.Fprintf(&b, "⟨U+%04X⟩", c)
			}
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// InvisibleClass returns the class of an invisible character, or "" for any other character.
func InvisibleClass(c rune) string {
	switch {
	case c >= 0xE0000 && c <= 0xE007F:
		return "tag"
	case c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069:
		return "direction"
	case c == 0x200B, c == 0x2060, c == 0x180E, c == 0xFEFF, c >= 0x2061 && c <= 0x2064:
		return "zero-width"
	case c == 0x200C, c == 0x200D:
		return "joiner"
	case c >= 0xFE00 && c <= 0xFE0F, c >= 0xE0100 && c <= 0xE01EF:
		return "variation"
	case c == 0x115F, c == 0x1160, c == 0x3164, c == 0xFFA0:
		return "blank letter"
	case c == 0x1B, c == 0x9B, c == 0x08, c == 0x7F:
		return "terminal control"
	}
	return ""
}

// Lookalikes maps Cyrillic and Greek letters to the Latin letters that they look like.
var Lookalikes = func() map[rune]rune {
	m := map[rune]rune{}
	from, to := []rune("аеорсухікјѕһԁԛԝАВЕКМНОРСТХІЈЅαοινρτυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"), []rune("aeopcyxikjshdqwABEKMHOPCTXIJSaoivptukABEZHIKMNOPTYX")
	for i, c := range from {
		m[c] = to[i]
	}
	return m
}()
