package revision

import (
	"embed"
	"encoding/json"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/schema"
)

//go:embed schemas/*.json
var files embed.FS

// schemas are the requirements for the items of one kind.
type schemas struct{ legacy, modern, clients *schema.Schema }

// definitions are the names of the items in the schemas of MCP.
var definitions = map[core.Kind]string{
	core.Tools: "Tool", core.Prompts: "Prompt", core.Resources: "Resource", core.Templates: "ResourceTemplate",
}

// compiled holds the schemas of all kinds.
var compiled = sync.OnceValue(func() map[core.Kind]schemas {
	all := map[core.Kind]schemas{}
	legacy, modern, clients := load("2025-11-25"), load("2026-07-28"), load("clients")
	for kind, name := range definitions {
		all[kind] = schemas{legacy.compile(name), modern.compile(name), clients.compile(name)}
	}
	return all
})

func schemasOf(kind core.Kind) schemas { return compiled()[kind] }

// document is one file of schemas.
type document struct {
	Schema string                     `json:"$schema"`
	Defs   map[string]json.RawMessage `json:"$defs"`
}

func load(name string) (d document) {
	src, err := files.ReadFile("schemas/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(src, &d)
	}
	if err != nil {
		panic(err) // the file is part of the program
	}
	return d
}

// compile compiles one definition with those that it refers to. The whole document would be too
// large to be bounded.
func (d document) compile(name string) *schema.Schema {
	used := map[string]json.RawMessage{}
	var add func(name string)
	add = func(name string) {
		if used[name] != nil {
			return
		}
		used[name] = d.Defs[name]
		for other := range d.Defs {
			if strings.Contains(string(d.Defs[name]), `"#/$defs/`+other+`"`) {
				add(other)
			}
		}
	}
	add(name)
	src, err := json.Marshal(map[string]any{"$schema": d.Schema, "$ref": "#/$defs/" + name, "$defs": used})
	s := schema.Compile(src)
	if err != nil || s == nil {
		panic("revision: cannot compile the schema of " + name)
	}
	return s
}
