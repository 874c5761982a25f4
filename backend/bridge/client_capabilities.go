package bridge

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// clientCapabilities are the parsed capabilities of a client.
type clientCapabilities struct {
	sampling, samplingTools, roots, form, url bool
}

// parseClientCapabilities parses raw client capabilities. Elicitation without modes means form
// mode, as in revision 2025-06-18.
func parseClientCapabilities(capabilities []byte) clientCapabilities {
	var can clientCapabilities
	if len(capabilities) == 0 {
		return can
	}
	_ = wire.Members(capabilities, func(m wire.Member) error {
		raw := wire.Bytes(capabilities, m.Value)
		if raw[0] != '{' {
			return nil
		}
		switch string(m.Name) {
		case "sampling":
			found, err := wire.Pick(raw, "tools")
			can.sampling, can.samplingTools = true, err == nil && !found[0].Empty()
		case "roots":
			can.roots = true
		case "elicitation":
			var modes struct {
				Form, URL json.RawMessage
			}
			_ = json.Unmarshal(raw, &modes)
			can.url = modes.URL != nil
			can.form = modes.Form != nil || !can.url
		}
		return nil
	})
	return can
}

// missingFor returns the capability that a request of a server needs and the client lacks, or "".
func (c clientCapabilities) missingFor(method string, params []byte) string {
	switch method {
	case "sampling/createMessage":
		if !c.sampling {
			return "sampling"
		}
		if found, err := wire.Pick(params, "tools"); err == nil && !found[0].Empty() && !c.samplingTools {
			return "sampling with tools"
		}
	case "roots/list":
		if !c.roots {
			return "roots"
		}
	case "elicitation/create":
		var p struct {
			Mode string `json:"mode"`
		}
		_ = json.Unmarshal(params, &p)
		switch {
		case !c.form && !c.url:
			return "elicitation"
		case p.Mode == "url" && !c.url:
			return "elicitation by URL"
		case p.Mode != "url" && !c.form:
			return "elicitation by form"
		}
	case "ping":
	default:
		return method
	}
	return ""
}

// firstWithFormLists is the first revision whose forms may ask for several values of a list.
const firstWithFormLists = "2025-11-25"

// asksForList reports whether a form asks for a list of values.
func asksForList(params []byte) bool {
	var p struct {
		Schema struct {
			Properties map[string]struct{ Type string }
		} `json:"requestedSchema"`
	}
	_ = json.Unmarshal(params, &p)
	for _, property := range p.Schema.Properties {
		if property.Type == "array" {
			return true
		}
	}
	return false
}
