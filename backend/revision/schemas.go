package revision

import (
	"embed"
	"encoding/json"
	"regexp"
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

// documents are the files of schemas.
var documents = struct{ legacy, modern, clients func() document }{once("2025-11-25"), once("2026-07-28"), once("clients")}

func once(name string) func() document { return sync.OnceValue(func() document { return load(name) }) }

// compiled holds the schemas of each kind. Compiling takes milliseconds, so each is compiled when it
// is needed.
var compiled = func() map[core.Kind]func() schemas {
	all := map[core.Kind]func() schemas{}
	for kind, name := range definitions {
		all[kind] = sync.OnceValue(func() schemas {
			return schemas{documents.legacy().compile(name), documents.modern().compile(name), documents.clients().compile(name)}
		})
	}
	return all
}()

func schemasOf(kind core.Kind) schemas { return compiled[kind]() }

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

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

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
		for _, found := range reference.FindAllSubmatch(d.Defs[name], -1) {
			add(string(found[1]))
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
