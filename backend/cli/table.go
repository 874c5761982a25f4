package cli

import (
	"io"
	"strings"
)

// table prints rows under a header. On a terminal it is a box with a title, otherwise plain columns
// separated by two or more spaces.
type table struct {
	title string
	head  []string
	right []bool // right-aligned columns
	rows  [][]string
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = escapeLine(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(w io.Writer, box bool) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	var b strings.Builder
	if !box {
		t.plain(&b, widths)
	} else {
		t.shrinkToFit(widths, terminalWidth(w))
		t.box(&b, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) plain(b *strings.Builder, widths []int) {
	for _, row := range append([][]string{t.head}, t.rows...) {
		var l strings.Builder
		for i, cell := range row {
			if i > 0 {
				l.WriteString("  ")
			}
			l.WriteString(t.pad(i, cell, widths[i]))
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
}

func (t *table) box(b *strings.Builder, widths []int) {
	inner := len(widths) - 1
	for _, w := range widths {
		inner += w + 2
	}
	if lack := width(t.title) + 4 - inner; lack > 0 {
		widths[len(widths)-1] += lack
		inner += lack
	}
	rule := func(left, between, right string) {
		b.WriteString(left)
		for i, w := range widths {
			if i > 0 {
				b.WriteString(between)
			}
			b.WriteString(strings.Repeat("─", w+2))
		}
		b.WriteString(right + "\n")
	}
	row := func(cells []string) {
		for i, cell := range cells {
			b.WriteString("│ " + t.pad(i, cell, widths[i]) + " ")
		}
		b.WriteString("│\n")
	}
	b.WriteString("╭─ " + t.title + " " + strings.Repeat("─", inner-width(t.title)-3) + "╮\n")
	row(t.head)
	rule("├", "┼", "┤")
	for _, cells := range t.rows {
		row(cells)
	}
	rule("╰", "┴", "╯")
}

func (t *table) pad(column int, cell string, to int) string {
	space := strings.Repeat(" ", max(0, to-width(cell)))
	if column < len(t.right) && t.right[column] {
		return space + cell
	}
	return cell + space
}

// width returns the approximate width of s on a terminal: East Asian and emoji characters take two
// columns, combining ones none.
func width(s string) (n int) {
	for _, c := range s {
		switch {
		case c >= 0x300 && c < 0x370, c == 0x200d, c >= 0xfe00 && c <= 0xfe0f:
		case c >= 0x1100 && c < 0x1160, c >= 0x2e80 && c < 0xa4d0, c >= 0xac00 && c < 0xd7a4, c >= 0xf900 && c < 0xfb00,
			c >= 0xfe30 && c < 0xfe70, c >= 0xff00 && c < 0xff61, c >= 0x1f300 && c < 0x1faff, c >= 0x20000 && c < 0x40000:
			n += 2
		default:
			n++
		}
	}
	return n
}

// truncate cuts s to at most n columns.
func truncate(s string, n int) string {
	s = escapeLine(s)
	if width(s) <= n {
		return s
	}
	cut := []rune(s)
	for len(cut) > 0 && width(string(cut)) > n-1 {
		cut = cut[:len(cut)-1]
	}
	return strings.TrimRight(string(cut), " ") + "…"
}
