package clientconf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

const diffContext = 3

// MaskSecrets returns the text of a configuration with secrets masked as in Diff.
func MaskSecrets(text []byte) string {
	all := splitLines(text)
	return strings.Join(redact.Lines(all, 0, len(all)), "\n")
}

// Diff returns the difference between before and after as a unified diff with one hunk and
// secrets masked. Our changes are in one place, so one hunk is always enough. A JSON file with long
// lines is compared with a line for each value, and only the changed lines are shown: the others may
// be private.
func Diff(path string, before, after []byte) string {
	a, b := splitLines(before), splitLines(after)
	diffContext := diffContext
	if slices.ContainsFunc(a, isLongLine) || slices.ContainsFunc(b, isLongLine) {
		var x, y bytes.Buffer
		if indentJSON(&x, before) && indentJSON(&y, after) {
			a, b, diffContext = splitLines(x.Bytes()), splitLines(y.Bytes()), 0
		}
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return ""
	}
	from := max(0, head-diffContext)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", path, path,
		from+1, min(len(a), len(a)-tail+diffContext)-from, from+1, min(len(b), len(b)-tail+diffContext)-from)
	write := func(mark string, all []string, from, to int) {
		for _, line := range redact.Lines(all, from, to) {
			out.WriteString(mark + line + "\n")
		}
	}
	write(" ", a, from, head)
	write("-", a, head, len(a)-tail)
	write("+", b, head, len(b)-tail)
	write(" ", a, len(a)-tail, min(len(a), len(a)-tail+diffContext))
	return out.String()
}

// maxDiffLine is the length in bytes up to which a line is shown as it is.
const maxDiffLine = 1000

func isLongLine(line string) bool { return len(line) > maxDiffLine }

func indentJSON(to *bytes.Buffer, src []byte) bool {
	return len(src) == 0 || json.Indent(to, bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), "", "  ") == nil
}

func splitLines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
