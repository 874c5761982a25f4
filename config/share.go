package config

import (
	"encoding/json"

	"github.com/tailscale/hujson"
)

// ServersOf returns the servers of a JSON configuration text as written, by label, for every
// accepted shape of the map. It does not read YAML.
func ServersOf(src []byte) (map[string]json.RawMessage, error) {
	plain, err := hujson.Standardize(src)
	if err != nil {
		return nil, err
	}
	var root struct {
		A   map[string]json.RawMessage `json:"mcpServers"`
		B   map[string]json.RawMessage `json:"servers"`
		MCP struct {
			Servers map[string]json.RawMessage `json:"servers"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(plain, &root); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	for _, m := range []map[string]json.RawMessage{root.A, root.B, root.MCP.Servers} {
		for label, entry := range m {
			all[label] = entry
		}
	}
	return all, nil
}
