package core

import (
	"encoding/json"
	"time"
)

// Kind is one of the four kinds of catalog items.
type Kind string

const (
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// Item is one entry of a catalog. Raw is the unchanged JSON of the server.
type Item struct {
	Name string // name of a tool, prompt or template; URI of a resource; uriTemplate of a template
	Raw  json.RawMessage
}

// Catalog is what a server offers. It is immutable.
type Catalog struct {
	Tools, Prompts, Resources, Templates []Item
	Capabilities                         json.RawMessage // as the server declared them
	ModernCapabilities                   json.RawMessage // of a second connection in the modern era; nil if there was none
	Instructions                         string
	Info                                 json.RawMessage // serverInfo
	ListedAt                             time.Time
	Warnings                             []string
}

// CapabilitiesIn returns the capabilities of the server in an era.
func (c *Catalog) CapabilitiesIn(era Era) json.RawMessage {
	if era == Modern && len(c.ModernCapabilities) > 0 {
		return c.ModernCapabilities
	}
	return c.Capabilities
}
