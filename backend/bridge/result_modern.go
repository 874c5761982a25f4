package bridge

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const metaServerInfo = wire.MetaPrefix + "serverInfo"

// cacheMembers are the cache fields of a modern list result. Lists depend on the client, so they
// are private, and they may change at any time.
const cacheMembers = `"ttlMs":0,"cacheScope":"private"`

// resultSuffix returns the text that replaces the closing brace of a legacy server's result for a
// modern client.
func resultSuffix(info []byte) []byte {
	return []byte(`,"resultType":"complete","_meta":{"` + metaServerInfo + `":` + string(info) + `}}`)
}

// listSuffix returns the text that replaces the closing brace of a cached list for a modern client.
func listSuffix(info []byte) []byte {
	return []byte(`,"resultType":"complete",` + cacheMembers + `,"_meta":{"` + metaServerInfo + `":` + string(info) + `}}`)
}

// modernizeResult adds the members that are required in modern results: resultType, the cache
// fields for the methods that have them, and serverInfo in _meta. Existing members stay unchanged,
// byte for byte.
func (b *Bridge) modernizeResult(method string, result []byte) methodResult {
	var kind, ttl, scope, meta core.Span
	err := wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case "resultType":
			kind = m.Value
		case "ttlMs":
			ttl = m.Value
		case "cacheScope":
			scope = m.Value
		case "_meta":
			meta = m.Value
		}
		return nil
	})
	if err != nil {
		return methodResult{head: result} // not an object, or with duplicate keys: nothing can be added safely
	}
	end := len(result)
	for result[end-1] != '}' {
		end--
	}
	if kind.Empty() && meta.Empty() && method != "resources/read" && !isEmptyObject(result[:end]) {
		return methodResult{result[:end-1], b.resultSuffix} // the common case for a legacy server
	}
	tail := make([]byte, 0, 192)
	if kind.Empty() {
		tail = append(tail, `,"resultType":"complete"`...)
	}
	// An input_required result must not be cached.
	if method == "resources/read" && string(wire.Bytes(result, kind)) != `"input_required"` {
		if ttl.Empty() {
			tail = append(tail, `,"ttlMs":0`...)
		}
		if scope.Empty() {
			tail = append(tail, `,"cacheScope":"private"`...)
		}
	}
	edits := make([]wire.Edit, 0, 2)
	switch raw := wire.Bytes(result, meta); {
	case len(raw) == 0:
		tail = append(tail, `,"_meta":{"`+metaServerInfo+`":`...)
		tail = append(append(tail, b.serverInfo...), '}')
	case raw[0] == '{':
		if with := b.missingServerInfo(raw); with != nil {
			edits = append(edits, wire.Edit{Span: core.Span{Start: meta.End - 1, End: meta.End - 1}, With: with})
		}
	}
	if len(tail) > 0 {
		if isEmptyObject(result[:end]) {
			tail = tail[1:]
		}
		edits = append(edits, wire.Edit{Span: core.Span{Start: end - 1, End: end - 1}, With: tail})
	}
	if len(edits) == 0 {
		return methodResult{head: result}
	}
	return methodResult{head: wire.Splice(make([]byte, 0, len(result)+len(tail)+len(b.serverInfo)+64), result, edits...)}
}

// missingServerInfo returns the text to insert at the end of a _meta object to add serverInfo, or
// nil if it is present.
func (b *Bridge) missingServerInfo(meta []byte) []byte {
	there, some := false, false
	err := wire.Members(meta, func(m wire.Member) error {
		some = true
		there = there || string(m.Name) == metaServerInfo
		return nil
	})
	if err != nil || there {
		return nil
	}
	with := make([]byte, 0, len(b.serverInfo)+64)
	if some {
		with = append(with, ',')
	}
	with = append(with, `"`+metaServerInfo+`":`...)
	return append(with, b.serverInfo...)
}

// isEmptyObject reports whether a valid object has no members.
func isEmptyObject(obj []byte) bool {
	for _, c := range obj {
		switch c {
		case '{', '}', ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}

// encodeServerInfo returns the raw serverInfo of Drawbridge.
func encodeServerInfo(version string) []byte {
	if version == "" {
		version = "dev"
	}
	info, _ := json.Marshal(struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}{"drawbridge", "Drawbridge", version})
	return info
}
