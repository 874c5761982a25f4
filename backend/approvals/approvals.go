package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/schema"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Kind is the kind of a request to the user.
type Kind string

const (
	Form Kind = "form" // fill in the form described by Item.Schema
	URL  Kind = "url"  // open Item.URL
	Call Kind = "call" // approve the call in Item.Held
)

// Actions of the user on an item, with the values of MCP elicitation.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Scopes of the approval of a Call.
const (
	Once    = "once"
	Minutes = "minutes" // for policy.GrantTime
	Session = "session" // until the session of the client ends
	Always  = "always"
)

// Final states of an item without an action of the user.
const (
	Expired   = "expired"   // no answer before the deadline; counts as Decline
	Withdrawn = "withdrawn" // the request was cancelled
)

// ErrPermitted is the cause with which the context of Ask is cancelled if an answer to another item
// permits the call, too. The item then counts as accepted.
var ErrPermitted = errors.New("permitted by another answer")

// Item is a request that waits for the user. All fields except ID, Kind and the times come from a
// server or a client and must be displayed as plain text.
type Item struct {
	ID      string      `json:"id"`
	Kind    Kind        `json:"kind"`
	Server  string      `json:"server"` // id of the requesting server
	Client  core.Client `json:"client"` // client of the call that caused the request; zero if unknown
	Tool    string      `json:"tool"`   // public name of the called tool or prompt; may be ""
	Message string      `json:"message"`
	URL     string      `json:"url,omitempty"`
	Schema  string      `json:"schema,omitempty"`  // JSON schema of a Form: an object with flat properties
	Held    *Held       `json:"held,omitempty"`    // set for a Call
	Command *NewCommand `json:"command,omitempty"` // set for a new command
	At      time.Time   `json:"at"`
	Expires time.Time   `json:"expires"`
	// State is "" while the item is pending, then accept, decline, cancel, expired or withdrawn.
	State string `json:"state"`
	// Reason says why the item was withdrawn; "" for other states.
	Reason string `json:"reason,omitempty"`
}

// Held is a call that waits for approval.
type Held struct {
	CallID    int64  `json:"callId"`
	Tool      string `json:"tool"`      // name as the server lists it
	Arguments string `json:"arguments"` // complete JSON text as sent by the client
	Why       string `json:"why"`       // a sentence that explains which setting requires the approval
	Rule      string `json:"rule"`      // configuration key of the argument rule that asks, or ""
	RuleText  string `json:"ruleText"`  // its JSON text, or ""
	Workspace string `json:"workspace"` // working folder of the client, or ""
	Session   bool   `json:"session"`   // whether the call belongs to a session
	Effect    string `json:"effect"`    // effect of the tool according to its server: EffectReadOnly, ...

	Bound          string               `json:"-"` // identifies definition, arguments, account and launch settings
	Definition     []byte               `json:"-"` // of the tool
	PreviewSetting string               `json:"-"` // preview of the tool in the configuration
	Folders        []string             `json:"-"` // that the server was given; none if its files are not on this machine
	Cwd            string               `json:"-"` // working folder of the server, if the configuration sets it
	Caller         core.Call            `json:"-"` // who calls what, for further calls
	Client         core.ClientAdmission `json:"-"` // nil if the client is always admitted

	// The Inbox sets these. They are not changed after the item was published.
	Files    []FileChange `json:"-"`
	Preview  *Preview     `json:"-"` // nil if the tool has none
	Warnings []string     `json:"-"`
	Seen     string       `json:"-"` // identifies what the user sees

	previewName string // the argument of Preview; "" if the tool has none
}

// Effects of a tool, according to its server.
const (
	EffectReadOnly    = "read-only"
	EffectDestructive = "destructive"
	EffectUnknown     = "unknown"
)

// Answer is the answer to an item. Content is a JSON object; it is set if Action is Accept. For a
// Form it holds the values; for a Call it is a condition, as where in a rule on arguments, to which
// the approval of further calls is limited, or nil. Scope is set if the item is a Call.
type Answer struct {
	Action  string
	Scope   string
	Content json.RawMessage
	Expired bool // no answer before the deadline; Action is Decline
	// Unchanged returns an error if the files are not as the user saw them; nil if the user saw none.
	Unchanged func() error
}

// Options configure an Inbox. Bus is required.
type Options struct {
	Bus                *core.Bus
	AnswerTimeout      time.Duration    // deadline of an item; 2 minutes if zero
	MaxPending         int              // maximum number of pending items; 64 if zero
	MaxPendingPerOwner int              // maximum number of pending items per client and server; 8 if zero
	Now                func() time.Time // time.Now if nil
}

// Inbox holds the pending items. Its methods are safe for concurrent use.
type Inbox struct {
	Previews PreviewRunner // must be set before the first call of Ask

	opts Options

	mu      sync.Mutex
	lastID  int
	pending []*pendingItem // oldest first

	lastViewer int
	viewers    map[int]func() bool // see AddViewer
}

type pendingItem struct {
	item   Item
	answer chan Answer // buffered, for one answer

	preview chan struct{} // buffered; asks for a preview
}

// AddViewer adds something that shows items to the user while shows returns true, such as an open
// page. shows must not call the Inbox. remove removes it.
func (b *Inbox) AddViewer(shows func() bool) (remove func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastViewer++
	id := b.lastViewer
	b.viewers[id] = shows
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.viewers, id)
	}
}

// Watched reports whether the user would see an item now.
func (b *Inbox) Watched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, shows := range b.viewers {
		if shows() {
			return true
		}
	}
	return false
}

// New returns an empty Inbox.
func New(o Options) *Inbox {
	if o.Bus == nil {
		panic("approvals: Options.Bus is nil")
	}
	if o.AnswerTimeout <= 0 {
		o.AnswerTimeout = 2 * time.Minute
	}
	if o.MaxPending <= 0 {
		o.MaxPending = 64
	}
	if o.MaxPendingPerOwner <= 0 {
		o.MaxPendingPerOwner = 8
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Inbox{opts: o, viewers: map[int]func() bool{}}
}

// Ask adds item and blocks until it is answered or its deadline has passed, which returns Decline.
// It sets ID, State and the times of the item. It returns a *core.Error for the server if the item
// is too large or too many items are pending, and the cause of ctx if ctx is cancelled first.
func (b *Inbox) Ask(ctx context.Context, item Item) (Answer, error) {
	if item.Held != nil {
		b.describe(ctx, &item)
	}
	w, err := b.add(item)
	if err != nil {
		return Answer{}, err
	}
	limit := time.NewTimer(b.opts.AnswerTimeout)
	defer limit.Stop()
	previews, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait() // a preview must not overlap with the call
	defer stop()
	if p := previewOf(&item); p != nil && p.Checked && p.State == PreviewOffered && b.Previews.Auto() {
		_ = b.RequestPreview(w.item.ID)
	}
	var state, reason string
	for state == "" {
		select {
		case answer := <-w.answer:
			return answer, nil
		case <-w.preview:
			running.Go(func() { b.runPreview(previews, w.item.ID) })
		case <-limit.C:
			state = Expired
		case <-ctx.Done():
			if state = Withdrawn; errors.Is(context.Cause(ctx), ErrPermitted) {
				state = Accept
			} else {
				reason, _ = core.Describe(context.Cause(ctx))
			}
		}
	}
	if !b.end(w, state, reason) { // answered at the same moment
		return <-w.answer, nil
	}
	if state != Expired {
		return Answer{}, context.Cause(ctx)
	}
	return Answer{Action: Decline, Expired: true}, nil
}

// Limits in bytes: maxText of a message or URL, maxSchema of a form, maxHeld of the arguments of
// all pending calls together.
const (
	maxText   = 8 << 10
	maxSchema = 64 << 10
	maxHeld   = 32 << 20
)

func (b *Inbox) add(item Item) (*pendingItem, error) {
	if len(item.Message) > maxText || len(item.URL) > maxText || len(item.Schema) > maxSchema {
		return nil, core.Errorf(core.CodeValidation, "the approval request is too large to display")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// No client can use up what is there for all: its share is a quarter of the items and half of
	// the bytes.
	same, ofClient, ofServer := 0, 0, 0
	held, heldByClient := item.size(), item.size()
	for _, w := range b.pending {
		held += w.item.size()
		client, server := w.item.owner() == item.owner(), w.item.Server == item.Server
		if client {
			ofClient++
			heldByClient += w.item.size()
		}
		if server {
			ofServer++
		}
		if client && server {
			same++
		}
	}
	if len(b.pending) >= b.opts.MaxPending || same >= b.opts.MaxPendingPerOwner || ofClient >= max(b.opts.MaxPendingPerOwner, b.opts.MaxPending/4) ||
		ofServer >= max(b.opts.MaxPendingPerOwner, b.opts.MaxPending/2) || held > maxHeld || heldByClient > maxHeld/2 {
		return nil, core.Errorf(core.CodeRateLimited, "too many approvals are already pending")
	}
	item.At = b.opts.Now().UTC()
	item.Expires = item.At.Add(b.opts.AnswerTimeout)
	item.ID, item.State = b.newID(item.At), ""
	w := &pendingItem{item: item, answer: make(chan Answer, 1), preview: make(chan struct{}, 1)}
	b.pending = append(b.pending, w)
	b.opts.Bus.Publish(core.ApprovalEvent, item)
	return w, nil
}

func (b *Inbox) end(w *pendingItem, state, reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remove(w, state, reason)
}

func (b *Inbox) remove(w *pendingItem, state, reason string) bool {
	at := slices.Index(b.pending, w)
	if at < 0 {
		return false
	}
	b.pending = slices.Delete(b.pending, at, at+1)
	gone := w.item
	gone.State, gone.Reason = state, reason
	b.opts.Bus.Publish(core.ApprovalEvent, gone)
	return true
}

// owner identifies the client that caused the item by its token, because its name is only claimed.
// Items without a client belong to their server.
func (i *Item) owner() string {
	if i.Client.Token != "" {
		return "client " + i.Client.Token
	}
	return "server " + i.Server
}

func (i *Item) size() int {
	if i.Held == nil {
		return 0
	}
	return len(i.Held.Arguments)
}

// Item returns a pending item.
func (b *Inbox) Item(id string) (Item, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.pending {
		if w.item.ID == id {
			return w.item, true
		}
	}
	return Item{}, false
}

// List returns the pending items, oldest first. It never returns nil.
func (b *Inbox) List() []Item {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Item, 0, len(b.pending))
	for _, w := range b.pending {
		list = append(list, w.item)
	}
	return list
}

// Answer answers a pending item. To accept a Form, content must match its schema; otherwise content
// is ignored. If the item is not pending, the error is a *core.Error with CodeNotFound.
func (b *Inbox) Answer(id, action string, content json.RawMessage) error {
	return b.AnswerFor(context.Background(), id, action, Once, "", content)
}

// AnswerFor is Answer with a scope and with Held.Seen as the user saw it, which apply to a Call. If the
// call shows something else now, the error has CodeConflict and the call stays pending; without seen, the
// answer is about the call whatever it shows. The caller has checked the condition in content.
func (b *Inbox) AnswerFor(ctx context.Context, id, action, scope, seen string, content json.RawMessage) error {
	if scope != Once && scope != Minutes && scope != Session && scope != Always {
		return invalidAnswer("scope", "must be once, minutes, session or always")
	}
	if action != Accept && action != Decline && action != Cancel {
		return invalidAnswer("action", "must be accept, decline or cancel")
	}
	if action == Accept {
		if err := b.checkSeen(ctx, id, seen); err != nil {
			return err
		}
		// Not under the lock: the server wrote the schema, and it may take long to compile.
		if form, ok := b.formSchema(id); ok {
			if fields := validateForm(form, content); len(fields) > 0 {
				return &core.Error{Code: core.CodeValidation, Message: "the answer does not match the form", Fields: fields}
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.find(id)
	if w == nil {
		return core.Errorf(core.CodeNotFound, "this approval is no longer pending")
	}
	answer := Answer{Action: action}
	if w.item.Kind == Call {
		answer.Scope, answer.Content = scope, slices.Clone(content)
		if seen != "" {
			answer.Unchanged = w.item.Held.unchanged()
		}
		if action == Accept && seen != "" && seen != w.item.Held.Seen { // since checkSeen
			return seenError()
		}
	}
	if w.item.Kind == Call && !w.item.Held.Session && scope == Session {
		return invalidAnswer("scope", "cannot be session: the call is not part of a session")
	}
	if action == Accept && w.item.Kind == Form {
		answer.Content = slices.Clone(content)
	}
	b.remove(w, action, "")
	w.answer <- answer
	return nil
}

// find returns a pending item, or nil. b.mu must be locked.
func (b *Inbox) find(id string) *pendingItem {
	for _, w := range b.pending {
		if w.item.ID == id {
			return w
		}
	}
	return nil
}

// formSchema returns the schema of a pending form. ok is false for other items.
func (b *Inbox) formSchema(id string) (schema string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.find(id)
	if w == nil || w.item.Kind != Form {
		return "", false
	}
	return w.item.Schema, true
}

func invalidAnswer(field, message string) error {
	return &core.Error{
		Code: core.CodeValidation, Message: "the answer is not valid",
		Fields: []core.FieldError{{Field: field, Error: message}},
	}
}

// ErrUnsupportedElicitation is the error for an elicitation request that cannot be shown to the
// user.
var ErrUnsupportedElicitation = errors.New("cannot display the elicitation request")

// ItemFromElicitation converts the params of an elicitation/create request to an Item.
func ItemFromElicitation(params []byte) (Item, error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return Item{}, ErrUnsupportedElicitation
	}
	item := Item{Kind: Form, Message: p.Message, Schema: string(p.Schema)}
	switch p.Mode {
	case "", "form":
	case "url":
		if !isWebURL(p.URL) {
			return Item{}, ErrUnsupportedElicitation
		}
		item.Kind, item.URL, item.Schema = URL, p.URL, ""
	default:
		return Item{}, ErrUnsupportedElicitation
	}
	return item, nil
}

// Result returns the answer as the result of an elicitation/create request.
func (a Answer) Result() json.RawMessage {
	out := append([]byte(`{"action":"`), a.Action...)
	out = append(out, '"')
	if len(a.Content) > 0 {
		out = append(append(out, `,"content":`...), a.Content...)
	}
	return append(out, '}')
}

// newID returns a new item id. It contains the time, so that a stale page never answers an item of
// a later run. The caller must hold b.mu.
func (b *Inbox) newID(at time.Time) string {
	b.lastID++
	return strconv.FormatInt(at.UnixMicro(), 36) + "-" + strconv.Itoa(b.lastID)
}

// isWebURL reports whether text is an http or https URL without credentials, which is safe to
// open.
func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

// validateForm validates content against the schema of a form and returns the invalid fields. An
// unsupported schema is left to the server, which has to validate the answer anyway.
func validateForm(form string, content []byte) []core.FieldError {
	value, err := wire.Decode(content)
	if _, object := value.(map[string]any); err != nil || !object {
		return []core.FieldError{{Field: "content", Error: "must be an object"}}
	}
	wrong := schema.Compile([]byte(form)).Check(value)
	for i := range wrong {
		wrong[i].Field = strings.TrimSuffix("content."+wrong[i].Field, ".")
	}
	return wrong
}
