package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// recentTable holds at most limit records. A new one replaces the one that was used longest ago.
type recentTable[K comparable, V interface{ lastUse() time.Time }] struct {
	limit int

	mu    sync.Mutex
	byKey map[K]*V
}

func newRecentTable[K comparable, V interface{ lastUse() time.Time }](limit int) *recentTable[K, V] {
	return &recentTable[K, V]{limit: limit, byKey: map[K]*V{}}
}

// update changes the record with the key, which is first if there is none.
func (t *recentTable[K, V]) update(key K, first V, change func(*V)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[key] == nil {
		if len(t.byKey) >= t.limit {
			delete(t.byKey, t.oldest())
		}
		t.byKey[key] = &first
	}
	change(t.byKey[key])
}

func (t *recentTable[K, V]) oldest() (oldest K) {
	var since time.Time
	for key, record := range t.byKey {
		if used := (*record).lastUse(); since.IsZero() || used.Before(since) {
			oldest, since = key, used
		}
	}
	return oldest
}

// list returns copies of all records, the last used first.
func (t *recentTable[K, V]) list() []V {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]V, 0, len(t.byKey))
	for _, record := range t.byKey {
		all = append(all, *record)
	}
	slices.SortFunc(all, func(a, b V) int { return b.lastUse().Compare(a.lastUse()) })
	return all
}

// ClientInfo describes a client, for status pages.
type ClientInfo struct {
	core.Client
	Peer
	Protocol string // the negotiated protocol revision
	LastSeen time.Time
}

func (i ClientInfo) lastUse() time.Time { return i.LastSeen }

// clientRecords are the clients that were seen, and how they use the endpoints since the start of the
// daemon.
type clientRecords struct {
	now      func() time.Time
	unsaved  atomic.Bool // a client or what it supports is new
	clients  *recentTable[clientInfoKey, ClientInfo]
	activity *recentTable[activityKey, ClientActivity]
	names    sync.Map // token to the newest name of its application; tokens are few
}

const maxClientInfos = 128

// clientInfoKey has the era, because a client that speaks both eras has different features in each.
type clientInfoKey struct {
	client core.Client
	era    core.Era
}

// record adds or updates a client. It copies capabilities.
func (r *clientRecords) record(guest bool, client core.Client, era core.Era, protocol string, capabilities []byte) {
	if client.Token == "" && client.Name == "" {
		return // nothing that the user could recognize
	}
	if client.Token != "" && client.Name != "" && !guest {
		r.names.Store(client.Token, client.Name)
	}
	r.clients.update(clientInfoKey{client, era}, ClientInfo{Client: client, Peer: Peer{Era: era}}, func(info *ClientInfo) {
		if info.LastSeen.IsZero() || info.Protocol != protocol || !bytes.Equal(info.Capabilities, capabilities) {
			info.Capabilities = bytes.Clone(capabilities)
			r.unsaved.Store(true)
		}
		info.Protocol, info.LastSeen = protocol, r.now()
	})
}

// maxStoredCapabilities is the size in bytes of the largest capabilities that are stored.
const maxStoredCapabilities = 16 << 10

func (r *clientRecords) forStorage() []ClientInfo {
	return slices.DeleteFunc(r.clients.list(), func(i ClientInfo) bool { return len(i.Capabilities) > maxStoredCapabilities })
}

func (r *clientRecords) restore(stored []ClientInfo) {
	for _, one := range slices.Backward(stored) {
		r.clients.update(clientInfoKey{one.Client, one.Era}, one, func(*ClientInfo) {})
		if one.Token != "" && one.Name != "" && one.Name != one.Token {
			r.names.Store(one.Token, one.Name)
		}
	}
}

func (r *clientRecords) recordModern(rq *request) {
	version, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.ProtocolVersion))
	r.record(rq.guest, rq.client, core.Modern, shorten(version), rq.capabilities)
}

// ClientActivity describes how one client, identified by its token, uses one endpoint.
type ClientActivity struct {
	Token    string
	Endpoint string
	First    time.Time // first request since the daemon started
	Last     time.Time // last listing of tools
	Tools    int       // number of tools in that list
}

func (a ClientActivity) lastUse() time.Time { return a.Last }

// maxActivities bounds the memory: tokens are few, but clients choose the endpoints.
const maxActivities = 512

type activityKey struct{ token, path string }

func (r *clientRecords) recordListing(c core.Client, ep endpoint, view *registry.View) {
	if c.Token == "" {
		return
	}
	now := r.now()
	r.activity.update(activityKey{c.Token, ep.path}, ClientActivity{Token: c.Token, Endpoint: ep.path, First: now}, func(activity *ClientActivity) {
		activity.Last, activity.Tools = now, listedTools(ep, view)
	})
}

func listedTools(ep endpoint, view *registry.View) int {
	n := len(ModeTools(ep.toolMode))
	if ep.toolMode != ToolsSearch {
		n += len(view.Items(core.Tools))
	}
	return n
}

// identify returns the client of a request. A guest has the name of its token, which the user gave to it,
// so that it cannot pass for another client. What it claims only selects the limits of its application.
func (r *clientRecords) identify(origin requestOrigin, info []byte) core.Client {
	c := parseClientInfo(origin.token, info)
	if origin.guest {
		if c.Name != "" {
			r.names.Store(c.Token, c.Name)
		}
		c.Name = c.Token
	}
	return c
}

func parseClientInfo(token string, info []byte) core.Client {
	c := core.Client{Token: token}
	if len(info) == 0 || info[0] != '{' {
		return c
	}
	_ = wire.Members(info, func(m wire.Member) error {
		switch string(m.Name) {
		case "name":
			c.Name, _ = wire.Unquote(wire.Bytes(info, m.Value))
		case "version":
			c.Version, _ = wire.Unquote(wire.Bytes(info, m.Value))
		}
		return nil
	})
	c.Name, c.Version = shorten(c.Name), shorten(c.Version)
	return c
}

// shorten limits a string from a client to 128 bytes.
func shorten(s string) string { return core.CutBytes(s, 128) }

type clientCapabilities struct {
	sampling, samplingTools, roots, form, url bool
}

// parseClientCapabilities parses raw client capabilities. Elicitation without modes means form
// mode, as in revision 2025-06-18.
func parseClientCapabilities(capabilities []byte) clientCapabilities {
	var can clientCapabilities
	if len(capabilities) == 0 {
		return can
	}
	_ = wire.Members(capabilities, func(m wire.Member) error {
		raw := wire.Bytes(capabilities, m.Value)
		if raw[0] != '{' {
			return nil
		}
		switch string(m.Name) {
		case "sampling":
			found, err := wire.Pick(raw, "tools")
			can.sampling, can.samplingTools = true, err == nil && !found[0].Empty()
		case "roots":
			can.roots = true
		case "elicitation":
			var modes struct {
				Form, URL json.RawMessage
			}
			_ = json.Unmarshal(raw, &modes)
			can.url = modes.URL != nil
			can.form = modes.Form != nil || !can.url
		}
		return nil
	})
	return can
}

// missingFor returns the capability that a request of a server needs and the client lacks, or "".
func (c clientCapabilities) missingFor(method string, params []byte) string {
	switch method {
	case "sampling/createMessage":
		if !c.sampling {
			return "sampling"
		}
		if found, err := wire.Pick(params, "tools"); err == nil && !found[0].Empty() && !c.samplingTools {
			return "sampling with tools"
		}
	case "roots/list":
		if !c.roots {
			return "roots"
		}
	case "elicitation/create":
		var p struct {
			Mode string `json:"mode"`
		}
		_ = json.Unmarshal(params, &p)
		switch {
		case !c.form && !c.url:
			return "elicitation"
		case p.Mode == "url" && !c.url:
			return "elicitation by URL"
		case p.Mode != "url" && !c.form:
			return "elicitation by form"
		}
	case "ping":
	default:
		return method
	}
	return ""
}

// firstWithFormLists is the first revision whose forms may ask for several values of a list.
const firstWithFormLists = "2025-11-25"

func asksForList(params []byte) bool {
	var p struct {
		Schema struct {
			Properties map[string]struct{ Type string }
		} `json:"requestedSchema"`
	}
	_ = json.Unmarshal(params, &p)
	for _, property := range p.Schema.Properties {
		if property.Type == "array" {
			return true
		}
	}
	return false
}

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
	ToolMode string // ToolsAuto, ToolsSearch or ToolsDeferred; "" for that of the profile
	// MaxResultTokens is the maximum size of the text of tool results; 0 for no limit.
	MaxResultTokens int
	SingleCopy      bool // remove a structuredContent that the text of the result repeats
}

// ProfileVisibility is how the tools of a profile are listed.
type ProfileVisibility struct{ ToolMode string }

// The alternatives to listing all tools.
const (
	ToolsSearch   = "search"
	ToolsDeferred = "deferred"
	ToolsAuto     = "auto" // one of the three ways, see AutoMode
)

// SetVisibility replaces the visibility and notifies the clients whose lists change. The
// registry must know the profiles already.
func (b *Bridge) SetVisibility(v Visibility) {
	b.views.visibility.Store(&v)
	for _, l := range b.listeners.all() {
		b.listeners.announceAll(l)
	}
}

// HasVisibility reports whether r equals the current visibility. ProfileOf is not compared, because
// it is evaluated for each request.
func (b *Bridge) HasVisibility(v Visibility) bool {
	now := b.views.visibility.Load()
	return now != nil && now.Unknown == v.Unknown && now.Folders == v.Folders && maps.Equal(now.Clients, v.Clients) && maps.Equal(now.Profiles, v.Profiles)
}

// WorkspaceHeader is the working folder of a client: an absolute path, or one that is encoded as unpadded
// base64url. A shim sends it, and any other client may. It is not verified, just as the roots of a client are not.
const WorkspaceHeader = privatePrefix + "Workspace"

const maxWorkspace = 4096

// decodeWorkspace decodes the header. It returns "" unless the value is an absolute path.
func decodeWorkspace(header string) string {
	if filepath.IsAbs(header) { // of a client that cannot encode it
		return cleanFolder(header)
	}
	if header == "" || len(header) > base64.RawURLEncoding.EncodedLen(maxWorkspace) {
		return ""
	}
	path, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return ""
	}
	return cleanFolder(string(path))
}

func cleanFolder(path string) string {
	if len(path) > maxWorkspace || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return ""
	}
	return filepath.Clean(path)
}

// maxRoots limits the roots of a client that are considered.
const maxRoots = 100

func fileRoots(result []byte) (paths []string) {
	found, _ := wire.Pick(result, "roots")
	roots := wire.Bytes(result, found[0])
	_ = wire.Elements(roots, func(root core.Span) error {
		object := wire.Bytes(roots, root)
		if len(paths) >= maxRoots || object[0] != '{' {
			return nil
		}
		found, err := wire.Pick(object, "uri")
		uri, _ := wire.Unquote(wire.Bytes(object, found[0]))
		if path := filePath(uri); path != "" {
			paths = append(paths, path)
		}
		return err
	})
	return paths
}

func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" { // file:///C:/folder
		path = strings.TrimPrefix(path, "/")
	}
	return cleanFolder(filepath.FromSlash(path))
}

// rootsTimeout is how long a client may take to list its roots. After that the folder is unknown.
const rootsTimeout = 10 * time.Second

var errNoRoots = errors.New("the client did not list its roots")

// clientRoots caches the roots of a session's client. The client is asked once, and again
// after it reports that its roots changed.
type clientRoots struct {
	mu      sync.Mutex
	all     []string
	known   bool
	changes int
	asking  chan struct{} // closed when the request in progress has ended; nil if there is none
}

func (r *clientRoots) get() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return firstOf(r.all)
}

func firstOf(roots []string) string {
	if len(roots) == 0 {
		return ""
	}
	return roots[0]
}

// resolve returns the roots. If they are unknown, one caller asks, and the others wait for the
// answer. fresh reports that this caller has asked.
func (r *clientRoots) resolve(ctx context.Context, ask func(context.Context) ([]string, error)) (roots []string, fresh bool) {
	r.mu.Lock()
	for !r.known && r.asking != nil {
		asking := r.asking
		r.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			return nil, false
		}
		r.mu.Lock()
	}
	if r.known {
		defer r.mu.Unlock()
		return r.all, false
	}
	done, at := make(chan struct{}), r.changes
	r.asking = done
	r.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	roots, err := ask(limited)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = nil
	close(done)
	if at == r.changes && (err == nil || ctx.Err() == nil) { // a client that does not answer is not asked again
		r.all, r.known = roots, true
	}
	return roots, true
}

func (r *clientRoots) invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = false
	r.changes++
}

// askRoots asks a client for its roots on the stream of a call.
func askRoots(sink core.ServerMessageHandler) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		reply, err := sink.Ask(ctx, "roots/list", nil)
		if err != nil || len(reply.Result) == 0 {
			return nil, errNoRoots
		}
		return fileRoots(reply.Result), nil
	}
}

// folderSelectsProfile reports whether the folder of a client decides which profile it uses at the
// aggregate endpoint.
func (vs *views) folderSelectsProfile(ep endpoint, token string) bool {
	v := vs.visibility.Load()
	return ep.server == "" && ep.profile == "" && v != nil && v.Folders && v.Clients[token].Profile == "" && !vs.Elsewhere(token)
}

// applyFolderProfile limits a request of a legacy session to the profile of the folder that the
// client reports. The client is asked if necessary. refusal is the reason why it may not use the
// endpoint then, or "".
func (b *Bridge) applyFolderProfile(ctx context.Context, x *exchange, sink core.ServerMessageHandler) (refusal string) {
	s := x.session
	if s == nil || !s.parsedCapabilities.roots || !b.views.folderSelectsProfile(x.endpoint, x.origin.token) {
		return ""
	}
	roots, fresh := s.roots.resolve(ctx, askRoots(sink))
	if fresh {
		b.listeners.rootsResolved(s.listener)
	}
	x.origin.workspace = cmp.Or(firstOf(roots), x.origin.workspace)
	x.endpoint, refusal = b.views.authorize(x.endpoint.unscoped(), x.origin)
	return refusal
}

// rootsResolved announces lists that differ because of the folder of a client. Before the first
// answer the client has seen no list of this endpoint.
func (ls *listeners) rootsResolved(l *listener) {
	l.mu.Lock()
	first := !l.rootsReported
	l.rootsReported = true
	l.mu.Unlock()
	if !first {
		ls.run(func() { ls.announceAll(l) })
		return
	}
	seen := map[string]uint64{}
	for method := range listChangedKinds {
		seen[method] = ls.views.listHash(l, method)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.lastSent, seen)
}

// receiveNotification handles a notification of a client. ok is false if it is none: the client has
// forgotten the id of a request. Unknown notifications are ignored
// (https://www.jsonrpc.org/specification#notification).
func (b *Bridge) receiveNotification(x *exchange) (ok bool) {
	if s := x.session; s != nil {
		switch x.env.Method {
		case "notifications/roots/list_changed":
			b.rootsChanged(x)
		case "notifications/cancelled":
			s.cancelCall(wire.Bytes(x.rawParams(), x.params.RequestID), wire.Bytes(x.rawParams(), x.params.Reason))
		}
	}
	return b.forwardNotification(x) || strings.HasPrefix(x.env.Method, "notifications/")
}

// rootsChanged forgets the roots of a client. If they select its profile, and it has a stream open,
// it is asked for them at once, so that the change of the lists is announced; otherwise the next
// request asks.
func (b *Bridge) rootsChanged(x *exchange) {
	s := x.session
	s.roots.invalidate()
	if !s.parsedCapabilities.roots || !b.views.folderSelectsProfile(x.endpoint, x.origin.token) || s.listener.openStream() == nil {
		return
	}
	b.background.run(func() {
		if _, fresh := s.roots.resolve(s.ctx, func(ctx context.Context) ([]string, error) { return b.askOnStream(ctx, s) }); fresh {
			b.listeners.rootsResolved(s.listener)
		}
	})
}

// askOnStream asks a client for its roots on the stream for messages that belong to no call.
func (b *Bridge) askOnStream(ctx context.Context, s *session) ([]string, error) {
	stream := s.listener.openStream()
	if stream == nil {
		return nil, errNoRoots
	}
	return askRoots(&callMessageHandler{calls: b.calls, rq: &request{era: core.Legacy, session: s, client: s.client}, response: stream})(ctx)
}
