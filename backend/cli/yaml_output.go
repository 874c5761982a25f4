package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/exactjson"
)

// toYAML converts a JSON document to readable YAML: keys keep their order, numbers their spelling.
//
// yaml.JSONToYAML of goccy/go-yaml is not used, because it changes values (2.50 becomes 2.5, integers
// beyond 64 bits become strings, line breaks \r\n become \n) and writes control characters as they
// are, while a script or a reader of a history needs what the server sent.
func toYAML(data []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	y := yamlWriter{in: d}
	if err := y.value(0, false); err != nil {
		return "", err
	}
	return y.out.String(), nil
}

type yamlWriter struct {
	in  *json.Decoder
	out strings.Builder
}

// value writes the next value. If inline is set, it follows a key or dash, and nested values start
// on a new line.
func (y *yamlWriter) value(depth int, inline bool) error {
	token, err := y.in.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		if inline {
			y.out.WriteByte(' ')
		}
		y.scalar(token, depth)
		return nil
	}
	if !y.in.More() {
		if inline {
			y.out.WriteByte(' ')
		}
		y.out.WriteString(map[json.Delim]string{'{': "{}", '[': "[]"}[delim] + "\n")
		_, err := y.in.Token()
		return err
	}
	if inline {
		y.out.WriteByte('\n')
	}
	for y.in.More() {
		y.out.WriteString(strings.Repeat("  ", depth))
		if delim == '[' {
			y.out.WriteByte('-')
		} else {
			key, err := y.in.Token()
			if err != nil {
				return err
			}
			fmt.Fprintf(&y.out, "%s:", formatScalar(fmt.Sprint(key)))
		}
		if err := y.value(depth+1, true); err != nil {
			return err
		}
	}
	_, err = y.in.Token()
	return err
}

func (y *yamlWriter) scalar(token json.Token, depth int) {
	switch v := token.(type) {
	case nil:
		y.out.WriteString("null\n")
	case string:
		if isBlockScalar(v) {
			y.out.WriteString("|-\n")
			for l := range strings.SplitSeq(v, "\n") {
				if l != "" {
					y.out.WriteString(strings.Repeat("  ", max(1, depth)) + l)
				}
				y.out.WriteByte('\n')
			}
			return
		}
		y.out.WriteString(formatScalar(v) + "\n")
	default:
		fmt.Fprintln(&y.out, v)
	}
}

// isBlockScalar reports whether s can be written as a block scalar without loss.
func isBlockScalar(s string) bool {
	return strings.Contains(s, "\n") && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "\n") &&
		!strings.HasSuffix(s, "\n") && !strings.ContainsAny(s, "\r\t\x00\x1b") && escapeText(s) == s
}

// Compiled when first used: most commands, and the shim, never do.
var (
	plainWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[\pL_/.][\pL\pN _/.,()+=@%*;-]*$`)
	})
	notAWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n|~|[.](inf|nan)|[.]\d.*)$`)
	})
)

func formatScalar(s string) string {
	if plainWord().MatchString(s) && !notAWord().MatchString(s) && strings.TrimSpace(s) == s {
		return s
	}
	return exactjson.String(s) // a JSON string is a YAML string
}
