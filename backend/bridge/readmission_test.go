package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// waitingCalls is the real call path with the server "files", whose tool "put" is called while
// everything around it can be changed.
type waitingCalls struct {
	*fixture
	policy *policy.Policy
	inbox  *approvals.Inbox
	server func(w *waitingCalls, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
	step   chan struct{} // closed when the wait ends

	calls    sync.WaitGroup
	executed atomic.Int32 // what the server did that the client may no longer have wanted
	reached  chan struct{}
	starting bool // the server starts when step is closed

	upstreamWaits bool // until step is closed, before the server gets the call

	mu         sync.Mutex
	credential string // of the client; "" is none
	process    string
	processErr error
	withheld   bool
}

const putTool = `{"name":"put","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true},"execution":{"taskSupport":"optional"}}`

func newWaitingCalls(t *testing.T) *waitingCalls {
	w := &waitingCalls{inbox: approvals.New(approvals.Options{Bus: new(core.Bus)}), step: make(chan struct{}), reached: make(chan struct{}, 8), credential: "a", process: "files#1"}
	reg := registry.New(registry.Options{Withhold: func(string, *core.Catalog) (map[core.Kind]map[string]string, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.withheld {
			return map[core.Kind]map[string]string{core.Tools: {"put": "its definition has changed"}}, false
		}
		return nil, false
	}})
	w.fixture = &fixture{T: t, registry: reg, lister: &fakeLister{}}
	w.policy = policy.New(policy.Options{Views: reg, Approvals: w.inbox, Process: func(*core.Call) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.process, w.processErr
	}})
	g := gateway.New(gateway.Options{Upstreams: w, Recorder: nothingRecorded{}, Policy: w.policy, Bus: new(core.Bus)})
	w.fixture.serve(Options{Registry: reg, Gateway: g, Lister: w.lister, Approvals: w.inbox, Credential: func(string) ([sha256.Size]byte, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return sha256.Sum256([]byte(w.credential)), w.credential != ""
	}})
	return w
}

type nothingRecorded struct{}

func (nothingRecorded) Record(*core.Call, core.Reply) {}

// apply applies a configuration with the keys of the server and of the root.
func (w *waitingCalls) apply(server, root string) {
	w.Helper()
	if !strings.Contains(server, `"command"`) && !strings.Contains(server, `"url"`) {
		server += `,"command":"x"`
	}
	w.applyServers(`{"files":{`+strings.TrimPrefix(server, ",")+`}}`, root)
}

func (w *waitingCalls) applyServers(servers, root string) {
	w.Helper()
	c, problems := config.Parse("c.json", []byte(`{`+root+`"mcpServers":`+servers+`}`))
	if c == nil || config.HasErrors(problems) {
		w.Fatal(problems)
	}
	w.policy.Apply(c)
	var list []registry.Server
	for _, s := range c.Servers {
		if !s.Disabled { // as the supervisor does
			list = append(list, registry.Server{ID: s.ID, Filter: s.Filter})
		}
	}
	w.registry.Configure(registry.Prefixed, list)
	v := Visibility{Clients: map[string]ClientVisibility{}, Profiles: map[string]ProfileVisibility{}}
	for name, client := range c.Clients {
		v.Clients[name] = ClientVisibility{Profile: client.Profile}
	}
	w.registry.SetProfiles(c.Profiles)
	w.bridge.SetVisibility(v)
}

func (w *waitingCalls) list(tool string) {
	var named struct{ Name string }
	if err := json.Unmarshal([]byte(tool), &named); err != nil {
		w.Fatal(err)
	}
	w.registry.Set("files", "", &core.Catalog{Tools: []core.Item{{Name: named.Name, Raw: json.RawMessage(tool)}}, Capabilities: json.RawMessage(`{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)})
}

// For implements gateway.Upstreams.
func (w *waitingCalls) For(ctx context.Context, _ *core.Call) (gateway.Upstream, error) {
	if w.starting {
		w.reached <- struct{}{}
		select {
		case <-w.step:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return sendFunc(w.toServer), nil
}

func (w *waitingCalls) toServer(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	if w.upstreamWaits {
		w.reached <- struct{}{}
		<-w.step
		if err := core.Readmit(ctx); err != nil {
			return core.Reply{}, err
		}
	}
	return w.server(w, call, sink)
}

func (f sendFunc) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	return f(ctx, call, sink)
}

type sendFunc func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error)

var doneReply = core.Reply{Result: json.RawMessage(`{"content":[]}`)}

func execute(w *waitingCalls, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	w.executed.Add(1)
	return doneReply, nil
}

// askAndExecute asks the user for input before it does anything.
func askAndExecute(w *waitingCalls, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	if reply, err := sink.Ask(w.Context(), "elicitation/create", json.RawMessage(elicitation)); err != nil || len(reply.Result) == 0 {
		return core.Reply{}, err
	}
	return execute(w, call, nil)
}

var legacyTask = core.Reply{Result: json.RawMessage(`{"task":{"taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}`)}

const elicitation = `{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}`

// theWaits are the waits of a call: how it begins to wait, and how the wait ends. The call has
// continued if executed is 1.
var theWaits = map[string]struct {
	server string // configuration
	serve  func(*waitingCalls, *core.Call, core.ServerMessageHandler) (core.Reply, error)
	start  bool
	inside bool   // the upstream waits: for a process of the call's own, a new session or a new token
	legacy string // the request that a legacy client makes later
	modern string // capabilities of a modern client; "" is a legacy client
	begin  func(*waitingCalls)
	end    func(*waitingCalls)
	card   bool // something waits for the user
	later  bool // the client makes another request, with its current token
}{
	"for approval": {server: `"approval":"ask"`, serve: execute, end: acceptCard, card: true},
	"for a slot": {
		server: `"concurrency":{"max":1}`,
		serve: func(w *waitingCalls, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			if strings.Contains(string(call.Params), "first") {
				w.reached <- struct{}{}
				<-w.step
				return doneReply, nil
			}
			return execute(w, call, nil)
		},
		begin: func(w *waitingCalls) {
			w.calls.Go(func() { w.rawCall("first") })
			<-w.reached
		},
		end: func(w *waitingCalls) { close(w.step) },
	},
	"for a start":         {serve: execute, start: true, begin: func(w *waitingCalls) {}, end: func(w *waitingCalls) { close(w.step) }},
	"inside the upstream": {serve: execute, inside: true, begin: func(w *waitingCalls) {}, end: func(w *waitingCalls) { close(w.step) }},
	"to retry": {
		server: `"retry":{"attempts":1,"delaysMs":[400]}`,
		serve: func(w *waitingCalls, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			if call.Attempts == 1 {
				w.reached <- struct{}{}
				return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Retriable: true, Unsent: true, Message: "gone"}
			}
			return execute(w, call, nil)
		},
	},
	"for a form": {serve: askAndExecute, end: acceptCard, card: true},
	"for a form of a task": {
		serve: func(w *waitingCalls, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			if call.Method == "tools/call" {
				return legacyTask, nil
			}
			return askAndExecute(w, call, sink)
		},
		legacy: "tasks/result", end: acceptCard, card: true,
	},
	"a legacy task": {
		serve: func(w *waitingCalls, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			if call.Method == "tools/call" {
				return legacyTask, nil
			}
			return execute(w, call, nil)
		},
		legacy: "tasks/result", later: true,
	},
	"for a form between rounds": {
		serve: func(w *waitingCalls, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			if !strings.Contains(string(call.Params), "inputResponses") {
				return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":` + elicitation + `}}}`)}, nil
			}
			return execute(w, call, nil)
		},
		modern: `{}`, end: acceptCard, card: true,
	},
	"suspended": {serve: askAndExecute, modern: allClientCapabilities},
	"a task": {
		serve: func(w *waitingCalls, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			if call.Method == "tools/call" {
				return core.Reply{Result: json.RawMessage(`{"resultType":"task","taskId":"t","status":"input_required","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null}`)}, nil
			}
			w.executed.Add(1)
			return core.Reply{Result: json.RawMessage(`{"resultType":"complete"}`)}, nil
		},
		modern: `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, later: true,
	},
}

func acceptCard(w *waitingCalls) {
	for _, item := range w.inbox.List() {
		if err := w.inbox.Answer(item.ID, approvals.Accept, json.RawMessage(`{}`)); err != nil {
			w.Error(err)
		}
	}
}

// rawCall makes the call as a legacy client without a session-bound capability.
func (w *waitingCalls) rawCall(argument string) string {
	h := w.openSession("/mcp", `{}`, ClientHeader, "desk")
	return strings.Join(messages(w, w.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__put","arguments":{"n":"`+argument+`"}}}`, h...)), "\n")
}

// theChanges are what can happen to a call that waits. askedOnly ones concern only what the user
// was shown.
var theChanges = map[string]struct {
	change     func(w *waitingCalls, server string)
	askedOnly  bool
	otherCalls bool // concerns a new call, but not a further request about a task
}{
	"the definition is withheld": {change: func(w *waitingCalls, _ string) {
		w.mu.Lock()
		w.withheld = true
		w.mu.Unlock()
		w.registry.ReapplyWithhold("files")
	}},
	"the definition differs": {askedOnly: true, change: func(w *waitingCalls, _ string) { w.list(strings.Replace(putTool, `"put",`, `"put","title":"x",`, 1)) }},
	"the tool is gone":       {change: func(w *waitingCalls, _ string) { w.list(strings.Replace(putTool, "put", "get", 1)) }},
	"the token is rotated":   {otherCalls: true, change: func(w *waitingCalls, _ string) { w.set(func() { w.credential = "b" }) }},
	"the token is revoked":   {change: func(w *waitingCalls, _ string) { w.set(func() { w.credential = "" }) }},
	"the profile hides the tool": {change: func(w *waitingCalls, s string) {
		w.apply(s, `"clients":{"desk":{"profile":"p"}},"profiles":{"p":{"servers":{"files":{"includeTools":["get"]}}}},`)
	}},
	"the profile is missing": {change: func(w *waitingCalls, _ string) {
		w.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"desk": {Profile: "gone"}}})
	}},
	"a rule denies": {change: func(w *waitingCalls, s string) {
		w.apply(s, `"policy":{"rules":[{"tool":"files__put","then":"deny"}]},`)
	}},
	"another rule asks": {askedOnly: true, change: func(w *waitingCalls, s string) {
		w.apply(s, `"policy":{"rules":[{"tool":"files__put","then":"ask"}]},`)
	}},
	"includeTools leaves the tool out": {change: func(w *waitingCalls, s string) { w.apply(s+`,"includeTools":["get"]`, ``) }},
	"excludeTools names the tool":      {change: func(w *waitingCalls, s string) { w.apply(s+`,"excludeTools":["p*"]`, ``) }},
	"the server is disabled":           {change: func(w *waitingCalls, s string) { w.apply(s+`,"disabled":true`, ``) }},
	"the tool is disabled":             {change: func(w *waitingCalls, s string) { w.apply(s+`,"tools":{"put":{"enabled":false}}`, ``) }},
	"approval is set to deny":          {change: func(w *waitingCalls, s string) { w.apply(s+`,"tools":{"put":{"approval":"deny"}}`, ``) }},
	"the command differs":              {change: func(w *waitingCalls, s string) { w.apply(s+`,"command":"y"`, ``) }},
	"the environment differs":          {change: func(w *waitingCalls, s string) { w.apply(s+`,"env":{"WHO":"NEW"}`, ``) }},
	"the server is replaced":           {change: func(w *waitingCalls, s string) { w.apply(s+`,"url":"https://example.com/mcp"`, ``) }},
	"the server is removed":            {change: func(w *waitingCalls, _ string) { w.applyServers(`{}`, ``) }},
	"another account is chosen": {otherCalls: true, change: func(w *waitingCalls, s string) {
		w.set(func() { w.processErr = core.Errorf(core.CodeRejected, "the account has changed") })
		w.apply(s, `"policy":{"rules":[]},`)
	}},
	"the process is another": {askedOnly: true, change: func(w *waitingCalls, _ string) { w.set(func() { w.process = "files#2" }) }},
	"the servers are paused": {askedOnly: true, change: func(w *waitingCalls, _ string) {
		w.set(func() { w.processErr = core.Errorf(core.CodeUnavailable, "paused") })
	}},
	"nothing of this concern": {change: func(w *waitingCalls, s string) {
		w.apply(s, `"policy":{"rules":[{"tool":"other__put","then":"deny"}]},`)
	}},
}

func (w *waitingCalls) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// A call that waits is admitted again before it continues, whatever it waits for and whatever has
// changed: nothing is executed that a new call could not do, and what the user sees of it is
// withdrawn at once, with the reason.
func TestCallIsAdmittedAgainAfterEachWait(t *testing.T) {
	for wait, on := range theWaits {
		for name, c := range theChanges {
			if c.askedOnly && wait != "for approval" || c.otherCalls && on.later {
				continue
			}
			t.Run(wait+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWaitingCalls(t)
				w.apply(on.server, ``)
				w.list(putTool)
				w.server, w.starting, w.upstreamWaits = on.serve, on.start, on.inside
				executes := name == "nothing of this concern"
				w.checkReadmission(wait, executes, func() { c.change(w, on.server) })
			})
		}
	}
}

func (w *waitingCalls) checkReadmission(wait string, executes bool, change func()) {
	w.Helper()
	on := theWaits[wait]
	if on.begin != nil {
		on.begin(w)
	}
	call := func() string { return w.rawCall("second") }
	modern := func(params string) string {
		return strings.Join(messages(w, w.modernAs(on.modern, "/mcp", "tools/call", "files__put", `"name":"files__put"`+params, ClientHeader, "desk")), "\n")
	}
	session := w.openSession("/mcp", `{}`, ClientHeader, "desk")
	legacy := func(method, params string) string {
		return strings.Join(messages(w, w.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, session...)), "\n")
	}
	result := func() string { return legacy(on.legacy, `{"taskId":"files__t"}`) }
	switch {
	case on.legacy != "":
		if created := legacy("tools/call", `{"name":"files__put","arguments":{},"task":{}}`); !strings.Contains(created, "files__t") {
			w.Fatal(created)
		}
		call = result
	case on.modern != "":
		call = func() string { return modern("") }
	}
	answer := make(chan string, 1)
	if on.legacy == "" || !on.later {
		w.calls.Go(func() { answer <- call() })
	}
	defer w.calls.Wait()
	switch {
	case on.card:
		eventually.True(w, "the card is shown", func() bool { return len(w.inbox.List()) == 1 })
	case wait == "for a slot":
		eventually.True(w, "the call waits", func() bool { l := w.policy.Loads(); return len(l) == 1 && l[0].Queued == 1 })
	case wait == "for a start", wait == "to retry", on.inside:
		<-w.reached
	}
	var state, last string
	if wait == "suspended" || on.later && on.legacy == "" {
		last = <-answer
		if wait == "suspended" {
			state = w.requestState(last)
		}
	}
	change()
	if on.card && !executes {
		eventually.TrueWithin(w, 5*time.Second, "the card is withdrawn", func() bool { return len(w.inbox.List()) == 0 })
	}
	if on.end != nil {
		on.end(w)
	}
	switch {
	case wait == "suspended":
		last = modern(`,"inputResponses":{"input-1":{"action":"accept","content":{}}},"requestState":"` + state + `"`)
	case on.later && on.legacy != "":
		last = result()
	case on.later:
		last = strings.Join(messages(w, w.modernAs(on.modern, "/mcp", "tasks/update", "files__t", `"taskId":"files__t","inputResponses":{}`, ClientHeader, "desk")), "\n")
	default:
		last = <-answer
	}
	if got := w.executed.Load() == 1; got != executes {
		w.Errorf("executed: %v, want %v\n%s", got, executes, last)
	}
	if !executes && !strings.Contains(last, "error") && !strings.Contains(last, `"isError":true`) {
		w.Errorf("the client gets %s", last)
	}
}
