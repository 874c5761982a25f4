package desktop

import (
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SingleLine formats untrusted text for a menu or a notification: one line, without control or
// direction characters, at most so many characters.
func SingleLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d':
			return r // joiners between letters, as in Persian and in family emoji
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	return core.OneLine(text, most)
}

// LeftToRight prefixes text that contains right-to-left letters with a left-to-right mark.
// Without it, a sentence of ours that begins with such a name would be laid out right to
// left.
func LeftToRight(text string) string {
	for _, r := range text {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) {
			return "\u200e" + text
		}
	}
	return text
}
