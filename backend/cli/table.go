package cli

import (
	"strings"

	"github.com/rivo/uniseg"
)

// table is text in columns. Cells hold no line breaks.
type table struct {
	title string
	head  []string
	rows  [][]string
}

// String draws the table: boxed and titled for a terminal, else plain columns with
// two spaces between them, for grep and awk.
func (t table) String(box bool) string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var b strings.Builder
	if !box {
		for _, row := range append([][]string{t.head}, t.rows...) {
			b.WriteString(strings.TrimRight(line(row, widths, "", "  ", ""), " ") + "\n")
		}
		return b.String()
	}
	inner := 3*len(widths) - 1
	for _, w := range widths {
		inner += w
	}
	side := max(0, inner-uniseg.StringWidth(t.title)-2)
	b.WriteString("╭" + strings.Repeat("─", side/2) + " " + t.title + " " + strings.Repeat("─", side-side/2) + "╮\n")
	b.WriteString(line(t.head, widths, "│ ", " │ ", " │") + "\n")
	b.WriteString(rule(widths, "├", "┼", "┤") + "\n")
	for _, row := range t.rows {
		b.WriteString(line(row, widths, "│ ", " │ ", " │") + "\n")
	}
	b.WriteString(rule(widths, "╰", "┴", "╯") + "\n")
	return b.String()
}

func line(row []string, widths []int, left, between, right string) string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = cell + strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
	}
	return left + strings.Join(cells, between) + right
}

func rule(widths []int, left, between, right string) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w+2)
	}
	return left + strings.Join(parts, between) + right
}
