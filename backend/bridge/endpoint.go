package bridge

import (
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// endpoint is an address that the bridge serves, with the restrictions that apply to one request.
type endpoint struct {
	path    string
	server  string // "" for the aggregate endpoint and for profiles
	profile string

	// The restrictions of the client, set by authorizeEndpoint.
	scope string // the profile that limits what the client sees; "" for no limit
	mode  string // ToolsSearch, ToolsDeferred, or "" to list all tools
}

// parseEndpoint parses the paths /mcp, /s/{server}/mcp and /p/{profile}/mcp.
func parseEndpoint(path string) (endpoint, bool) {
	if path == "/mcp" {
		return endpoint{path: path}, true
	}
	kind, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	name, tail, found := strings.Cut(rest, "/")
	if !ok || !found || tail != "mcp" || name == "" {
		return endpoint{}, false
	}
	switch kind {
	case "s":
		return endpoint{path: path, server: name}, true
	case "p":
		return endpoint{path: path, profile: name}, true
	}
	return endpoint{}, false
}

// resolveServerName replaces a server name in the endpoint with the id of the server.
func (b *Bridge) resolveServerName(at endpoint) endpoint {
	if id := b.Registry.Find(at.server); id != "" {
		at.server, at.path = id, "/s/"+id+"/mcp"
	}
	return at
}

// exists reports whether the server or profile of an endpoint exists.
func (b *Bridge) exists(at endpoint) bool {
	switch {
	case at.profile != "":
		return b.Registry.HasProfile(at.profile)
	case at.server == "":
		return true
	}
	if _, ok := b.Registry.Server(at.server); ok || b.Self == nil {
		return ok
	}
	_, ok := b.Self.Server(at.server)
	return ok
}

// nameLimit returns the maximum length of public names for the client with the token, or 0 for the
// default.
func (b *Bridge) nameLimit(at endpoint, token string) int {
	if at.server != "" || token == "" || b.NameLimit == nil {
		return 0
	}
	return b.NameLimit(token)
}

// view returns the current view of an endpoint for the client with the token. It is never nil.
func (b *Bridge) view(at endpoint, token string) *registry.View {
	return b.viewWithLimit(at, b.nameLimit(at, token))
}

func (b *Bridge) viewWithLimit(at endpoint, limit int) *registry.View {
	if at.scope != "" {
		return b.profileView(at, limit)
	}
	if at.server == "" {
		return b.Registry.Within(limit)
	}
	if v, ok := b.Registry.Server(at.server); ok {
		return v
	}
	if b.Self != nil {
		if v, ok := b.Self.Server(at.server); ok {
			return v
		}
	}
	return b.nothing
}

// unscoped returns the endpoint without the restrictions of a client.
func (at endpoint) unscoped() endpoint {
	return endpoint{path: at.path, server: at.server, profile: at.profile, scope: at.profile}
}

// notFoundText returns the error message for an endpoint that does not exist.
func notFoundText(at endpoint) string {
	switch {
	case core.ValidServerID(at.server):
		return `no server is called "` + at.server + `"`
	case core.ValidServerID(at.profile):
		return `no profile is called "` + at.profile + `"`
	}
	return "there is no MCP server at this address"
}

// refuseAddress responds with 404 to a request for an endpoint that does not exist or that its
// client may not use. It reads the body only to respond with the id of the request.
func (b *Bridge) refuseAddress(w http.ResponseWriter, r *http.Request, text string) {
	var id []byte
	if r.Method == http.MethodPost {
		body, leave, err := b.readBody(w, r)
		defer leave()
		if err == nil {
			if m, err := parse(body); err == nil && m.env.Kind == wire.Request {
				id = m.id()
			}
		}
	}
	writeError(w, http.StatusNotFound, id, codeNotFound, text)
}
