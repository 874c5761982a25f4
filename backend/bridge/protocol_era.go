package bridge

import (
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// legacyVersions are the protocol revisions that a legacy client may send in its version header.
var legacyVersions = map[string]bool{
	"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true,
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
