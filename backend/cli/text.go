package cli

import (
	"strings"

	"github.com/rivo/uniseg"
)

// short cuts text to a number of columns, on one line.
func short(text string, columns int) string {
	text = strings.Join(strings.Fields(text), " ")
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	var b strings.Builder
	width := 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if width+g.Width() > columns-1 {
			break
		}
		width += g.Width()
		b.WriteString(g.Str())
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

func withNewline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func eachLine(text string, f func(string) string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = f(lines[i])
	}
	return strings.Join(lines, "\n")
}
