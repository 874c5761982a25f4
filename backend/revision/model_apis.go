package revision

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// argumentName is what the APIs of widespread models accept as the name of an argument.
var argumentName = osutil.LazyRegexp(`^[a-zA-Z0-9_.-]{1,64}$`)

// lookaround begins a group that regular expressions of models' APIs do not support.
var lookaround = osutil.LazyRegexp(`\(\?(<?[=!])`)

const excludeIt = `; if a client reports an error of its model, exclude the tool with "excludeTools"`

// ModelAPIProblems returns what MCP clients accept in a tool, but the APIs of some models refuse
// together with all other tools of the request.
func ModelAPIProblems(tool []byte) (problems []string) {
	spans, err := wire.Pick(tool, "inputSchema")
	if input := wire.Bytes(tool, spans[0]); err == nil && len(input) > 0 && len(input) <= maxRepaired && input[0] == '{' {
		var root map[string]json.RawMessage
		_ = json.Unmarshal(input, &root)
		for _, key := range []string{"oneOf", "anyOf", "allOf"} {
			if root[key] != nil {
				problems = append(problems, fmt.Sprintf("its inputSchema has %q at the top level, which the APIs of some models refuse%s", key, excludeIt))
				break
			}
		}
		var arguments map[string]json.RawMessage
		_ = json.Unmarshal(root["properties"], &arguments)
		for name := range arguments {
			if !argumentName().MatchString(name) {
				problems = append(problems, `the name of an argument has characters other than letters, digits, "_", "." and "-", or more than 64, which the APIs of some models refuse; rename the argument in the server, or exclude the tool with "excludeTools"`)
				break
			}
		}
		var found keywordProblems
		if bytes.Contains(input, []byte(`"pattern"`)) || bytes.Contains(input, []byte(`"array"`)) {
			if doc, err := wire.Decode(input); err == nil {
				found.visit(doc)
			}
		}
		if found.lookaround {
			problems = append(problems, `a "pattern" of its inputSchema looks ahead or behind, which the APIs of some models refuse`+excludeIt)
		}
		if found.noItems {
			problems = append(problems, `an array of its inputSchema has no "items", which the APIs of some models refuse`+excludeIt)
		}
	}
	return problems
}

// keywordProblems are the problems in the keywords of a schema, at any depth.
type keywordProblems struct{ lookaround, noItems bool }

func (p *keywordProblems) visit(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, part := range s {
			p.visit(part)
		}
	case map[string]any:
		if pattern, ok := s["pattern"].(string); ok && lookaround().MatchString(pattern) {
			p.lookaround = true
		}
		if s["type"] == "array" && s["items"] == nil && s["prefixItems"] == nil {
			p.noItems = true
		}
		for key, part := range s {
			switch positions[key] {
			case dataPosition:
			case namesPosition:
				if named, ok := part.(map[string]any); ok {
					for _, one := range named {
						p.visit(one)
					}
				}
			default:
				p.visit(part)
			}
		}
	}
}
