package osutil

import (
	"strconv"
	"strings"
)

// QuotePath quotes a path for a message: as strconv.Quote does, but with backslashes as Windows writes them.
func QuotePath(path string) string { return strings.ReplaceAll(strconv.Quote(path), `\\`, `\`) }

// CommandLine joins a program and its arguments to a text to read; empty words and those with spaces or quotes are
// quoted, exactly: it is what a user approves.
func CommandLine(words ...string) string {
	shown := make([]string, len(words))
	for i, w := range words {
		if shown[i] = w; w == "" || strings.ContainsAny(w, " \t\r\n\"") {
			shown[i] = strconv.Quote(w)
		}
	}
	return strings.Join(shown, " ")
}
