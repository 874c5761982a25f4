package bridge

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// legacyVersions are the revisions that a legacy client may name in a header.
var legacyVersions = map[string]bool{
	"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true,
}

// headerValue is Get for a key that is spelled as the map spells it: Get looks at each letter.
func headerValue(header http.Header, key string) string {
	if v := header[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// eraOf is the era switch. A request is modern when its header names a modern
// revision or its params carry a protocol version in _meta, whichever it is: a
// request whose two halves disagree must be refused as a modern one. Everything
// else is legacy, also an initialize without _meta that carries modern headers.
func eraOf(header http.Header, p *wire.Params) core.Era {
	if headerValue(header, versionHeader) >= core.ModernVersion || !p.ProtocolVersion.Empty() {
		return core.Modern
	}
	return core.Legacy
}

const (
	base64Open  = "=?base64?"
	base64Close = "?="
)

// normalizeName decodes the base64 form of Mcp-Name in place, which go-sdk compares
// undecoded. It reports false when the value claims to be base64 and is not.
func normalizeName(header http.Header) bool {
	values := header[nameHeader]
	if len(values) == 0 {
		return true
	}
	inner, ok := strings.CutPrefix(values[0], base64Open)
	if !ok {
		return true
	}
	if inner, ok = strings.CutSuffix(inner, base64Close); !ok {
		return true
	}
	plain, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return false
	}
	header[nameHeader] = []string{string(plain)}
	return true
}

// acceptsJSONAndStream reports whether the client takes both a JSON document and a stream, which
// the protocol demands of every POST.
func acceptsJSONAndStream(header http.Header) bool {
	var document, stream bool
	for _, value := range header["Accept"] {
		if value == "application/json, text/event-stream" {
			return true
		}
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				document = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				return true
			}
		}
	}
	return document && stream
}
