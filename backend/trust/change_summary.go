package trust

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// partNames are the parts of a definition that a summary counts, by member; other members count as
// otherPart.
var partNames = map[string]string{"description": "description", "inputSchema": "schema", "outputSchema": "schema", "title": "title", "annotations": "annotation"}

const otherPart = "other part"

// differingParts returns the parts in which two definitions of the same kind differ, each once.
func differingParts(before, after []byte) []string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return []string{}
	}
	parts := map[string]bool{}
	for _, members := range []map[string]json.RawMessage{a, b} {
		for key := range members {
			if !bytes.Equal(a[key], b[key]) {
				parts[cmp.Or(partNames[key], otherPart)] = true
			}
		}
	}
	return sortedKeys(parts)
}

// Summary says in one line how many definitions have changed, and what of them.
func Summary(list []ToolChange) string {
	counts, noun := map[string]int{}, "tool"
	for _, c := range list {
		if c.Kind != Tool {
			noun = "definition"
		}
		state := c.State
		if state == Waiting {
			state = Changed
		}
		counts[state]++
		for _, part := range c.Parts {
			counts[part]++
		}
	}
	var said, parts []string
	for _, part := range []string{"description", "schema", "title", "annotation", otherPart} {
		if n := counts[part]; n > 0 {
			parts = append(parts, core.Plural(n, part))
		}
	}
	for _, state := range []string{Changed, Blocked, Added, Removed} {
		n := counts[state]
		if n == 0 {
			continue
		}
		text := strconv.Itoa(n) + " " + state
		if len(said) == 0 {
			text = core.Plural(n, noun) + " " + state
		}
		if state == Changed && len(parts) > 0 {
			text += ": " + strings.Join(parts, ", ")
		}
		said = append(said, text)
	}
	return strings.Join(said, "; ")
}
