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

// legacyVersions are the protocol revisions that a legacy client may send in its version header.
var legacyVersions = map[string]bool{
	"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true,
}

// headerValue is [http.Header.Get] for a key in canonical form. It does not canonicalize the key,
// because Get checks every letter.
func headerValue(header http.Header, key string) string {
	if v := header[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// eraOf returns the era of a request. A request is modern if its header names a modern revision or
// if its params have a protocol version in _meta. Either is sufficient, so that a request whose
// header and body disagree is refused as a modern one. Everything else is legacy, including an
// initialize without _meta that has modern headers.
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

// normalizeName decodes the base64 form of Mcp-Name in place, because go-sdk compares the header
// without decoding it. It returns false if the value has the base64 form but cannot be decoded.
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

// acceptsJSONAndStream reports whether the client accepts both a JSON document and an event stream,
// which the protocol requires for every POST.
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
