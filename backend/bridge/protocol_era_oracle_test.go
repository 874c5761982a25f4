package bridge

import "encoding/json"

// hasModernMeta looks for the protocol version in _meta with encoding/json.
func hasModernMeta(params []byte) bool {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(p["_meta"], &meta) != nil {
		return false
	}
	_, ok := meta["io.modelcontextprotocol/protocolVersion"]
	return ok
}
