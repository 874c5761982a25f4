package bridge

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// changeDelay is how long list_changed waits for further changes, so that several of them make one
// notification.
const changeDelay = 10 * time.Millisecond

// listChangedKinds are the list_changed notifications, each with the kinds that it announces.
var listChangedKinds = map[string][]core.Kind{
	"notifications/tools/list_changed":     {core.Tools},
	"notifications/prompts/list_changed":   {core.Prompts},
	"notifications/resources/list_changed": {core.Resources, core.Templates},
}

// changed notifies the listeners that see the changed lists, after changeDelay. It does not block.
func (ls *listeners) changed(c registry.Change) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.changes = append(ls.changes, c); len(ls.changes) == 1 {
		time.AfterFunc(changeDelay, ls.announceChanges)
	}
}

// announceChanges notifies the listeners of the changes since its last run.
func (ls *listeners) announceChanges() {
	ls.mu.Lock()
	all, first := ls.changes, ls.announcedCount
	ls.announcedCount += len(ls.changes)
	ls.changes = nil
	ls.mu.Unlock()
	for _, l := range ls.all() {
		changes := all[min(max(l.changesWhenAdded-first, 0), len(all)):]
		for method, kinds := range listChangedKinds {
			concerns := func(c registry.Change) bool {
				return (c.Server == "" || l.endpoint.server == "" || l.endpoint.server == c.Server) &&
					slices.ContainsFunc(c.Kinds, func(kind core.Kind) bool { return slices.Contains(kinds, kind) })
			}
			if slices.ContainsFunc(changes, concerns) {
				ls.announceList(l, method, true)
			}
		}
	}
}

// served is called after a client has read a list. If changes wait to be announced, the client is notified even
// if they end in the list of its last notification: it has read another one.
func (ls *listeners) served(token string) {
	ls.mu.Lock()
	waiting := len(ls.changes) > 0
	ls.mu.Unlock()
	if !waiting {
		return
	}
	for _, l := range ls.all() {
		if l.origin.token == token {
			l.mu.Lock()
			clear(l.lastSent)
			l.mu.Unlock()
		}
	}
}

// announceAll notifies a listener of the lists that differ from those that it was last notified of.
func (ls *listeners) announceAll(l *listener) {
	for method := range listChangedKinds {
		ls.announceList(l, method, false)
	}
}

// announceList notifies a listener if its list has changed. A server may also announce a change
// although its list is the same; announced forwards that, except to a listener that is limited to a
// profile, which would learn of changes outside of the profile.
func (ls *listeners) announceList(l *listener, method string, announced bool) {
	ep, refusal := ls.views.authorize(l.endpoint, l.currentOrigin())
	hash := ls.views.listHash(l, method)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream == nil || l.methods != nil && !l.methods[method] {
		return
	}
	if l.lastSent[method] == hash && (!announced || refusal != "" || ep.scope != "") {
		return
	}
	l.lastSent[method] = hash
	l.enqueue(method, method, nil)
}

var listHashSeed = maphash.MakeSeed()

// listHash returns the hash of what a listener sees of the lists that a notification announces. It
// is 0 for a listener that may not see anything.
func (vs *views) listHash(l *listener, method string) uint64 {
	ep, refusal := vs.authorize(l.endpoint, l.currentOrigin())
	if refusal != "" {
		return 0
	}
	var hash maphash.Hash
	hash.SetSeed(listHashSeed)
	view := vs.of(ep, l.origin.token)
	for _, kind := range listChangedKinds[method] {
		_, _ = hash.Write(vs.listResult(ep, view, kind))
	}
	return hash.Sum64()
}

// listener receives the notifications that belong to no request: a legacy session, on the stream
// that it opens with GET, or a modern client, on the stream of subscriptions/listen.
type listener struct {
	run              func(func()) // runs a goroutine
	endpoint         endpoint     // as the client requested it, before the visibility is applied
	origin           requestOrigin
	client           core.Client
	capabilities     json.RawMessage       // of the client
	session          *session              // nil for a modern client
	changesWhenAdded int                   // the number of changes before it was added
	subscriptionID   []byte                // raw id of the request subscriptions/listen; nil for a legacy session
	tasks            map[taskKey]taskOwner // that a modern client requested
	methods          map[string]bool       // the list_changed notifications that a modern client requested; nil: all

	mu            sync.Mutex
	lastSent      map[string]uint64 // hash of the lists of the last notification, by method
	stream        *responseWriter   // nil while the client has no stream open
	queue         []queuedNotification
	sending       bool // send is running
	rootsReported bool // the client has reported its roots
}

// currentOrigin returns the origin with the folder that the client has reported last.
func (l *listener) currentOrigin() requestOrigin {
	origin := l.origin
	if l.session != nil {
		origin.workspace = l.session.folder(origin.workspace)
	}
	return origin
}

// openStream returns the stream of the listener, or nil.
func (l *listener) openStream() *responseWriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream
}

// queuedNotification is a notification that waits until the stream accepts it. A newer one with the
// same key replaces it.
type queuedNotification struct {
	key   string
	event []byte
}

// open adds a listener with the current hashes of its lists, for a session or for a request
// subscriptions/listen. wanted are the notifications that the request names, and tasks the tasks.
func (ls *listeners) open(rq *request, s *session, wanted *mcp.NotificationSubscriptions, tasks map[taskKey]task) *listener {
	l := &listener{run: ls.run, endpoint: rq.endpoint.unscoped(), origin: rq.requestOrigin, session: s, lastSent: map[string]uint64{}}
	ls.mu.Lock()
	l.changesWhenAdded = ls.announcedCount + len(ls.changes)
	ls.mu.Unlock()
	if s != nil {
		l.client, l.capabilities = s.client, s.capabilities
	} else {
		l.client, l.capabilities = rq.client, slices.Clone(rq.capabilities)
		l.subscriptionID = slices.Clone(rq.id)
		l.methods = map[string]bool{
			"notifications/tools/list_changed":     wanted.ToolsListChanged,
			"notifications/prompts/list_changed":   wanted.PromptsListChanged,
			"notifications/resources/list_changed": wanted.ResourcesListChanged,
		}
	}
	for method := range listChangedKinds {
		l.lastSent[method] = ls.views.listHash(l, method)
	}
	if len(tasks) > 0 {
		l.tasks = make(map[taskKey]taskOwner, len(tasks))
		for key, t := range tasks {
			l.tasks[key] = t.owner
		}
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.current[l] = struct{}{}
	return l
}

// listen serves subscriptions/listen until ctx ends.
func (b *Bridge) listen(ctx context.Context, rq *request, sink *callMessageHandler) (splitResult, *rpcError) {
	var params mcp.SubscriptionsListenParams
	if json.Unmarshal(rq.params, &params) != nil {
		return splitResult{}, rq.invalidParams()
	}
	wanted := params.Notifications
	if wanted == nil {
		return splitResult{}, newError(codeInvalidParams, "the params have no notifications")
	}
	tasks := b.tasks.requested(rq)
	l := b.listeners.open(rq, nil, wanted, tasks)
	defer b.listeners.remove(l)
	defer b.subscriptions.unsubscribeAll(l)
	wanted.ResourceSubscriptions = b.subscriptions.subscribeToAll(ctx, l, wanted.ResourceSubscriptions)
	defer b.tasks.listen(l, tasks)()
	accepted, rpcErr := encode(struct {
		*mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds,omitempty"`
	}{wanted, publicTaskIDs(rq.endpoint, tasks)})
	if rpcErr != nil {
		return splitResult{}, rpcErr
	}
	meta := slices.Concat([]byte(`"_meta":{"`+wire.MetaSubscriptionID+`":`), rq.id, []byte(`}}`))
	acknowledged := slices.Concat([]byte(`{"notifications":`), accepted, []byte{','}, meta)
	if sink.response.sendEvent(wire.AppendNotification(nil, "notifications/subscriptions/acknowledged", acknowledged)) == nil {
		b.listeners.attach(l, sink.response)
		defer l.detachStream(sink.response)
		if len(tasks) > 0 || len(wanted.ResourceSubscriptions) > 0 || wanted.ToolsListChanged || wanted.PromptsListChanged || wanted.ResourcesListChanged {
			<-ctx.Done()
		}
	}
	return b.results.complete(rq.method, append([]byte{'{'}, meta...)), nil
}

// attach makes stream the stream of a listener, unless it has one, and announces what has
// changed while it had none.
func (ls *listeners) attach(l *listener, stream *responseWriter) (attached bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		return false
	}
	l.stream = stream
	ls.run(func() { ls.announceAll(l) })
	return true
}

func (l *listener) detachStream(stream *responseWriter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != stream {
		return
	}
	for _, unsent := range l.queue {
		delete(l.lastSent, unsent.key)
	}
	l.stream, l.queue = nil, nil
}

// enqueue sends a notification in another goroutine, so that a client that does not read delays
// only itself. It must be called with l.mu held and a stream attached.
func (l *listener) enqueue(key, method string, params []byte) {
	if l.subscriptionID != nil {
		params = withSubscriptionID(params, l.subscriptionID)
	}
	next := queuedNotification{key, wire.AppendNotification(nil, method, params)}
	if i := slices.IndexFunc(l.queue, func(q queuedNotification) bool { return q.key == key }); i >= 0 {
		l.queue[i] = next
	} else {
		l.queue = append(l.queue, next)
	}
	l.startSending()
}

// notify sends a notification, if the client has a stream open.
func (l *listener) notify(key, method string, params []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		l.enqueue(key, method, params)
	}
}

func (l *listener) enqueueEvent(next queuedNotification) {
	l.queue = append(l.queue, next)
	l.startSending()
}

func (l *listener) startSending() {
	if !l.sending {
		l.sending = true
		l.run(l.send)
	}
}

// send writes the queue to the stream.
func (l *listener) send() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.sending = false
			l.mu.Unlock()
			return
		}
		next, stream := l.queue[0], l.stream
		l.queue = l.queue[1:]
		l.mu.Unlock()
		_ = stream.sendEvent(next.event)
	}
}

// withSubscriptionID adds the id of a subscription to the _meta of params, as the modern era
// requires. params may be empty; params that cannot be read are returned unchanged.
func withSubscriptionID(params, id []byte) []byte {
	if len(params) == 0 {
		params = []byte("{}")
	}
	spans, err := wire.ScanParams(params)
	if err != nil {
		return params
	}
	member := append([]byte(`"`+wire.MetaSubscriptionID+`":`), id...)
	edit := wire.Edit{Span: spans.SubscriptionID, With: id}
	if spans.SubscriptionID.Empty() {
		object := wire.Bytes(params, spans.Meta)
		switch {
		case len(object) > 0 && object[0] == '{':
			edit = insertMember(spans.Meta.Start, object, member)
		case len(object) > 0: // null
			edit = wire.Edit{Span: spans.Meta, With: slices.Concat([]byte{'{'}, member, []byte{'}'})}
		default:
			edit = insertMember(slices.Index(params, '{'), params, slices.Concat([]byte(`"_meta":{`), member, []byte{'}'}))
		}
	}
	return wire.Splice(nil, params, edit)
}

// insertMember returns the edit that inserts a member at the beginning of the object at start.
func insertMember(start int, object, member []byte) wire.Edit {
	if !isEmptyObject(object) {
		member = append(member, ',')
	}
	return wire.Edit{Span: core.Span{Start: start + 1, End: start + 1}, With: member}
}

// listeners holds all current listeners, and tells them what has changed.
type listeners struct {
	views *views
	run   func(func()) // runs a goroutine

	mu             sync.Mutex
	current        map[*listener]struct{}
	changes        []registry.Change // that announceChanges will announce
	announcedCount int               // the number of earlier changes
}

func (ls *listeners) remove(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.current, l)
}

// ofSession returns the listener of the legacy session with the id, or nil.
func (ls *listeners) ofSession(id string) *listener {
	for _, l := range ls.all() {
		if l.session != nil && l.session.id == id {
			return l
		}
	}
	return nil
}

// reach returns the listener of a legacy session that may receive messages of a server, or nil.
func (ls *listeners) reach(server, session string) (l *listener, ep endpoint) {
	if l = ls.ofSession(session); l == nil {
		return nil, ep
	}
	ep, refusal := ls.views.authorize(l.endpoint, l.currentOrigin())
	if refusal != "" || !hasServer(ls.views.of(ep, l.origin.token).Offers(), server) {
		return nil, ep
	}
	return l, ep
}

func (ls *listeners) all() []*listener {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Collect(maps.Keys(ls.current))
}
