package bridge

import (
	"maps"

	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// Visibility defines what each client may see, in addition to the endpoint that it calls. The zero
// value shows everything to every client.
type Visibility struct {
	Clients  map[string]ClientVisibility // by token name
	Profiles map[string]ProfileVisibility
	// Unknown is the reason why the visibility could not be determined, or "". If it is set, no
	// client sees anything.
	Unknown string
	// ProfileOf returns the profile that is bound to the working folder of a client, or "".
	ProfileOf func(folder string) string
	// Folders reports whether any profile is bound to a folder.
	Folders bool
}

// ClientVisibility is what one client sees.
type ClientVisibility struct {
	Profile  string // the only profile that it may use; "" for no restriction
	ToolMode string // ToolsSearch or ToolsDeferred; "" for that of the profile
	// MaxResultTokens is the maximum size of the text of tool results; 0 for no limit.
	MaxResultTokens int
}

// ProfileVisibility is how the tools of a profile are listed.
type ProfileVisibility struct{ ToolMode string }

// The alternatives to listing all tools.
const (
	ToolsSearch   = "search"
	ToolsDeferred = "deferred"
)

// SetVisibility replaces the visibility and notifies the clients whose lists change. The
// registry must know the profiles already.
func (b *Bridge) SetVisibility(v Visibility) {
	b.visibility.Store(&v)
	for _, l := range b.listeners.all() {
		b.announceAll(l)
	}
}

// HasVisibility reports whether r equals the current visibility. ProfileOf is not compared, because
// it is evaluated for each request.
func (b *Bridge) HasVisibility(v Visibility) bool {
	now := b.visibility.Load()
	return now != nil && now.Unknown == v.Unknown && now.Folders == v.Folders && maps.Equal(now.Clients, v.Clients) && maps.Equal(now.Profiles, v.Profiles)
}

// authorizeEndpoint returns the endpoint with the restrictions of the request. They depend on the
// token, the path and the folder of the client. The folder comes with every request, or it is the
// one that the client of a legacy session has reported; nothing else depends on earlier requests.
// refusal is the reason why the client may not use the path, or "".
func (b *Bridge) authorizeEndpoint(ep endpoint, origin requestOrigin) (_ endpoint, refusal string) {
	visibility := b.visibility.Load()
	if visibility == nil {
		ep.scope = ep.profile
		return ep, ""
	}
	client := visibility.Clients[origin.token]
	switch {
	case visibility.Unknown != "":
		return ep, visibility.Unknown
	case client.Profile != "" && !b.Registry.HasProfile(client.Profile):
		return ep, `the profile "` + client.Profile + `" of this client no longer exists: choose another one on the Clients page of the web UI, or under 'clients' in the configuration`
	case client.Profile != "" && ep.profile != "" && ep.profile != client.Profile:
		return ep, `this client may only use the profile "` + client.Profile + `"`
	case client.Profile != "":
		ep.scope = client.Profile
		if _, in := b.Registry.ProfileServer(ep.scope, ep.server); ep.server != "" && !in {
			return ep, `the profile "` + client.Profile + `" of this client does not include this server`
		}
	case ep.profile != "":
		ep.scope = ep.profile
	case ep.server == "" && origin.workspace != "" && visibility.ProfileOf != nil:
		ep.scope = visibility.ProfileOf(origin.workspace)
	}
	if ep.server == "" {
		ep.toolMode = client.ToolMode
		if ep.toolMode == "" && ep.scope != "" {
			ep.toolMode = visibility.Profiles[ep.scope].ToolMode
		}
		if ep.toolMode != ToolsSearch && ep.toolMode != ToolsDeferred {
			ep.toolMode = ""
		}
		if b.StoredResult != nil {
			ep.maxResult = client.MaxResultTokens * bytesPerToken
		}
	}
	return ep, ""
}

// profileView returns the view of a request that is limited to a profile. The view of a profile
// that no longer exists is empty.
func (b *Bridge) profileView(ep endpoint, limit int) *registry.View {
	v, ok := b.Registry.Profile(ep.scope, limit)
	if ep.server != "" {
		v, ok = b.Registry.ProfileServer(ep.scope, ep.server)
	}
	if !ok {
		return b.emptyView
	}
	return v
}
