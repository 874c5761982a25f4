package bridge

import (
	"maps"
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
