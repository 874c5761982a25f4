package cli

import (
	"bytes"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

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
