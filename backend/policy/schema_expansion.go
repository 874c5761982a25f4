package policy

import (
	"strings"
)

// maxSchemaNodes limits the number of nodes of a schema after all references are expanded. Validation
// against a larger or recursive schema could take too long; schemas are untrusted.
const maxSchemaNodes = 10_000

// withinNodeLimit reports whether the expanded schema has at most maxExpanded nodes.
func withinNodeLimit(doc any) bool {
	left := maxSchemaNodes
	return countNodes(doc, doc, &left)
}

func countNodes(doc, node any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch n := node.(type) {
	case []any:
		for _, v := range n {
			if !countNodes(doc, v, left) {
				return false
			}
		}
	case map[string]any:
		for key, v := range n {
			switch key {
			case "$dynamicRef", "$recursiveRef":
				return false
			case "$defs", "definitions":
				continue // counted where they are referenced
			case "$ref":
				to, ok := resolveRef(doc, v)
				if !ok || !countNodes(doc, to, left) {
					return false
				}
				continue
			}
			if !countNodes(doc, v, left) {
				return false
			}
		}
	}
	return true
}

// resolveRef follows a reference with a JSON pointer within doc. It does not support other
// references.
func resolveRef(doc, ref any) (any, bool) {
	text, ok := ref.(string)
	if !ok || !strings.HasPrefix(text, "#/") {
		return nil, false
	}
	for part := range strings.SplitSeq(text[2:], "/") {
		object, ok := doc.(map[string]any)
		if !ok {
			return nil, false
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if doc, ok = object[part]; !ok {
			return nil, false
		}
	}
	return doc, true
}
