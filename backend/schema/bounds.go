package schema

import (
	"strconv"
	"strings"
)

// maxSchemaNodes limits the number of nodes of a schema after all references are expanded.
// Validation against a larger or recursive schema could take too long; schemas are untrusted.
const maxSchemaNodes = 10_000

// isBounded reports whether a decoded JSON Schema has at most 10,000 nodes after all
// references are expanded. It is false for references to other documents.
func isBounded(schema any) bool {
	left := maxSchemaNodes
	return countNodes(schema, schema, 0, &left)
}

func countNodes(doc, node any, depth int, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch n := node.(type) {
	case []any:
		for _, v := range n {
			if !countNodes(doc, v, depth+1, left) {
				return false
			}
		}
	case map[string]any:
		for key, v := range n {
			switch key {
			case "$dynamicRef", "$recursiveRef":
				return false
			case "$id": // changes what the references below mean
				if _, is := v.(string); is && depth > 0 {
					return false
				}
			case "$ref":
				to, ok := resolveRef(doc, v)
				if !ok || !countNodes(doc, to, depth+1, left) {
					return false
				}
				continue
			}
			if !countNodes(doc, v, depth+1, left) {
				return false
			}
		}
	}
	return true
}

// resolveRef follows a $ref with a JSON Pointer (RFC 6901) within doc. It does not support other
// references, nor the percent-encoding, which the library decodes.
func resolveRef(doc, ref any) (any, bool) {
	text, ok := ref.(string)
	if !ok || !strings.HasPrefix(text, "#/") || strings.Contains(text, "%") {
		return nil, false
	}
	for part := range strings.SplitSeq(text[2:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch v := doc.(type) {
		case map[string]any:
			if doc, ok = v[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}
