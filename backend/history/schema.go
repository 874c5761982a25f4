package history

import (
	"strconv"
	"strings"
)

// maxSchema is the maximum number of nodes of a schema with all its references expanded.
const maxSchema = 2000

// terminates reports whether validation against a schema terminates soon. Schemas are untrusted: a
// recursive schema could recurse without end or overflow the stack, and a few lines of nested
// references can expand to millions of nodes. Schemas with references to other documents are
// rejected.
func terminates(root any) bool {
	e := nodeCounter{root: root, known: make(map[string]int), open: make(map[string]bool)}
	n := e.count(root)
	return n > 0 && n <= maxSchema
}

// nodeCounter counts the nodes of a schema with its references expanded. A count of 0 means that
// the schema is recursive, invalid or too large.
type nodeCounter struct {
	root  any
	known map[string]int // counts of referenced schemas by pointer
	open  map[string]bool
}

func (e *nodeCounter) count(node any) int {
	n := 1
	add := func(part any) bool {
		m := e.count(part)
		n += m
		return m > 0 && n <= maxSchema
	}
	switch v := node.(type) {
	case map[string]any:
		for key, part := range v {
			if key == "$dynamicRef" || key == "$recursiveRef" {
				return 0
			}
			if ref, ok := part.(string); ok && key == "$ref" {
				m := e.countRef(ref)
				n += m
				if m == 0 || n > maxSchema {
					return 0
				}
				continue
			}
			if !add(part) {
				return 0
			}
		}
	case []any:
		for _, part := range v {
			if !add(part) {
				return 0
			}
		}
	}
	return n
}

func (e *nodeCounter) countRef(ref string) int {
	if n, ok := e.known[ref]; ok {
		return n
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || e.open[ref] || pointer == "" || pointer[0] != '/' {
		return 0
	}
	e.open[ref] = true
	n := 0
	if node, ok := resolvePointer(e.root, pointer); ok {
		n = e.count(node)
	}
	delete(e.open, ref)
	e.known[ref] = n
	return n
}

// resolvePointer resolves a JSON Pointer (RFC 6901).
func resolvePointer(node any, pointer string) (any, bool) {
	for _, key := range strings.Split(pointer, "/")[1:] {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		switch v := node.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return nil, false
			}
			node = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			node = v[i]
		default:
			return nil, false
		}
	}
	return node, true
}
