package clientconf

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The comments that a note lists, and the length of each.
const (
	maxNotedComments = 5
	maxNotedComment  = 100
)

// commentNote lists the comments in an entry of a client's file, which an import does not copy; "" if
// there are none. Secrets in them are masked.
func commentNote(raw []byte, format Format) string {
	lines := commentLines(raw, format)
	if len(lines) == 0 {
		return ""
	}
	more := ""
	if n := len(lines) - maxNotedComments; n > 0 {
		lines, more = lines[:maxNotedComments], fmt.Sprintf(", and %d more", n)
	}
	var quoted []string
	for _, line := range strings.Split(MaskSecrets([]byte(strings.Join(lines, "\n"))), "\n") {
		quoted = append(quoted, "“"+core.Shorten(line, maxNotedComment)+"”")
	}
	return "Its comments are not copied: " + strings.Join(quoted, ", ") + more
}

// commentLines returns the lines of the comments in raw, without their marks. Strings over several
// lines of TOML and YAML are not recognized: a line in one that looks like a comment is returned.
func commentLines(raw []byte, format Format) (all []string) {
	add := func(comment []byte) {
		for line := range strings.SplitSeq(string(comment), "\n") {
			if line = strings.Trim(line, "/*# \t\r"); line != "" {
				all = append(all, line)
			}
		}
	}
	hash := format == TOML || format == YAML
	var quote byte
	for i := 0; i < len(raw); i++ {
		c, rest := raw[i], raw[i:]
		opens := i == 0 || bytes.IndexByte([]byte(" \t\n[{(,:="), raw[i-1]) >= 0
		end := 0
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote || hash && c == '\n' {
				quote = 0
			}
		case c == '"' && (opens || !hash), c == '\'' && hash && opens:
			quote = c
		case hash && c == '#' && opens, !hash && bytes.HasPrefix(rest, []byte("//")):
			end = bytes.IndexByte(rest, '\n')
		case !hash && bytes.HasPrefix(rest, []byte("/*")):
			end = bytes.Index(rest, []byte("*/"))
		default:
			continue
		}
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			add(rest[:end])
			i += end - 1
		}
	}
	return all
}
