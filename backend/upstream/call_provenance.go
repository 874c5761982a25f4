package upstream

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// servedBy has what answers the calls of a connection while its catalog is the same. It is
// immutable: a further tool replaces it.
type servedBy struct {
	catalog *core.Catalog
	server  *core.ServedBy
	tools   map[string]*core.ServedBy
}

// SetPackage sets the package, with its version, that the server runs. It must be called before
// the first Send.
func (c *Conn) SetPackage(name string) { c.packageName = name }

// servedBy returns what answers call. The hash of a tool is computed for its first call.
func (c *Conn) servedBy(call *core.Call) *core.ServedBy {
	now, catalog := c.served.Load(), c.Catalog()
	if now == nil || now.catalog != catalog {
		now = &servedBy{catalog: catalog, server: c.describeServer()}
		c.served.Store(now)
	}
	if call.Method != "tools/call" || c.o.DefinitionHash == nil {
		return now.server
	}
	if known, ok := now.tools[call.Name]; ok {
		return known
	}
	tool := *now.server
	for i := range catalog.Tools {
		if catalog.Tools[i].Name == call.Name {
			tool.Definition = c.o.DefinitionHash(catalog.Tools[i].Raw)
		}
	}
	next := *now
	next.tools = maps.Clone(now.tools)
	if next.tools == nil || len(next.tools) > maxItems { // a client may call tools that do not exist
		next.tools = map[string]*core.ServedBy{}
	}
	next.tools[call.Name] = &tool
	c.served.Store(&next) // another call may have added its tool meanwhile: its next one adds it again
	return &tool
}

// maxVersion limits what a server reports about itself, in bytes.
const maxVersion = 200

func (c *Conn) describeServer() *core.ServedBy {
	var info struct{ Name, Version string }
	_ = json.Unmarshal(c.handshake.info, &info) // a malformed one leaves both empty
	short := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxVersion)], "") }
	return &core.ServedBy{Name: short(info.Name), Version: short(info.Version), Package: c.packageName}
}
