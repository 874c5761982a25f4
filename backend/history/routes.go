package history

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the history of calls, as the API shows it: calls that are recorded, repeated and made
// by the user, and saved checks.
type Feature struct {
	Version  string
	Store    *store.Store
	Gateway  Gateway
	Views    *registry.Registry
	Config   func() *config.Config
	Checks   *CheckRunner
	FrameLog *FrameLog // messages of traced clients
	Tokens   *loopback.Tokens
	Sessions func() []bridge.Session
	Log      *slog.Logger
	// Limits returns what is known of the client with a token, and ListCost what its tool lists cost now, and
	// how its tools are listed.
	Limits   func(token string) bridge.ClientLimits
	ListCost func(token string) (cost *bridge.ListCost, mode string)
	// Live sends a request for a replay to the recorded server, as a client.
	Live func(ctx context.Context, server, method, name string, params json.RawMessage) (core.Reply, error)
}

// Gateway makes calls; *gateway.Gateway implements it.
type Gateway interface {
	Caller
	Running() []core.Call // calls in flight
	RunningCall(id int64) (core.Call, bool)
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/calls", "Recorded calls, newest first", f.listCalls)
	web.Op(r, "GET", "/api/v1/calls/{id}", "A call with its payloads", f.getCall)
	web.Op(r, "POST", "/api/v1/call", "Call a tool; the call is recorded like any other", f.call)
	web.Op(r, "POST", "/api/v1/live-call", "Call a tool, or get a prompt or resource, for a replay; approval rules apply as for a client", f.callLive)
	web.Op(r, "GET", "/api/v1/clients", "Applications that have connected or have an access token", f.listClients)
	web.Op(r, "GET", "/api/v1/previews", "Previews of call arguments, with search matches in the payloads", f.previews)
	web.Op(r, "GET", "/api/v1/facets", "Number of calls by server, tool, client and outcome", f.facets)
	web.Op(r, "GET", "/api/v1/sessions", "Sessions, newest first", f.listSessions)
	web.Op(r, "GET", "/api/v1/usage", "Call statistics by server, tool and client, and over time", f.usage)
	web.Op(r, "GET", "/api/v1/usage/sessions", "What the newest sessions cost in each tool mode, newest first", f.sessionCosts)
	web.Op(r, "PUT", "/api/v1/calls/{id}/note", "Set the title, note and tags of a call", f.putNote)
	web.Op(r, "POST", "/api/v1/calls/{id}/replay", "Repeat a tool call, optionally with other arguments", f.replay)
	web.Op(r, "POST", "/api/v1/calls/delete", "Delete individual calls, or all calls of a client or session", f.deleteCalls)
	web.Op(r, "GET", "/api/v1/history", "State and size of the history", f.historyState)
	web.Op(r, "PUT", "/api/v1/history/recording", "Pause recording, or change the recording rules for servers and tools", f.putRecording)
	web.Op(r, "POST", "/api/v1/history/prune", "Delete the oldest calls that exceed the given limits", f.prune)
	web.Op(r, "POST", "/api/v1/history/retention-preview", "Number of calls that the given limits would delete", f.previewPrune)
	web.Op(r, "POST", "/api/v1/history/vacuum", "Compact the database", f.vacuum)
	web.Op(r, "POST", "/api/v1/history/backup", "Back up the history to a new file", f.backup)
	web.Op(r, "GET", "/api/v1/checks", "Saved checks", f.listChecks)
	web.Op(r, "PUT", "/api/v1/checks/{name}", "Save a check; replaces an existing check with the same name", f.putCheck)
	web.Op(r, "POST", "/api/v1/checks/{name}", "Save the tool calls of a session, a tag or a time range as a new check", f.saveCheckFromCalls)
	web.Op(r, "DELETE", "/api/v1/checks/{name}", "Delete a check", f.deleteCheck)
	web.Op(r, "POST", "/api/v1/checks/{name}/run", "Run a check", f.runCheck)
	web.Op(r, "GET", "/api/v1/frames", "Recent JSON-RPC messages of a session or server in debug mode, newest first", f.frames)
	f.registerExport(r)
}

type callsInput struct {
	web.PageInput
	CallFilter
}

func (f *Feature) listCalls(ctx context.Context, in *callsInput) (*web.Answer[web.List[Call]], error) {
	before := web.ParseID(in.Before)
	q := in.query()
	q.Before, q.Limit = before, in.Limit
	calls, next, err := f.Store.Calls(ctx, q)
	if err != nil {
		return nil, err
	}
	list := web.List[Call]{Items: make([]Call, len(calls))}
	for i := range calls {
		list.Items[i] = NewCall(&calls[i])
	}
	list.Next = web.NextPage(next)
	return web.Reply(list)
}

type callInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$" doc:"The id of a call, or its last digits (at least 4) if no other id ends with them"`
}

// minSuffix is the number of digits of an id from which it is found by them.
const minSuffix = 4

func (f *Feature) getCall(ctx context.Context, in *callInput) (*web.Answer[CallDetail], error) {
	id := web.ParseID(in.ID)
	record, err := f.Store.Call(ctx, id)
	if err == nil {
		return web.Reply(*newCallDetail(record))
	}
	if call, ok := f.Gateway.RunningCall(id); ok {
		return web.Reply(CallDetail{Call: NewCall(f.RedactCall(&call))})
	}
	if core.CodeOf(err) == core.CodeNotFound && len(in.ID) >= minSuffix {
		if id, err = f.Store.CallWithSuffix(ctx, in.ID); err == nil {
			return f.getCall(ctx, &callInput{strconv.FormatInt(id, 10)})
		}
	}
	return nil, err
}

// previewsInput names the calls that are visible in a list.
type previewsInput struct {
	IDs  string `query:"ids" required:"true" pattern:"^[0-9]{1,18}(,[0-9]{1,18})*$" maxLength:"1900" doc:"Ids of at most 100 calls, separated by commas"`
	Text string `query:"q" maxLength:"1000" doc:"Text of the search that found the calls"`
}

// CallPreview is what a list shows of the payloads of a call.
type CallPreview struct {
	ID        string `json:"id"`
	Arguments string `json:"arguments" doc:"The arguments as one line of NAME: VALUE, at most 200 bytes"`
	Match     string `json:"match,omitempty" doc:"Excerpt of at most 200 bytes around a word of q that is not in the first 200 bytes of the arguments"`
	MatchIn   string `json:"matchIn,omitempty" enum:"arguments,reply" doc:"Where the excerpt in 'match' comes from"`
}

func (f *Feature) previews(ctx context.Context, in *previewsInput) (*web.Answer[web.List[CallPreview]], error) {
	var ids []int64
	for id := range strings.SplitSeq(in.IDs, ",") {
		n := web.ParseID(id)
		ids = append(ids, n)
	}
	found, err := f.Store.Previews(ctx, ids, in.Text)
	if err != nil {
		return nil, err
	}
	list := web.List[CallPreview]{Items: make([]CallPreview, len(found))}
	for i, p := range found {
		list.Items[i] = CallPreview{ID: strconv.FormatInt(p.ID, 10), Arguments: argumentLine(p.Arguments), Match: p.Match}
		if p.Match != "" {
			list.Items[i].MatchIn = map[bool]string{false: "arguments", true: "reply"}[p.InReply]
		}
	}
	return web.Reply(list)
}

type noteInput struct {
	ID   string `path:"id" pattern:"^[0-9]{1,18}$"`
	Body NoteChange
}

func (f *Feature) putNote(ctx context.Context, in *noteInput) (*web.Answer[CallDetail], error) {
	id := web.ParseID(in.ID)
	save := func() error { return f.Store.SaveNote(ctx, id, in.Body.stored()) }
	if base := in.Body.Base; base != nil {
		save = func() error { return f.Store.ChangeNote(ctx, id, base.stored(), in.Body.stored()) }
	}
	if err := save(); err != nil {
		return nil, err
	}
	return f.getCall(ctx, &callInput{in.ID})
}

type replayInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
	web.Caller
	Body struct {
		Arguments web.JSON `json:"arguments,omitempty" doc:"JSON object that replaces the recorded arguments"`
		Confirm   bool     `json:"confirm,omitempty" doc:"Required unless the tool is marked read-only"`
	}
}

func (f *Feature) replay(ctx context.Context, in *replayInput) (*web.Answer[CallResult], error) {
	id := web.ParseID(in.ID)
	again := ReplayRequest{ID: id, Confirmed: in.Body.Confirm, By: in.Client(f.Version)}
	if args := in.Body.Arguments; len(args) > 0 && string(args) != "null" {
		again.Arguments = args
	}
	r := &Replayer{Calls: f.Store, Caller: f.Gateway, ReadOnly: f.Views.All().ReadOnly}
	call, said, err := r.Replay(ctx, again)
	if call == nil {
		return nil, err
	}
	return web.Reply(resultOf(call, said, err))
}

type deleteInput struct {
	Body struct {
		IDs     []string `json:"ids,omitempty" maxItems:"10000"`
		Client  string   `json:"client,omitempty" maxLength:"1000"`
		Session string   `json:"session,omitempty" maxLength:"200"`
	}
}

// Deleted is the number of deleted calls.
type Deleted struct {
	Deleted int64 `json:"deleted"`
}

func (f *Feature) deleteCalls(ctx context.Context, in *deleteInput) (*web.Answer[Deleted], error) {
	sel := store.Selection{Client: in.Body.Client, Session: in.Body.Session}
	for i, id := range in.Body.IDs {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
				Fields: []core.FieldError{{Field: "body.ids[" + strconv.Itoa(i) + "]", Error: "must be a decimal number"}}}
		}
		sel.IDs = append(sel.IDs, n)
	}
	n, err := f.Store.Erase(ctx, sel)
	if err != nil {
		return nil, err
	}
	return web.Reply(Deleted{n})
}

type callRequestInput struct {
	web.Caller
	Body CallRequest
}

// call uses the same path as the calls of clients. The failure of the call itself is in the result;
// the error is the reason why no call was made.
func (f *Feature) call(ctx context.Context, in *callRequestInput) (*web.Answer[CallResult], error) {
	args, err := argumentsOf(in.Body.Arguments)
	if err != nil {
		return nil, err
	}
	call := &core.Call{Client: in.Client(f.Version), ByUser: true, Era: core.Legacy, Server: in.Body.Server, Method: "tools/call", Name: in.Body.Tool, PublicName: in.Body.Tool, Account: in.Body.Account}
	call.Params, call.Arguments, call.ProgressToken = callParams(in.Body.Tool, args)
	said, err := f.callAndAwait(ctx, call)
	return web.Reply(resultOf(call, said, err))
}

// callLive sends a request for a replay as a client, with its approvals.
func (f *Feature) callLive(ctx context.Context, in *struct{ Body LiveRequest }) (*web.Answer[LiveReply], error) {
	var target struct{ Name, URI string }
	if err := json.Unmarshal([]byte(in.Body.Params), &target); err != nil || target.Name == "" && target.URI == "" {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "body.params", Error: "must be a JSON object with a name or a uri"}}}
	}
	said, err := f.Live(ctx, in.Body.Server, in.Body.Method, cmp.Or(target.Name, target.URI), json.RawMessage(in.Body.Params))
	if err != nil {
		return nil, err
	}
	return web.Reply(LiveReply{string(said.Result), string(said.Error)})
}

// CallFilter holds the filters of all operations on calls.
type CallFilter struct {
	From      time.Time `query:"from" doc:"Only calls that started at or after this time"`
	To        time.Time `query:"to" doc:"Only calls that started before this time"`
	Server    string    `query:"server" maxLength:"256" server:"name" doc:"Server id or name"`
	Client    string    `query:"client" maxLength:"1000" doc:"Name of the application or of its access token"`
	Tool      string    `query:"tool" maxLength:"1000"`
	Session   string    `query:"session" maxLength:"200"`
	Workspace string    `query:"workspace" maxLength:"1000" doc:"Working directory of the client"`
	Account   string    `query:"account" maxLength:"32" doc:"Account of the server"`
	Tag       string    `query:"tag" maxLength:"50"`
	Version   string    `query:"version" maxLength:"200" doc:"Version that the server reports, version of its package, package@version, or the first 8 or more characters of the hash of a definition"`
	Outcome   string    `query:"outcome" enum:"ok,tool_error,protocol_error,timeout,cancelled,rejected,unavailable,failed,working,input_required,expired" doc:"unavailable: the call did not reach its server; failed: an error, a timeout or unavailable. The last three are states of tasks that have not ended"`
	MinTookNs int64     `query:"minTookNs" minimum:"0"`
	MaxTookNs int64     `query:"maxTookNs" minimum:"0"`
	Text      string    `query:"q" maxLength:"1000" doc:"Words that must all occur in names, arguments, results or errors; word* matches a prefix"`
}

func (f *CallFilter) query() store.Query {
	return store.Query{
		From: f.From, To: f.To, Server: f.Server, Client: f.Client, Tool: f.Tool, Session: f.Session, Workspace: f.Workspace, Account: f.Account, Tag: f.Tag, Version: f.Version,
		Outcome: core.Outcome(f.Outcome), MinTook: time.Duration(f.MinTookNs), MaxTook: time.Duration(f.MaxTookNs), Text: f.Text,
	}
}

func (f *Feature) facets(ctx context.Context, in *CallFilter) (*web.Answer[store.Facets], error) {
	counts, err := f.Store.Facets(ctx, in.query())
	if err != nil {
		return nil, err
	}
	return web.Reply(*counts)
}

// Session is the timeline of one session of a client.
type Session struct {
	Session       string    `json:"session" doc:"Use it as a filter of GET /api/v1/calls to get the calls in order"`
	Client        string    `json:"client"`
	ClientVersion string    `json:"clientVersion"`
	Token         string    `json:"token"`
	Workspace     string    `json:"workspace"`
	First         time.Time `json:"first"`
	Last          time.Time `json:"last"`
	Calls         int64     `json:"calls"`
	Errors        int64     `json:"errors"`
	Servers       []string  `json:"servers" nullable:"false" doc:"Ids of the servers that were called"`
	Open          bool      `json:"open,omitempty" doc:"Whether the client is connected with it"`
}

func (f *Feature) listSessions(ctx context.Context, in *web.PageInput) (*web.Answer[web.List[Session]], error) {
	before := web.ParseID(in.Before)
	stories, next, err := f.Store.Sessions(ctx, before, in.Limit)
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, s := range f.Sessions() {
		open[s.ID] = true
	}
	list := web.List[Session]{Items: make([]Session, len(stories))}
	for i, s := range stories {
		list.Items[i] = Session{s.Session, s.Client.Name, s.Client.Version, s.Client.Token, s.Workspace, s.First, s.Last, s.Calls, s.Errors, web.NonNil(s.Servers), open[s.Session]}
	}
	list.Next = web.NextPage(next)
	return web.Reply(list)
}

type framesInput struct {
	web.PageInput
	Session string `query:"session" maxLength:"200" doc:"Session of a client that history.debugClients includes"`
	Server  string `query:"server" maxLength:"256" server:"name" doc:"Server with debug: true, or one that a debugged client called"`
}

// Message is one JSON-RPC message as it went over a connection.
type Message struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	From    string    `json:"from" enum:"client,server,drawbridge"`
	Session string    `json:"session,omitempty"`
	Client  string    `json:"client,omitempty"`
	Server  string    `json:"server,omitempty"`
	Bytes   int       `json:"bytes" doc:"Size of the complete message"`
	Text    string    `json:"text" doc:"Secrets are redacted; at most 8 KiB"`
	HTTP    string    `json:"http,omitempty" doc:"Remote servers only: request line or status, and headers, one per line; secrets are redacted"`
}

func (f *Feature) frames(_ context.Context, in *framesInput) (*web.Answer[web.List[Message]], error) {
	if (in.Session == "") == (in.Server == "") {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "query.session", Error: "specify either a session or a server"}}}
	}
	list := web.List[Message]{Items: []Message{}}
	before := web.ParseID(in.Before)
	page, next := f.FrameLog.Frames(in.Session, in.Server, before, in.Limit)
	for _, f := range page {
		list.Items = append(list.Items, Message{strconv.FormatInt(f.ID, 10), f.At, f.From, f.Session, f.Client, f.Server, f.Bytes, f.Text, f.HTTP})
	}
	list.Next = web.NextPage(next)
	return web.Reply(list)
}

// RedactCall removes secrets from a call that has not been recorded yet.
func (f *Feature) RedactCall(c *core.Call) *core.Call {
	redact := f.Store.Recorder().Redact
	c.Name, c.PublicName, c.Reason = redact(c.Name), redact(c.PublicName), redact(c.Reason)
	if c.Task != nil {
		redacted := *c.Task
		redacted.ID = redact(redacted.ID)
		c.Task = &redacted
	}
	return c
}
