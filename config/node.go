package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Limits of one file. Configurations are written by hand: anything larger or deeper is a mistake,
// and deep nesting would exhaust the stacks of the parsers.
const (
	maxFile  = 4 << 20
	maxYAML  = 1 << 20
	maxDepth = 100
)

// kind is the kind of a node.
type kind byte

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// node is a value of a JSON or YAML file with its position. Nodes may be shared (YAML aliases)
// and are read-only.
type node struct {
	kind    kind
	text    string // of a string, or a number or boolean as written
	items   []*node
	members []member
	at      Position
}

type member struct {
	name  string
	at    Position
	value *node
}

// get returns the first member called name, or nil.
func (n *node) get(name string) *node {
	if n != nil && n.kind == kindObject {
		for _, m := range n.members {
			if m.name == name {
				return m.value
			}
		}
	}
	return nil
}

// IsYAML reports whether file is read as YAML. Everything else is JSON with comments.
func IsYAML(file string) bool {
	ext := strings.ToLower(filepath.Ext(file))
	return ext == ".yaml" || ext == ".yml"
}

// tree parses src into nodes. The problem has a position.
func tree(file string, src []byte) (*node, *Problem) {
	at := Position{File: file, Line: 1, Column: 1}
	src, problem := trimBOMAndCheckUTF8(src)
	switch {
	case problem != nil:
		problem.File, problem.Line, problem.Column = file, 1, 1
		return nil, problem
	case len(src) > maxFile || IsYAML(file) && len(src) > maxYAML:
		return nil, refuse(at, "file is too large", "is this the right file?")
	}
	if IsYAML(file) {
		return yamlTree(file, src)
	}
	return jsonTree(file, src)
}

// trimBOMAndCheckUTF8 removes a byte order mark and refuses invalid UTF-8.
func trimBOMAndCheckUTF8(src []byte) ([]byte, *Problem) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	switch {
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")), bytes.IndexByte(src, 0) >= 0:
		return nil, refuse(Position{}, "file is not UTF-8 but UTF-16 or binary", "save it as UTF-8")
	case !utf8.Valid(src):
		return nil, refuse(Position{}, "file is not UTF-8", "save it as UTF-8")
	}
	return src, nil
}

func refuse(at Position, message, suggestion string) *Problem {
	return &Problem{File: at.File, Line: at.Line, Column: at.Column, Message: message, Suggestion: suggestion}
}

// lines converts byte offsets of one source into positions. It continues from the last offset,
// also within a line, so that ascending offsets cost linear time even in a file of one line.
type lines struct {
	file         string
	src          []byte
	offset       int // the last offset
	line, column int // of offset, from 1; line 0 before the first use
}

func (l *lines) at(offset int) Position {
	if offset < l.offset || l.line == 0 {
		l.offset, l.line, l.column = 0, 1, 1
	}
	offset = min(offset, len(l.src))
	passed := l.src[l.offset:offset]
	if n := bytes.Count(passed, []byte{'\n'}); n > 0 {
		l.line, l.column = l.line+n, 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	l.column += utf8.RuneCount(passed)
	l.offset = offset
	return Position{File: l.file, Line: l.line, Column: l.column}
}

// tooDeep returns the offset of the first bracket that is nested deeper than maxDepth, or -1.
// After an unclosed quote it also counts brackets in strings: it only has to protect the parsers.
func tooDeep(src []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && c == '\n':
			inString = false
		case inString:
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			if end := bytes.IndexByte(src[i:], '\n'); end >= 0 {
				i += end
			} else {
				return -1
			}
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return i
			}
		case c == ']' || c == '}':
			depth = max(0, depth-1)
		}
	}
	return -1
}

func tooDeepProblem(at Position) *Problem {
	return refuse(at, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
}
