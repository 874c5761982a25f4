package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
)

// Kind is what the user is asked for.
type Kind string

const (
	Form Kind = "form" // fill in a form; Item.Schema says which
	URL  Kind = "url"  // open Item.URL and come back
	Call Kind = "call" // let a call go ahead; Item.Held says which
)

// What the user can do with an item. The words are those of MCP's elicitation.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// For how long the user accepts a Call.
const (
	Once    = "once"
	Minutes = "minutes" // for a while: policy says how long
	Always  = "always"
)

// How an item ended without the user.
const (
	Expired   = "expired"   // nobody answered in time; counts as Decline
	Withdrawn = "withdrawn" // whoever asked no longer wants to know
)

// Item is one thing that waits for the user. It is a value; Schema is read-only.
// Everything in it but ID, the times and Kind comes from a server or a client: it is
// to be shown as text.
type Item struct {
	ID      string      `json:"id"`
	Kind    Kind        `json:"kind"`
	Server  string      `json:"server"` // id of the server that asks
	Client  core.Client `json:"client"` // whose call made it ask; empty when that is unknown
	Tool    string      `json:"tool"`   // public name of the tool or prompt that was called; may be ""
	Message string      `json:"message"`
	URL     string      `json:"url,omitempty"`
	Schema  string      `json:"schema,omitempty"` // of the form's content, JSON text: an object of flat properties
	Held    *Held       `json:"held,omitempty"`   // of a Call
	At      time.Time   `json:"at"`
	Expires time.Time   `json:"expires"`
	// State is "" while the item waits, afterwards how it ended: accept, decline,
	// cancel, expired or withdrawn.
	State string `json:"state"`
}

// Held is a call that waits for the user.
type Held struct {
	CallID    int64  `json:"callId"`
	Tool      string `json:"tool"`      // as the server knows it
	Arguments string `json:"arguments"` // whole, as the client sent them; JSON text
	Why       string `json:"why"`       // whose wish it is to be asked, as a sentence
	Effect    string `json:"effect"`    // what the server says of the tool: EffectReadOnly and so on
}

// What a tool does, as its server says.
const (
	EffectReadOnly    = "read-only"
	EffectDestructive = "destructive"
	EffectUnknown     = "unknown"
)

// Answer is what the user said. Content is set when Action is Accept and the item
// was a Form: an object. Scope is set when it was a Call.
type Answer struct {
	Action  string
	Scope   string
	Content json.RawMessage
	Expired bool // nobody answered: Action is Decline
}

// Options is what an Inbox needs. Only Bus may not be nil.
type Options struct {
	Bus   *event.Bus
	Limit time.Duration    // how long an item waits; 0: 2 minutes
	Most  int              // items that may wait at once; 0: 64
	Each  int              // of these, items of one server; 0: 8
	Now   func() time.Time // nil: time.Now
}

// Inbox holds the items that wait. All methods may be called from any goroutine.
type Inbox struct {
	o Options

	mu      sync.Mutex
	last    int
	waiting []*waiting // oldest first
}

type waiting struct {
	item   Item
	answer chan Answer // holds one
}

// New returns an empty Inbox.
func New(o Options) *Inbox {
	if o.Bus == nil {
		panic("inbox: Bus is missing")
	}
	if o.Limit <= 0 {
		o.Limit = 2 * time.Minute
	}
	if o.Most <= 0 {
		o.Most = 64
	}
	if o.Each <= 0 {
		o.Each = 8
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Inbox{o: o}
}

// Ask shows item to the user and waits for the answer. It fills in ID, times and
// State. Nobody answering is an Answer as well: Decline. The error is one for the server to read when
// too much waits already, or the cause of ctx when that ends first.
func (b *Inbox) Ask(ctx context.Context, item Item) (Answer, error) {
	w, err := b.add(item)
	if err != nil {
		return Answer{}, err
	}
	limit := time.NewTimer(b.o.Limit)
	defer limit.Stop()
	var state string
	select {
	case answer := <-w.answer:
		return answer, nil
	case <-limit.C:
		state = Expired
	case <-ctx.Done():
		state = Withdrawn
	}
	if !b.end(w, state) { // the answer came just now
		return <-w.answer, nil
	}
	if state == Withdrawn {
		return Answer{}, context.Cause(ctx)
	}
	return Answer{Action: Decline, Expired: true}, nil
}

// maxText is the longest message or URL that is shown, maxSchema the largest form,
// maxHeld the arguments of all calls that wait.
const (
	maxText   = 8 << 10
	maxSchema = 64 << 10
	maxHeld   = 32 << 20
)

func (b *Inbox) add(item Item) (*waiting, error) {
	if len(item.Message) > maxText || len(item.URL) > maxText || len(item.Schema) > maxSchema {
		return nil, core.Errorf(core.CodeValidation, "the question is too large to be shown to the user")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	same, held := 0, item.size()
	for _, w := range b.waiting {
		held += w.item.size()
		if w.item.Server == item.Server {
			same++
		}
	}
	if len(b.waiting) >= b.o.Most || same >= b.o.Each || held > maxHeld {
		return nil, core.Errorf(core.CodeRateLimited, "too many questions wait for the user already")
	}
	item.At = b.o.Now().UTC()
	item.Expires = item.At.Add(b.o.Limit)
	item.ID, item.State = b.id(item.At), ""
	w := &waiting{item: item, answer: make(chan Answer, 1)}
	b.waiting = append(b.waiting, w)
	b.o.Bus.Publish(event.Approval, item)
	return w, nil
}

// end takes w out and reports whether it still waited.
func (b *Inbox) end(w *waiting, state string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remove(w, state)
}

// remove must be called with b.mu held.
func (b *Inbox) remove(w *waiting, state string) bool {
	at := slices.Index(b.waiting, w)
	if at < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, at, at+1)
	gone := w.item
	gone.State = state
	b.o.Bus.Publish(event.Approval, gone)
	return true
}

func (i *Item) size() int {
	if i.Held == nil {
		return 0
	}
	return len(i.Held.Arguments)
}

// Item returns one that waits.
func (b *Inbox) Item(id string) (Item, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waiting {
		if w.item.ID == id {
			return w.item, true
		}
	}
	return Item{}, false
}

// List returns what waits, oldest first; never nil.
func (b *Inbox) List() []Item {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Item, 0, len(b.waiting))
	for _, w := range b.waiting {
		list = append(list, w.item)
	}
	return list
}

// Answer gives the user's answer to an item. content is needed to accept a form
// and must fit its schema; otherwise it is ignored. An item that no longer waits is
// a *core.Error with CodeNotFound.
func (b *Inbox) Answer(id, action string, content json.RawMessage) error {
	return b.AnswerFor(id, action, Once, content)
}

// AnswerFor is Answer with a scope, which counts when a Call is accepted.
func (b *Inbox) AnswerFor(id, action, scope string, content json.RawMessage) error {
	if scope != Once && scope != Minutes && scope != Always {
		return invalid("scope", "must be once, minutes or always")
	}
	if action != Accept && action != Decline && action != Cancel {
		return invalid("action", "must be accept, decline or cancel")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.waiting, func(w *waiting) bool { return w.item.ID == id })
	if at < 0 {
		return core.Errorf(core.CodeNotFound, "this question no longer waits for an answer")
	}
	w := b.waiting[at]
	answer := Answer{Action: action}
	if w.item.Kind == Call {
		answer.Scope = scope
	}
	if action == Accept && w.item.Kind == Form {
		fields := check(w.item.Schema, content)
		if len(fields) > 0 {
			return &core.Error{Code: core.CodeValidation, Message: "the answer does not fit the form", Fields: fields}
		}
		answer.Content = slices.Clone(content)
	}
	b.remove(w, action)
	w.answer <- answer
	return nil
}

func invalid(field, message string) error {
	return &core.Error{
		Code: core.CodeValidation, Message: "the answer is not valid",
		Fields: []core.FieldError{{Field: field, Error: message}},
	}
}

// ErrNoQuestion says that a server's request is no question for the user.
var ErrNoQuestion = errors.New("no question for the user")

// Question makes an item of the params of an elicitation/create request.
func Question(params []byte) (Item, error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return Item{}, ErrNoQuestion
	}
	item := Item{Kind: Form, Message: p.Message, Schema: string(p.Schema)}
	switch p.Mode {
	case "", "form":
	case "url":
		if !webAddress(p.URL) {
			return Item{}, ErrNoQuestion
		}
		item.Kind, item.URL, item.Schema = URL, p.URL, ""
	default:
		return Item{}, ErrNoQuestion
	}
	return item, nil
}

// Result is the answer as the result of an elicitation/create request.
func (a Answer) Result() json.RawMessage {
	out := append([]byte(`{"action":"`), a.Action...)
	out = append(out, '"')
	if len(a.Content) > 0 {
		out = append(append(out, `,"content":`...), a.Content...)
	}
	return append(out, '}')
}
