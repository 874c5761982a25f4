package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// minColumnWidth is the minimum width of a column.
const minColumnWidth = 8

// terminalWidth returns the width of the terminal w; 0 if w is not a terminal.
func terminalWidth(w io.Writer) int {
	if t, ok := w.(*terminalWriter); ok {
		w = t.to
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// shrinkToFit shortens columns so that a line is at most limit wide: the right column first, the
// others only if necessary. A limit of 0 means none.
func (t *table) shrinkToFit(widths []int, limit int) {
	excess := (len(widths)-1)*2 - limit
	for _, w := range widths {
		excess += w
	}
	for i := len(widths) - 1; i >= 0 && limit > 0 && excess > 0; i-- {
		if t.whole && i == len(widths)-1 {
			excess -= widths[i] // it wraps
			continue
		}
		cut := min(excess, max(0, widths[i]-minColumnWidth))
		widths[i] -= cut
		excess -= cut
		if cut == 0 {
			continue
		}
		for _, row := range append([][]string{t.head}, t.rows...) {
			if i < len(row) {
				row[i] = truncate(row[i], widths[i])
			}
		}
	}
}
