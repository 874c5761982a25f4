package config

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/tailscale/hujson"
)

var hujsonPlace = osutil.LazyRegexp(`^hujson: line (\d+), column (\d+): `)

// ParseJSON parses JSON with comments and trailing commas. Unlike hujson.Parse, it accepts a line
// comment at the end of src that no line break follows. The bytes of the value are those of src.
func ParseJSON(src []byte) (hujson.Value, error) {
	value, err := hujson.Parse(append(src[:len(src):len(src)], '\n'))
	if err == nil {
		value.AfterExtra = bytes.TrimSuffix(value.AfterExtra, []byte("\n"))
	}
	return value, err
}

// StandardJSON returns JSON with comments and trailing commas as JSON without them.
func StandardJSON(src []byte) ([]byte, error) {
	value, err := ParseJSON(src)
	if err != nil {
		return nil, err
	}
	value.Standardize()
	return value.Pack(), nil
}

// jsonTree reads JSON with comments and trailing commas. src is UTF-8.
func jsonTree(file string, src []byte) (*node, *Problem) {
	where := lines{file: file, src: src}
	if i := tooDeep(src); i >= 0 {
		return nil, tooDeepProblem(where.at(i))
	}
	value, err := ParseJSON(src)
	if err != nil {
		return nil, jsonProblem(&where, src, err)
	}
	return jsonNode(&where, value), nil
}

func jsonProblem(where *lines, src []byte, err error) *Problem {
	if onlySpace(src) {
		return refuse(where.at(0), "file is empty", `for a configuration without servers, write {"mcpServers": {}}`)
	}
	at := where.at(len(src))
	message := err.Error()
	if m := hujsonPlace().FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		at = where.at(byteOffset(src, m[1], m[2]))
	}
	suggestion := ""
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(where.at(len(src)), "unexpected end of file", "a closing bracket or quote is missing")
	case strings.HasPrefix(message, "invalid literal"):
		// The text may be a secret whose quotes were forgotten, so it is not shown.
		message, suggestion = "a word without quotes", "text and keys need double quotes; true, false, null and numbers do not"
	case strings.Contains(message, "after object value"), strings.Contains(message, "after array value"):
		suggestion = "is a comma missing before it?"
	case strings.Contains(message, "at start of object name"):
		suggestion = "keys need double quotes"
	case strings.Contains(message, "after object name"):
		suggestion = "add a colon between key and value"
	case strings.Contains(message, "in string"):
		suggestion = `escape a backslash as \\ and a line break as \n`
	}
	return refuse(at, message, suggestion)
}

// byteOffset is the offset of a line and column, both counted from 1 and columns in bytes.
func byteOffset(src []byte, line, column string) int {
	l, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(column)
	offset := 0
	for ; l > 1; l-- {
		i := bytes.IndexByte(src[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	return min(len(src), offset+c-1)
}

// onlySpace reports whether src contains only white space and comments.
func onlySpace(src []byte) bool {
	v, err := hujson.Parse(append(src[:len(src):len(src)], "\nnull"...))
	return err == nil && v.Value.Kind() == 'n' && v.StartOffset == len(src)+1
}

func jsonNode(where *lines, v hujson.Value) *node {
	n := &node{at: where.at(v.StartOffset)}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = kindObject
		for _, m := range value.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			n.members = append(n.members, member{name: name.String(), at: where.at(m.Name.StartOffset), value: jsonNode(where, m.Value)})
		}
	case *hujson.Array:
		n.kind = kindList
		for _, e := range value.Elements {
			n.items = append(n.items, jsonNode(where, e))
		}
	case hujson.Literal:
		n.text = value.String()
		switch value.Kind() {
		case '"':
			n.kind = kindString
		case '0':
			n.kind = kindNumber
		case 't', 'f':
			n.kind = kindBool
		}
	}
	return n
}
