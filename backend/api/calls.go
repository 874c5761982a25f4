package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

type callsInput struct {
	web.PageInput
	CallFilter
}

func (a *API) listCalls(ctx context.Context, in *callsInput) (*web.Answer[web.List[Call]], error) {
	before := web.ParseID(in.Before)
	q := in.query()
	q.Before, q.Limit = before, in.Limit
	calls, next, err := a.History.Calls(ctx, q)
	if err != nil {
		return nil, err
	}
	list := web.List[Call]{Items: make([]Call, len(calls))}
	for i := range calls {
		list.Items[i] = newCall(&calls[i])
	}
	list.Next = web.NextPage(next)
	return web.Reply(list)
}

type callInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
}

func (a *API) getCall(ctx context.Context, in *callInput) (*web.Answer[CallDetail], error) {
	id := web.ParseID(in.ID)
	record, err := a.History.Call(ctx, id)
	if err == nil {
		return web.Reply(*newCallDetail(record))
	}
	if call, ok := a.Calls.RunningCall(id); ok {
		return web.Reply(CallDetail{Call: newCall(a.redactCall(&call))})
	}
	return nil, err
}

func newCut(c *store.Cut) *Cut {
	if c == nil {
		return nil
	}
	return &Cut{c.Size, hex.EncodeToString(c.Hash)}
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

func (a *API) previews(ctx context.Context, in *previewsInput) (*web.Answer[web.List[CallPreview]], error) {
	var ids []int64
	for id := range strings.SplitSeq(in.IDs, ",") {
		n := web.ParseID(id)
		ids = append(ids, n)
	}
	found, err := a.History.Previews(ctx, ids, in.Text)
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

// argumentLine returns JSON arguments, which may be truncated, as one line of at most
// store.PreviewBytes bytes.
func argumentLine(raw []byte) string {
	if string(raw) == "null" {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return truncateLine(fulltext.AppendText(nil, raw))
	}
	var line []byte
	for len(line) <= store.PreviewBytes && d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		if len(line) > 0 {
			line = append(line, ", "...)
		}
		line = fmt.Appendf(line, "%s: ", name)
		start := d.InputOffset()
		var value json.RawMessage
		if d.Decode(&value) != nil { // truncated
			rest := bytes.TrimPrefix(bytes.TrimLeft(raw[start:], ": \t\r\n"), []byte(`"`))
			line = fulltext.AppendText(line, rest)
			break
		}
		var text *string // nil for null
		if json.Unmarshal(value, &text) == nil && text != nil {
			value = json.RawMessage(*text)
		}
		line = append(line, value...)
	}
	return truncateLine(line)
}

// truncateLine joins the lines of text and truncates it.
func truncateLine(text []byte) string {
	const end = "…"
	line := string(bytes.Join(bytes.Fields(bytes.ToValidUTF8(text, nil)), []byte(" ")))
	if len(line) <= store.PreviewBytes {
		return line
	}
	return core.CutBytes(line, store.PreviewBytes-len(end)) + end
}

// A server may answer a call with a task, whose result the client fetches later. A call that the
// user makes waits for the result here, so that commands and the page need not know tasks.

const (
	tasksExtension = "io.modelcontextprotocol/tasks"

	taskCancelTimeout = 5 * time.Second
	minPollInterval   = 250 * time.Millisecond
	maxPollInterval   = 30 * time.Second
	maxPollFailures   = 3 // in a row; more could open the circuit breaker of the server
)

// callAndAwait makes a call and returns its reply, or the result of the task that the server has
// created.
func (a *API) callAndAwait(ctx context.Context, call *core.Call) (core.Reply, error) {
	a.allowTask(call)
	reply, err := a.Calls.Call(ctx, call, nil)
	if err != nil || call.Task == nil || call.Outcome != core.OutcomeOK {
		return reply, err
	}
	w := &taskWaiter{calls: a.Calls, call: call, status: call.Task.Status}
	return w.result(ctx)
}

// allowTask changes a call so that its server may answer with a task: if the tool cannot be called
// in another way (revision 2025-11-25), or if the server has the extension.
func (a *API) allowTask(call *core.Call) {
	view, ok := a.Views.Server(call.Server)
	if !ok {
		return
	}
	var tool struct{ Execution struct{ TaskSupport string } }
	if target, ok := view.LookupOwnName(core.Tools, call.Name); ok {
		_ = json.Unmarshal(target.Raw, &tool)
	}
	for _, o := range view.Offers() {
		var primary, modern struct {
			Tasks      json.RawMessage
			Extensions map[string]json.RawMessage
		}
		if o.Catalog == nil {
			continue
		}
		_ = json.Unmarshal(o.Catalog.Capabilities, &primary)
		_ = json.Unmarshal(o.Catalog.CapabilitiesIn(core.Modern), &modern)
		switch {
		case primary.Tasks != nil && tool.Execution.TaskSupport == "required":
			call.Params = append(call.Params[:len(call.Params)-1], `,"task":{}}`...)
		case modern.Extensions[tasksExtension] != nil:
			call.Era, call.Capabilities = core.Modern, []byte(`{"extensions":{"`+tasksExtension+`":{}}}`)
		}
	}
}

// taskWaiter waits for the end of the task that a call has created.
type taskWaiter struct {
	calls  Calls
	call   *core.Call
	status string // as last recorded
	ended  bool
}

// result polls until the task has ended. If ctx ends first, or the task cannot end without an
// answer of the client, the task is cancelled.
func (w *taskWaiter) result(ctx context.Context) (core.Reply, error) {
	defer func() {
		if !w.ended {
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), taskCancelTimeout)
			defer stop()
			_, _ = w.request(ctx, "tasks/cancel")
		}
	}()
	failures, ttl := 0, w.call.Task.TTL
	for interval := minPollInterval; core.Sleep(ctx, interval) && time.Now().Before(core.TaskExpiry(ttl, w.call.At, w.call.At).Add(maxPollInterval)); {
		reply, err := w.request(ctx, "tasks/get")
		if err != nil {
			ours, ok := errors.AsType[*core.Error](err)
			if failures++; failures == maxPollFailures || !ok || !ours.Retriable {
				return core.Reply{}, err
			}
			interval = min(2*interval, maxPollInterval)
			continue
		}
		failures = 0
		if len(reply.Error) > 0 { // the server has lost the task
			w.ended = true
			return reply, nil
		}
		state, ok := wire.ParseTask(reply.Result)
		if !ok {
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "the server sent an invalid task")
		}
		ttl, interval = state.TTL, min(max(state.PollInterval, minPollInterval), maxPollInterval)
		switch {
		case w.call.Era == core.Legacy && (wire.TaskEnded(state.Status) || state.Status == "input_required"):
			reply, err = w.request(ctx, "tasks/result") // in which a server asks its questions
			w.ended = err == nil
			return reply, err
		case state.Status == "input_required":
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "the tool needs input while it runs. Call it from a client that supports tasks")
		case wire.TaskEnded(state.Status):
			w.ended = true
			result := wire.TaskResult("tasks/get", reply)
			if result.Error == nil && !bytes.HasPrefix(result.Result, []byte("{")) {
				err = core.Errorf(core.CodeUnavailable, "the task has ended without a result: %s", cmp.Or(state.Message, state.Status))
			}
			return result, err
		}
	}
	return core.Reply{}, core.Errorf(core.CodeCancelled, "the task did not end in time and was cancelled")
}

// request makes a request about the task. Polls without news are not recorded.
func (w *taskWaiter) request(ctx context.Context, method string) (core.Reply, error) {
	c := w.call
	about := &core.Call{
		Client: c.Client, ByUser: true, Continues: true, Era: c.Era, Capabilities: c.Capabilities, Server: c.Server, Account: c.Account,
		Method: method, Name: c.Name, PublicName: c.PublicName, Params: append(wire.AppendString([]byte(`{"taskId":`), c.Task.ID), '}'),
		Task: &core.Task{Call: c.ID, ID: c.Task.ID, TTL: -1},
	}
	if method == "tasks/get" {
		about.WorthRecording = func(reply core.Reply) bool {
			news := reply.Task != nil && (reply.Task.HasResult || reply.Task.Status != w.status)
			if news {
				w.status = reply.Task.Status
			}
			return news
		}
	}
	return w.calls.Call(ctx, about, nil)
}

type callRequestInput struct {
	web.Caller
	Body CallRequest
}

// call uses the same path as the calls of clients. The failure of the call itself is in the result;
// the error is the reason why no call was made.
func (a *API) call(ctx context.Context, in *callRequestInput) (*web.Answer[CallResult], error) {
	args, err := argumentsOf(in.Body.Arguments)
	if err != nil {
		return nil, err
	}
	call := &core.Call{Client: in.Client(a.Version), ByUser: true, Era: core.Legacy, Server: in.Body.Server, Method: "tools/call", Name: in.Body.Tool, PublicName: in.Body.Tool, Account: in.Body.Account}
	call.Params, call.Arguments, call.ProgressToken = callParams(in.Body.Tool, args)
	said, err := a.callAndAwait(ctx, call)
	return web.Reply(resultOf(call, said, err))
}

// callLive sends a request for a replay as a client, with its approvals.
func (a *API) callLive(ctx context.Context, in *struct{ Body LiveRequest }) (*web.Answer[LiveReply], error) {
	var target struct{ Name, URI string }
	if err := json.Unmarshal([]byte(in.Body.Params), &target); err != nil || target.Name == "" && target.URI == "" {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "body.params", Error: "must be a JSON object with a name or a uri"}}}
	}
	said, err := a.Live(ctx, in.Body.Server, in.Body.Method, cmp.Or(target.Name, target.URI), json.RawMessage(in.Body.Params))
	if err != nil {
		return nil, err
	}
	return web.Reply(LiveReply{string(said.Result), string(said.Error)})
}

// resultOf returns the result of a call. A task that nobody asked for, or that cannot be used, is a failure.
func resultOf(call *core.Call, said core.Reply, err error) CallResult {
	result := parseToolResult(said, err)
	result.CallID = strconv.FormatInt(call.ID, 10)
	if result.Success && call.Outcome == core.OutcomeProtocolError {
		result.Success, result.Error = false, call.Reason
	}
	return result
}

// argumentsOf returns the arguments in the body of a request: an object, empty if there is none.
func argumentsOf(body web.JSON) ([]byte, error) {
	args := bytes.TrimSpace(body)
	if len(args) == 0 || string(args) == "null" {
		return []byte(`{}`), nil
	}
	if args[0] != '{' {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "body.arguments", Error: "must be a JSON object"}}}
	}
	return args, nil
}

// callParams are the params of a call with a progress token, so that observers see its progress.
func callParams(tool string, args []byte) (p json.RawMessage, arguments, token core.Span) {
	name, _ := json.Marshal(tool)
	p = append([]byte(`{"name":`), name...)
	p = append(p, `,"arguments":`...)
	start := len(p)
	p = append(p, args...)
	arguments = core.Span{Start: start, End: len(p)}
	p = append(p, `,"_meta":{"progressToken":`...)
	token = core.Span{Start: len(p), End: len(p) + 1}
	return append(p, `1}}`...), arguments, token
}

// toolResult holds the parts of a result that are needed here. The rest is in raw.
type toolResult struct {
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"`
	IsError           bool              `json:"isError"`
}

func parseToolResult(r core.Reply, err error) CallResult {
	if err != nil {
		message, hint := core.Describe(err)
		if hint != "" {
			message += ". " + hint
		}
		return CallResult{Error: message, Code: core.CodeOf(err)}
	}
	if len(r.Error) > 0 {
		var e struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		}
		_ = json.Unmarshal(r.Error, &e)
		text := e.Message
		if text == "" {
			text = core.Shorten(strings.ToValidUTF8(string(r.Error), "\ufffd"), 2000)
		}
		if e.Code != "" {
			text += " (code=" + e.Code.String() + ")"
		}
		return CallResult{Error: text, Raw: web.JSON(r.Error)}
	}
	var t toolResult
	if json.Unmarshal(r.Result, &t) != nil {
		return CallResult{Success: true, Raw: web.JSON(r.Result)}
	}
	var parts []string
	for _, c := range t.Content {
		parts = append(parts, contentText(c))
	}
	out := CallResult{Success: !t.IsError, Output: strings.Join(parts, "\n"), Raw: web.JSON(r.Result)}
	if string(t.StructuredContent) != "null" {
		out.Data = web.JSON(t.StructuredContent)
	}
	if t.IsError {
		out.Error = gateway.FailureOf(r.Result).Text
	}
	return out
}

// contentText returns a content block as text: the text, or a reference for other types.
func contentText(raw json.RawMessage) string {
	var c struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Size     int64  `json:"size"`
		Resource struct {
			URI      string `json:"uri"`
			MIMEType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"resource"`
	}
	_ = json.Unmarshal(raw, &c)
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes]", c.Type, nameOrUnknown(c.MIMEType), decodedSize(c.Data))
	case "resource":
		size := len(c.Resource.Text)
		if c.Resource.Blob != "" {
			size = decodedSize(c.Resource.Blob)
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, nameOrUnknown(c.Resource.MIMEType), size)
	case "resource_link":
		if c.Size > 0 {
			return fmt.Sprintf("[resource %s %s, %d bytes]", c.URI, nameOrUnknown(c.MIMEType), c.Size)
		}
		return fmt.Sprintf("[resource %s %s]", c.URI, nameOrUnknown(c.MIMEType))
	}
	return fmt.Sprintf("[%s, %d bytes of JSON]", nameOrUnknown(c.Type), len(raw))
}

// decodedSize is the number of bytes that a base64 text encodes.
func decodedSize(text string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
}

func nameOrUnknown(s string) string {
	if s == "" {
		return "unknown type"
	}
	return s
}

// Note is the note of the user on a call.
type Note struct {
	Title string   `json:"title" doc:"At most 500 characters"`
	Note  string   `json:"note" doc:"At most 5,000 characters"`
	Tags  []string `json:"tags" nullable:"false" doc:"At most 20, of 50 characters each"`
}

// NoteChange is a note to be written.
type NoteChange struct {
	Note
	Base *Note `json:"base,omitempty" doc:"Note that the edit is based on; if the stored note differs, nothing is written. Without it, any note is replaced"`
}

type noteInput struct {
	ID   string `path:"id" pattern:"^[0-9]{1,18}$"`
	Body NoteChange
}

func (n *Note) stored() store.Note { return store.Note{Title: n.Title, Text: n.Note, Tags: n.Tags} }

func (a *API) putNote(ctx context.Context, in *noteInput) (*web.Answer[CallDetail], error) {
	id := web.ParseID(in.ID)
	save := func() error { return a.HistoryStore.SaveNote(ctx, id, in.Body.stored()) }
	if base := in.Body.Base; base != nil {
		save = func() error { return a.HistoryStore.ChangeNote(ctx, id, base.stored(), in.Body.stored()) }
	}
	if err := save(); err != nil {
		return nil, err
	}
	return a.getCall(ctx, &callInput{in.ID})
}

type replayInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
	web.Caller
	Body struct {
		Arguments web.JSON `json:"arguments,omitempty" doc:"JSON object that replaces the recorded arguments"`
		Confirm   bool     `json:"confirm,omitempty" doc:"Required unless the tool is marked read-only"`
	}
}

func (a *API) replay(ctx context.Context, in *replayInput) (*web.Answer[CallResult], error) {
	id := web.ParseID(in.ID)
	again := history.ReplayRequest{ID: id, Confirmed: in.Body.Confirm, By: in.Client(a.Version)}
	if args := in.Body.Arguments; len(args) > 0 && string(args) != "null" {
		again.Arguments = args
	}
	r := &history.Replayer{Calls: a.History, Caller: a.Calls, ReadOnly: a.Views.All().ReadOnly}
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

func (a *API) deleteCalls(ctx context.Context, in *deleteInput) (*web.Answer[Deleted], error) {
	sel := store.Selection{Client: in.Body.Client, Session: in.Body.Session}
	for i, id := range in.Body.IDs {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
				Fields: []core.FieldError{{Field: "body.ids[" + strconv.Itoa(i) + "]", Error: "must be a decimal number"}}}
		}
		sel.IDs = append(sel.IDs, n)
	}
	n, err := a.HistoryStore.Erase(ctx, sel)
	if err != nil {
		return nil, err
	}
	return web.Reply(Deleted{n})
}
