package bridge

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// endpoint is an address that the bridge serves, with the restrictions that apply to one request.
type endpoint struct {
	path    string
	server  string // "" for the aggregate endpoint and for profiles
	profile string

	// The restrictions of the client, set by views.authorize.
	scope    string // the profile that limits what the client sees; "" for no limit
	toolMode string // ToolsSearch, ToolsDeferred, or "" to list all tools
	auto     bool   // whether toolMode was chosen for the client, and may change
	// maxResult is the maximum size of the text of tool results in bytes; 0 for no limit.
	maxResult  int
	singleCopy bool // results without a structuredContent that their text repeats
	limits     ClientLimits
	used       *UsedTools // nil if none are known
}

// offers reports whether a client may call the tools of a mode. Those of a chosen mode work in the
// others as well, because a client may still have the list from before the choice changed.
func (ep endpoint) offers(mode string) bool { return ep.auto || ep.toolMode == mode }

// hasOwnTools reports whether localTool may know a tool.
func (ep endpoint) hasOwnTools() bool {
	return ep.auto || ep.toolMode != "" || ep.maxResult > 0 || ep.limits != ClientLimits{}
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

// views finds what clients see at an endpoint, with the restrictions of each client.
type views struct {
	*Options
	emptyView  *registry.View
	visibility atomic.Pointer[Visibility] // nil: every client sees everything
	listings   toolListings
}

// exists reports whether the server or profile of an endpoint exists. It replaces a server name with
// the id of the server.
func (vs *views) exists(ep *endpoint) bool {
	if vs.has(*ep) {
		return true
	}
	id := vs.Registry.Find(ep.server)
	if id != "" {
		ep.server, ep.path = id, "/s/"+id+"/mcp"
	}
	return id != ""
}

// has reports whether the server or profile of an endpoint exists.
func (vs *views) has(ep endpoint) bool {
	switch {
	case ep.profile != "":
		return vs.Registry.HasProfile(ep.profile)
	case ep.server == "":
		return true
	}
	if _, ok := vs.Registry.Server(ep.server); ok || vs.Builtin == nil {
		return ok
	}
	_, ok := vs.Builtin.Server(ep.server)
	return ok
}

// limitsOf returns the limits of the client with the token at an endpoint.
func (vs *views) limitsOf(ep endpoint, token string) ClientLimits {
	if ep.server != "" || token == "" || vs.Limits == nil {
		return ClientLimits{}
	}
	return vs.Limits(token)
}

// of returns the current view of an endpoint for the client with the token. It is never nil.
func (vs *views) of(ep endpoint, token string) *registry.View {
	return vs.withLimit(ep, vs.limitsOf(ep, token).Name)
}

func (vs *views) withLimit(ep endpoint, limit int) *registry.View {
	if ep.scope != "" {
		return vs.profileView(ep, limit)
	}
	if ep.server == "" {
		return vs.Registry.WithNameLimit(limit)
	}
	if v, ok := vs.Registry.Server(ep.server); ok {
		return v
	}
	if vs.Builtin != nil {
		if v, ok := vs.Builtin.Server(ep.server); ok {
			return v
		}
	}
	return vs.emptyView
}

// unscoped returns the endpoint without the restrictions of a client.
func (ep endpoint) unscoped() endpoint {
	return endpoint{path: ep.path, server: ep.server, profile: ep.profile, scope: ep.profile}
}

// notFoundText returns the error message for an endpoint that does not exist.
func (vs *views) notFoundText(ep endpoint) string {
	if vs.WhyAbsent != nil && ep.server != "" {
		if why := vs.WhyAbsent(ep.server); why != "" {
			return why
		}
	}
	switch {
	case core.ValidServerID(ep.server):
		return `there is no server named "` + ep.server + `"`
	case core.ValidServerID(ep.profile):
		return `there is no profile named "` + ep.profile + `"`
	}
	return "there is no MCP server at this URL"
}

// refuseEndpoint responds with 404 to a request for an endpoint that does not exist or that its
// client may not use. It reads the body only to respond with the id of the request.
func (b *Bridge) refuseEndpoint(w http.ResponseWriter, r *http.Request, text string) {
	var id []byte
	if r.Method == http.MethodPost {
		body, release, err := b.readBody(w, r)
		defer release()
		if err == nil {
			id = wire.RequestID(body, nil)
		}
	}
	writeError(w, http.StatusNotFound, id, codeNotFound, text)
}

// authorize returns the endpoint with the restrictions of the request. They depend on the
// token, the path and the folder of the client. The folder comes with every request, or it is the
// one that the client of a legacy session has reported; nothing else depends on earlier requests.
// refusal is the reason why the client may not use the path, or "".
func (vs *views) authorize(ep endpoint, origin requestOrigin) (_ endpoint, refusal string) {
	if ep.server == "" {
		ep.limits = vs.limitsOf(ep, origin.token)
		if vs.Used != nil && origin.token != "" {
			ep.used = vs.Used(origin.token)
		}
	}
	visibility := vs.visibility.Load()
	if visibility == nil {
		ep.scope = ep.profile
		return ep, ""
	}
	client := visibility.Clients[origin.token]
	switch {
	case visibility.Unknown != "":
		return ep, visibility.Unknown
	case client.Profile != "" && !vs.Registry.HasProfile(client.Profile):
		return ep, `this client's profile "` + client.Profile + `" no longer exists: choose another one on the Clients page of the web UI, or under 'clients' in the configuration`
	case client.Profile != "" && ep.profile != "" && ep.profile != client.Profile:
		return ep, `this client may only use the profile "` + client.Profile + `"`
	case client.Profile != "":
		ep.scope = client.Profile
		if _, in := vs.Registry.ProfileServer(ep.scope, ep.server); ep.server != "" && !in {
			return ep, `this client's profile "` + client.Profile + `" does not include this server`
		}
	case ep.profile != "":
		ep.scope = ep.profile
	case ep.server == "" && origin.workspace != "" && visibility.ProfileOf != nil:
		ep.scope = visibility.ProfileOf(origin.workspace)
	}
	ep.toolMode = client.ToolMode
	if ep.toolMode == "" && ep.scope != "" {
		ep.toolMode = visibility.Profiles[ep.scope].ToolMode
	}
	switch {
	case ep.toolMode == ToolsAuto && ep.server == "":
		ep.auto = true
		ep.toolMode, _, _ = chooseMode(vs.of(ep, origin.token), ep.limits, vs.describes())
	case ep.toolMode != ToolsSearch && ep.toolMode != ToolsDeferred:
		ep.toolMode = ""
	case ep.server != "" && !SavesAtServer(vs.of(ep, origin.token), ep.toolMode):
		ep.auto, ep.toolMode = true, ""
	}
	if ep.server != "" {
		return ep, "" // its results are complete
	}
	if vs.StoredResult != nil {
		ep.maxResult = client.MaxResultTokens * bytesPerToken
	}
	ep.singleCopy = client.SingleCopy
	return ep, ""
}

// profileView returns the view of a request that is limited to a profile. The view of a profile
// that no longer exists is empty.
func (vs *views) profileView(ep endpoint, limit int) *registry.View {
	v, ok := vs.Registry.Profile(ep.scope, limit)
	if ep.server != "" {
		v, ok = vs.Registry.ProfileServer(ep.scope, ep.server)
	}
	if !ok {
		return vs.emptyView
	}
	return v
}

// How a feature works between one client and one server.
const (
	Passes       = "passes"        // works, with or without translation between the eras
	WithApproval = "with approval" // the client cannot, so Drawbridge asks the user
	NotClient    = "not client"    // the client did not declare the capability
	NotServer    = "not server"    // the server does not offer it
)

// Feature describes whether a feature works between one client and one server.
type Feature struct {
	Name string `json:"name"`
	How  string `json:"how"`            // Passes, WithApproval, NotClient or NotServer
	Note string `json:"note,omitempty"` // a sentence about a limitation, or ""
}

// Peer is one side of a connection: its era and its raw declared capabilities.
type Peer struct {
	Era          core.Era
	Capabilities json.RawMessage
	// OwnConnection, for a server, means that each client has its own connection, so that every
	// message of the server can be attributed to a client.
	OwnConnection bool
}

// FeatureMatrix returns the features between a client and a server in a fixed order. canAskUser
// means that the user can be asked for a client without elicitation. The features that a server
// offers are known from its capabilities. What it will request from the client is not known, so
// those features depend on the client alone.
func FeatureMatrix(client, server Peer, canAskUser bool) []Feature {
	var has map[string]json.RawMessage
	_ = json.Unmarshal(server.Capabilities, &has)
	offers := func(name string) bool {
		raw := has[name]
		return len(raw) > 0 && raw[0] == '{'
	}
	var resources struct{ Subscribe bool }
	_ = json.Unmarshal(has["resources"], &resources)

	list := make([]Feature, 0, 12)
	offered := func(name string, ok bool, note string) {
		f := Feature{Name: name, How: Passes, Note: note}
		if !ok {
			f.How, f.Note = NotServer, ""
		}
		list = append(list, f)
	}
	offered("tools", offers("tools"), "")
	offered("prompts", offers("prompts"), "")
	offered("resources", offers("resources"), "")
	offered("subscriptions", resources.Subscribe, "")
	offered("completions", offers("completions"), "")
	logging := ""
	if server.Era == core.Legacy && !server.OwnConnection {
		logging = "A client receives log messages only while its call is the only one in flight on the server."
	}
	offered("logging", offers("logging"), logging)
	offered("progress", true, "")
	offered("cancellation", true, "")

	can := parseClientCapabilities(client.Capabilities)
	shared := ""
	if server.Era == core.Legacy && !server.OwnConnection {
		shared = "While several calls to the server are in flight, a request from it is forwarded only if it says which call it belongs to."
	}
	asked := func(name string, able, question bool) {
		f := Feature{Name: name, How: NotClient}
		switch {
		case able:
			f.How, f.Note = Passes, shared
		case question && canAskUser:
			f.How = WithApproval
		}
		list = append(list, f)
	}
	asked("sampling", can.sampling, false)
	asked("elicitation", can.form, true)
	asked("elicitation by URL", can.url, true)
	asked("roots", can.roots, false)
	return list
}
