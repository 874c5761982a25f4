package registry

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// appMeta is the part of the _meta of a tool or result that belongs to MCP Apps.
type appMeta struct {
	Meta struct {
		UI struct {
			ResourceURI string   `json:"resourceUri"`
			Visibility  []string `json:"visibility"`
		} `json:"ui"`
		ResourceURI string `json:"ui/resourceUri"` // the form of older servers
	} `json:"_meta"`
}

// AppURI returns the URI of the MCP App that a raw tool or result refers to, or "".
func AppURI(raw []byte) string {
	var of appMeta
	_ = json.Unmarshal(raw, &of)
	uri := cmp.Or(of.Meta.UI.ResourceURI, of.Meta.ResourceURI)
	if !strings.HasPrefix(uri, "ui://") {
		return ""
	}
	return uri
}

// AppMayCall reports whether an MCP App may call a raw tool. A tool may exclude apps by its visibility.
func AppMayCall(raw []byte) bool {
	var of appMeta
	if json.Unmarshal(raw, &of) != nil {
		return false
	}
	return of.Meta.UI.Visibility == nil || slices.Contains(of.Meta.UI.Visibility, "app")
}
