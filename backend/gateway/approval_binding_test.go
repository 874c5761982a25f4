package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/require"
)

// words is a store of words in memory.
type words struct {
	mu  sync.Mutex
	all map[string]string
}

func (w *words) Metadata(_ context.Context, key string) ([]byte, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	word, ok := w.all[key]
	return []byte(word), ok, nil
}

func (w *words) SaveMetadata(_ context.Context, key string, value []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[key] = string(value)
	return nil
}

// bindingWorld has one server, one file, and a user who answers what he saw at some time.
type bindingWorld struct {
	t          *testing.T
	r          *rand.Rand
	dir, file  string
	views      *registry.Registry
	inbox      *approvals.Inbox
	gateway    *Gateway
	items      *core.Subscription
	definition string // as listed now
	content    string // of the file now
	preview    string // what a preview returns now
	seen       card
	executed   int
	refused    int
}

// card is what the user saw.
type card struct {
	key, arguments, definition, content, preview string
}

func newBindingWorld(t *testing.T, seed uint64) *bindingWorld {
	w := &bindingWorld{t: t, r: rand.New(rand.NewPCG(seed, 56)), dir: t.TempDir(), views: registry.New(registry.Options{})}
	w.dir, _ = filepath.EvalSymlinks(w.dir)
	w.file = filepath.Join(w.dir, "notes.txt")
	bus := new(core.Bus)
	w.inbox = approvals.New(approvals.Options{Bus: bus})
	w.items = bus.Subscribe(1024, core.ApprovalEvent)
	t.Cleanup(w.items.Close)
	rules := policy.New(policy.Options{Views: w.views, Approvals: w.inbox})
	c, problems := config.Parse("c.json", fmt.Appendf(nil, `{"mcpServers": {"files": {"command": "x", "args": [%q], "approval": "ask"}}}`, w.dir))
	require.False(t, config.HasErrors(problems), problems)
	rules.Apply(c)
	w.views.Configure("", []registry.Server{{ID: "files"}})
	w.gateway = New(Options{Upstreams: w, Policy: rules, Recorder: w, Bus: bus})
	w.inbox.Previews = approvals.PreviewRunner{Call: w.gateway.Call, Store: &words{all: map[string]string{}}, Auto: func() bool { return false }}
	return w
}

func (w *bindingWorld) Record(*core.Call, core.Reply) {}

// For is called while an approved call waits for its server.
func (w *bindingWorld) For(_ context.Context, call *core.Call) (Upstream, error) {
	if !call.Preview {
		w.change(call)
	}
	return sendFunc(w.send), nil
}

func (w *bindingWorld) send(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	if call.Preview {
		text, _ := json.Marshal(w.preview)
		return core.Reply{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, text)}, nil
	}
	w.executed++
	now := card{w.seen.key, string(call.Params[call.Arguments.Start:call.Arguments.End]), w.definition, w.content, w.seen.preview}
	if now != w.seen {
		w.t.Errorf("executed %+v, approved %+v", now, w.seen)
	}
	return core.Reply{Result: []byte(`{"content":[]}`)}, nil
}

// change changes something, or nothing. call is one that was approved, or nil.
func (w *bindingWorld) change(call *core.Call) {
	switch w.r.IntN(12) {
	case 0, 1:
		w.write()
	case 2:
		w.list()
	case 3:
		w.preview = "dry run " + strconv.Itoa(w.r.IntN(3))
	case 4:
		if call != nil { // the bytes that are about to be sent
			call.Params[call.Arguments.End-3] ^= 1
		}
	case 5:
		if call != nil {
			call.Account += "x"
		}
	}
}

func (w *bindingWorld) write() {
	w.content = "line " + strconv.Itoa(w.r.IntN(3)) + "\n"
	if err := os.WriteFile(w.file, []byte(w.content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *bindingWorld) list() {
	w.definition = fmt.Sprintf(`{"name":"write_file","description":"%d","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"dryRun":{"type":"boolean"}}}}`, w.r.IntN(3))
	w.views.Set("files", "", &core.Catalog{Tools: []core.Item{{Name: "write_file", Raw: json.RawMessage(w.definition)}}})
}

// next returns the next change of the pending call, and what the user sees then.
func (w *bindingWorld) next() (approvals.Item, card) {
	item := (<-w.items.Events()).Data.(approvals.Item)
	shown := card{key: item.AnswerKey(), arguments: item.Held.Arguments, definition: string(item.Held.Definition), content: w.content}
	if p := item.Held.Preview; p != nil && p.State == approvals.PreviewDone {
		shown.preview = p.Text
	}
	return item, shown
}

// runPreview runs the preview and returns what the user sees then.
func (w *bindingWorld) runPreview(id string) (card, bool) {
	if w.inbox.RequestPreview(id) != nil {
		return card{}, false
	}
	for {
		item, shown := w.next()
		if item.State != "" {
			return shown, false // withdrawn, because the definition has changed
		}
		if item.Held.Preview.State != approvals.PreviewRunning {
			return shown, true
		}
	}
}

// round makes one call, of which the user sees several states and approves one of them.
func (w *bindingWorld) round() {
	w.write()
	w.list()
	arguments := fmt.Appendf(nil, `{"path":%q,"content":"line %d\n"}`, w.file, w.r.IntN(3))
	params := append([]byte(`{"name":"write_file","arguments":`), arguments...)
	call := &core.Call{Server: "files", Method: "tools/call", Name: "write_file", PublicName: "write_file", Client: core.Client{Token: "cursor"}, Params: append(params, '}')}
	call.Arguments = core.Span{Start: len(params) - len(arguments), End: len(params)}
	done := make(chan error, 1)
	go func() {
		_, err := w.gateway.Call(context.Background(), call, nil)
		done <- err
	}()
	item, shown := w.next()
	cards := []card{shown}
	pending := true
	for range w.r.IntN(4) {
		w.change(nil)
		if w.r.IntN(3) == 0 && pending {
			if shown, pending = w.runPreview(item.ID); pending {
				cards = append(cards, shown)
			}
		}
	}
	w.seen = cards[w.r.IntN(len(cards))]
	action := approvals.Accept
	if w.r.IntN(10) == 0 {
		action = approvals.Decline
	}
	if err := w.inbox.AnswerKey(context.Background(), w.seen.key, action); err != nil {
		_ = w.inbox.AnswerKey(context.Background(), item.ID, approvals.Cancel)
	}
	if <-done != nil {
		w.refused++
	}
	for len(w.items.Events()) > 0 {
		<-w.items.Events()
	}
}

// Whatever changes between the time when the user looks at a call and the time when it is sent, what is sent is what
// the user saw: the same bytes for the same definition, on the same file, after the same preview.
func TestApprovedCallIsExecutedOnlyAsItWasSeen(t *testing.T) {
	const shards, rounds = 4, 2500
	for shard := range shards {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			w := newBindingWorld(t, uint64(shard))
			for range rounds {
				if w.round(); t.Failed() {
					return
				}
			}
			if w.executed < rounds/5 || w.refused < rounds/5 {
				t.Errorf("%d executed, %d refused", w.executed, w.refused)
			}
			t.Logf("%d executed, %d refused", w.executed, w.refused)
		})
	}
}
