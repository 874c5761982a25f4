package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// Table prints rows under a header, in columns separated by two or more spaces. On a terminal it
// begins with a title, and its longest columns are shortened so that a line fits.
type Table struct {
	Title string // may contain %d: the number of rows
	Empty string // printed instead of a table without rows; "" prints the table
	Head  []string
	Right []bool // right-aligned columns, which are never shortened
	Keep  []bool // columns that are never shortened: what is typed in the next command, and states
	Wrap  bool   // the last column continues on further lines instead of being shortened
	Rows  [][]string
}

// Add adds a row and escapes its cells. A column that wraps keeps its spaces.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		if t.Wrap && i == len(cells)-1 {
			cells[i] = strings.ReplaceAll(EscapeText(cells[i]), "\n", " ")
		} else {
			cells[i] = EscapeLine(cells[i])
		}
	}
	t.Rows = append(t.Rows, cells)
}

// PrintTable prints a table, or what it says instead of an empty one.
func (e *Env) PrintTable(t *Table) error {
	if len(t.Rows) == 0 && t.Empty != "" {
		_, err := fmt.Fprintln(e.Stdout, t.Empty)
		return err
	}
	columns := 0
	if e.Terminal() {
		if columns, _ = strconv.Atoi(e.Getenv("COLUMNS")); columns <= 0 {
			columns = terminalWidth(e.Stdout)
		}
	}
	return t.print(e.Stdout, e.Terminal(), columns)
}

// PrintList prints a list of the API with --json, otherwise a table with one row for each item.
func PrintList[T any](e *Env, items []T, t Table, row func(T) []string) error {
	return PrintRows(e, web.List[T]{Items: items}, items, t, row)
}

// PrintRows is printList with another document for --json.
func PrintRows[T any](e *Env, document any, items []T, t Table, row func(T) []string) error {
	if e.JSON {
		return e.PrintJSON(document)
	}
	for _, one := range items {
		t.Add(row(one)...)
	}
	return e.PrintTable(&t)
}

func (t *Table) print(w io.Writer, terminal bool, columns int) error {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var b strings.Builder
	t.shrinkToFit(widths, columns)
	if terminal {
		title := strings.ReplaceAll(t.Title, "%d", strconv.Itoa(len(t.Rows)))
		if len(t.Rows) == 1 {
			title = strings.TrimSuffix(title, "s")
		}
		if title != "" {
			b.WriteString(title + "\n")
		}
	}
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for rest := ""; ; row = append(make([]string, len(row)-1), rest) {
			var l strings.Builder
			rest = ""
			for i, cell := range row {
				if i > 0 {
					l.WriteString("  ")
				}
				if t.Wrap && i == len(row)-1 {
					cell, rest = splitLine(cell, widths[i])
				} else if uniseg.StringWidth(cell) > widths[i] {
					cell = Truncate(cell, widths[i])
				}
				l.WriteString(t.pad(i, cell, widths[i]))
			}
			b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
			if rest == "" {
				break
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// splitLine splits s after at most n columns, if possible after a space.
func splitLine(s string, n int) (line, rest string) {
	cut, used := 0, 0
	for rest, state := s, -1; rest != ""; {
		at := len(s) - len(rest)
		var cluster string
		var columns int
		cluster, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used += columns; used > n && cluster != " " {
			if cut == 0 {
				cut = max(at, len(cluster))
			}
			return s[:cut], s[cut:]
		}
		if cluster == " " {
			cut = len(s) - len(rest)
		}
	}
	return s, ""
}

func (t *Table) pad(column int, cell string, to int) string {
	space := strings.Repeat(" ", max(0, to-uniseg.StringWidth(cell)))
	if isSet(t.Right, column) {
		return space + cell
	}
	return cell + space
}

func isSet(columns []bool, i int) bool { return i < len(columns) && columns[i] }

// Truncate cuts s to at most n columns.
func Truncate(s string, n int) string {
	s = EscapeLine(s)
	fits, used := 0, 0 // fits is the length of what leaves one column for the ellipsis
	for rest, state := s, -1; rest != ""; {
		if used < n {
			fits = len(s) - len(rest)
		}
		var columns int
		_, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used += columns; used > n {
			return strings.TrimRight(s[:fits], " ") + "…"
		}
	}
	return s
}

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

// shrinkToFit reduces the widths of the widest columns so that a line is at most limit wide. A limit
// of 0 means none.
func (t *Table) shrinkToFit(widths []int, limit int) {
	excess := (len(widths)-1)*2 - limit
	for _, w := range widths {
		excess += w
	}
	for ; limit > 0 && excess > 0; excess-- {
		widest, width := -1, minColumnWidth
		for i, w := range widths {
			if w > width && !isSet(t.Right, i) && !isSet(t.Keep, i) {
				widest, width = i, w
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// terminalWriter escapes control characters and characters that reorder or hide text before they reach
// a terminal, whatever command writes them and in whatever format. The escapes are those of JSON, so that
// JSON stays valid. What is written to a file or a pipe is unchanged.
type terminalWriter struct {
	to   io.Writer
	part []byte // the beginning of a character
}

func (t *terminalWriter) Write(p []byte) (int, error) {
	text := slices.Concat(t.part, p)
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
		}
	}
	t.part = text[end:]
	if _, err := t.to.Write(serverlog.CleanJSON(bytes.ReplaceAll(text[:end], []byte("\r\n"), []byte("\n")))); err != nil {
		return 0, err
	}
	return len(p), nil
}
