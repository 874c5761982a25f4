package desktop

import (
	"strings"
	"unicode"
)

// Line makes a server's text fit for a menu or a notification: one line, no control or
// direction characters, at most so many characters.
func Line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d':
			return r // joins or parts the letters beside it, as in Persian and in emoji of families
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
}

// LeftToRight keeps a sentence of ours in its order that begins with a name written from
// right to left: without it the name turns the whole line around.
func LeftToRight(text string) string {
	for _, r := range text {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) {
			return "\u200e" + text
		}
	}
	return text
}
