package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"golang.org/x/sync/semaphore"
)

// A client may limit the size of tool results (results.maxTokens). Of a larger result it gets the
// beginning of the text, and its model reads the rest from the history with the tool readResult. A
// result is truncated only if the history holds it unchanged, and never at the endpoint of a
// server.
//
// The text of a result is that of its text blocks and embedded text resources, and its
// structuredContent, unless a text block repeats it. Images, audio, binary resources and links are
// never truncated. A truncated result has no structuredContent, because a part of it would not
// match the outputSchema of the tool. Therefore such clients get tools without outputSchema.

const readResult = "drawbridge__read_result"

// bytesPerToken is an estimate; each model counts differently.
const bytesPerToken = 4

// metaTruncated is the key of the mark in the _meta of a truncated result.
const metaTruncated = "drawbridge/truncated"

// maxResultArguments bounds the arguments of readResult in bytes.
const maxResultArguments = 1024

var readResultTool = toolDefinition(readResult, "Read the rest of a result",
	"Returns the next part of a tool result that was truncated because of its length. The end of a truncated result says which arguments to use.",
	`{"type":"object","properties":{"result":{"type":"string","description":"Id of the result"},"offset":{"type":"integer","minimum":0,"description":"Byte offset in the text at which to continue"}},"required":["result","offset"]}`, true)

// prepareResult notes what limitResult does with the result of a call of a tool. An MCP App needs the
// complete results of its tool.
func prepareResult(rq *request, call *core.Call, tool json.RawMessage) {
	if rq.endpoint.maxResult == 0 && !rq.endpoint.singleCopy || hasExtension(rq.capabilities, appsExtension) && registry.HasApp(tool) {
		return
	}
	if rq.singleCopy = rq.endpoint.singleCopy; rq.endpoint.maxResult > 0 {
		rq.storedCallID = new(int64)
		call.RecordedUnchangedAs = rq.storedCallID
	}
}

// limitResult truncates the result of a call if it is longer than the client wants, or removes the copy
// in it that the client does not want.
func limitResult(rq *request, reply core.Reply) core.Reply {
	long := rq.storedCallID != nil && *rq.storedCallID != 0 && len(reply.Result) > rq.endpoint.maxResult
	if !long && !rq.singleCopy {
		return reply
	}
	at := core.Span{End: len(reply.Result)}
	if rq.method == "tasks/get" {
		task, _ := wire.ParseTask(reply.Result)
		at = task.Result
	}
	var with []byte
	if long {
		with = truncateResult(wire.Bytes(reply.Result, at), rq.endpoint.maxResult, *rq.storedCallID)
	}
	if with == nil && rq.singleCopy {
		with = withoutCopy(wire.Bytes(reply.Result, at))
	}
	if with != nil {
		reply.Result = wire.Splice(nil, reply.Result, wire.Edit{Span: at, With: with})
	}
	return reply
}

// withoutCopy returns a tool result without its structuredContent, or nil if no text block repeats it.
func withoutCopy(result []byte) []byte {
	if !bytes.Contains(result, []byte(`"structuredContent"`)) {
		return nil
	}
	if r, ok := parseToolResult(result); !ok || !r.repeats {
		return nil
	}
	short, err := withoutMembers(result, "structuredContent")
	if err != nil {
		return nil
	}
	return short
}

type toolResult struct {
	blocks     []resultBlock
	structured string // JSON text; "" if a text block repeats it
	repeats    bool   // whether one does
	text       string
}

// resultBlock is an element of content. Its text is text[start:end] of the result; a block without
// text has none.
type resultBlock struct {
	raw        []byte
	value      core.Span // of the text in raw, with its quotes
	isResource bool
	hasText    bool
	start, end int
}

// parseToolResult returns the text of a result. ok is false if it is not a valid tool result.
func parseToolResult(result []byte) (r toolResult, ok bool) {
	var content, structured []byte
	if len(result) == 0 || result[0] != '{' {
		return r, false
	}
	err := wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case "content":
			content = wire.Bytes(result, m.Value)
		case "structuredContent":
			structured = wire.Bytes(result, m.Value)
		}
		return nil
	})
	if err != nil || len(content) == 0 || content[0] != '[' {
		return r, false
	}
	var text strings.Builder
	add := func(part string) (start, end int) {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		start = text.Len()
		text.WriteString(part)
		return start, text.Len()
	}
	repeated := false
	err = wire.Elements(content, func(at core.Span) error {
		block := resultBlock{raw: wire.Bytes(content, at)}
		if block.raw[0] == '{' {
			if err := block.findText(block.raw, 0); err != nil {
				return err
			}
		}
		if !block.value.Empty() {
			part, valid := wire.Unquote(wire.Bytes(block.raw, block.value))
			if !valid {
				return errNotText
			}
			block.hasText = true
			block.start, block.end = add(part)
			repeated = repeated || len(structured) > 0 && !block.isResource && wire.EqualJSON(part, structured)
		}
		r.blocks = append(r.blocks, block)
		return nil
	})
	if err != nil {
		return r, false
	}
	if len(structured) > 0 && string(structured) != "null" && !repeated {
		r.structured = string(structured)
		add(r.structured)
	}
	r.text, r.repeats = text.String(), repeated
	return r, true
}

var errNotText = errors.New("the text is not valid")

// findText sets the span of the text of a block: its member text, or that of its resource. from is
// the position of object in raw.
func (block *resultBlock) findText(object []byte, from int) error {
	return wire.Members(object, func(m wire.Member) error {
		value := wire.Bytes(object, m.Value)
		switch {
		case string(m.Name) == "text" && value[0] == '"':
			block.value = core.Span{Start: from + m.Value.Start, End: from + m.Value.End}
		case string(m.Name) == "resource" && value[0] == '{' && !block.isResource:
			block.isResource = true
			return block.findText(value, from+m.Value.Start)
		}
		return nil
	})
}

// textEnd returns where a part of text that starts at start and has at most limit bytes ends: at
// the end of a line if there is one in its last quarter, and never within a character.
func textEnd(text string, start, limit int) int {
	if len(text)-start <= limit {
		return len(text)
	}
	end := start + limit
	if i := strings.LastIndexByte(text[start:end], '\n'); i >= limit-limit/4 {
		return start + i + 1
	}
	for end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// truncateResult returns a tool result with the first limit bytes of its text, or nil if its text
// is not longer. id is that of the recorded call.
func truncateResult(result []byte, limit int, id int64) []byte {
	r, ok := parseToolResult(result)
	if !ok || len(r.text) <= limit {
		return nil
	}
	end := textEnd(r.text, 0, limit)
	for _, block := range r.blocks {
		if block.isResource && block.hasText && block.start < end && end < block.end {
			end = block.start // a resource is not shortened, because it would no longer match its URI
			break
		}
	}
	content := []byte{'['}
	add := func(raw []byte) { content = append(append(content, raw...), ',') }
	for _, block := range r.blocks {
		switch {
		case !block.hasText, block.end <= end:
			add(block.raw)
		case block.start < end:
			add(wire.Splice(nil, block.raw, wire.Edit{Span: block.value, With: wire.AppendString(nil, r.text[block.start:end])}))
		}
	}
	if start := len(r.text) - len(r.structured); r.structured != "" && start < end {
		add(textBlock(r.text[start:end]))
	}
	next, name := strconv.Itoa(end), strconv.FormatInt(id, 10)
	add(textBlock("[Drawbridge: this result contains " + strconv.Itoa(len(r.text)) + " bytes of text; the first " + next + " are above. " +
		"Call " + readResult + ` with {"result":"` + name + `","offset":` + next + `} to continue reading.]`))
	content[len(content)-1] = ']'
	mark := `"` + metaTruncated + `":{"result":"` + name + `","bytes":` + strconv.Itoa(len(r.text)) + `,"next":` + next + `}`
	return replaceContent(result, content, mark)
}

// replaceContent returns a tool result with other content, without structuredContent, and with a
// mark in its _meta.
func replaceContent(result, content []byte, mark string) []byte {
	out, marked := []byte{'{'}, false
	_ = wire.Members(result, func(m wire.Member) error {
		key, value := wire.Bytes(result, m.Key), wire.Bytes(result, m.Value)
		switch string(m.Name) {
		case "structuredContent":
			return nil
		case "content":
			value = content
		case "_meta":
			if value[0] == '{' {
				inner := bytes.TrimSpace(value[1 : len(value)-1])
				value = append(append([]byte{'{'}, inner...), ',')
				if len(inner) == 0 {
					value = []byte{'{'}
				}
				value, marked = append(append(value, mark...), '}'), true
			}
		}
		out = append(append(append(append(out, key...), ':'), value...), ',')
		return nil
	})
	if !marked {
		out = append(out, `"_meta":{`+mark+`},`...)
	}
	out[len(out)-1] = '}'
	return out
}

func textBlock(text string) []byte {
	return append(wire.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// readStoredResult answers a call of readResult. A client may read what it could call now, in the
// session or the folder in which it got the result.
func (vs *views) readStoredResult(ctx context.Context, rq *request) core.Reply {
	var in struct {
		Result json.RawMessage `json:"result"`
		Offset int             `json:"offset"`
	}
	raw := wire.Bytes(rq.params, rq.spans.Arguments)
	if len(raw) == 0 || len(raw) > maxResultArguments || json.Unmarshal(raw, &in) != nil || in.Offset < 0 {
		return errorTextResult(readResult + ` requires a result and an offset, such as {"result":"1764163200000000","offset":4000}`)
	}
	name := strings.Trim(string(in.Result), `"`)
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return errorTextResult("'result' must be the id given at the end of a truncated result")
	}
	missing := errorTextResult("there is no result " + name + " for this client, or it is no longer in the history: call the tool again")
	call, result, err := vs.StoredResult(ctx, id)
	if err != nil || !vs.mayRead(rq, call) {
		return missing
	}
	if call.Method == "tasks/get" {
		result = wire.TaskResult(call.Method, core.Reply{Result: result}).Result
	}
	r, ok := parseToolResult(result)
	if !ok {
		return missing
	}
	if in.Offset >= len(r.text) {
		return errorTextResult("the text of the result ends before this offset: it is only " + strconv.Itoa(len(r.text)) + " bytes long")
	}
	start := in.Offset
	for start > 0 && !utf8.RuneStart(r.text[start]) {
		start--
	}
	end := textEnd(r.text, start, rq.endpoint.maxResult)
	note := "[Drawbridge: end of the result.]"
	if end < len(r.text) {
		note = "[Drawbridge: bytes " + strconv.Itoa(start) + " to " + strconv.Itoa(end) + " of " + strconv.Itoa(len(r.text)) + ". Continue with offset " + strconv.Itoa(end) + ".]"
	}
	return core.Reply{Result: append(append(append(append([]byte(`{"content":[`), textBlock(r.text[start:end])...), ','), textBlock(note)...), `]}`...)}
}

// mayRead reports whether a client may read the result of a recorded call.
func (vs *views) mayRead(rq *request, call *core.Call) bool {
	switch {
	case call.Client.Token != rq.client.Token, call.Outcome != core.OutcomeOK && call.Outcome != core.OutcomeToolError:
		return false
	case call.Method != "tools/call" && call.Method != "tasks/result" && call.Method != "tasks/get":
		return false
	}
	session := ""
	if rq.session != nil {
		session = rq.session.id
	}
	if (session == "" || session != call.Session) && rq.workspace != call.Workspace {
		return false
	}
	target, ok := vs.of(rq.endpoint, rq.client.Token).Lookup(core.Tools, call.PublicName)
	if builtin := vs.builtinView(rq.endpoint); !ok && builtin != nil {
		target, ok = builtin.Lookup(core.Tools, call.PublicName)
	}
	return ok && target.Server == call.Server && target.Name == call.Name
}

// withoutOutputSchema returns the definition of a tool without its outputSchema.
func withoutOutputSchema(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"outputSchema"`)) {
		return raw
	}
	without, _ := withoutMembers(raw, "outputSchema")
	return without
}

// resultBudget limits the bytes of large results that clients have not read yet, in total and for
// each client. acquire does not wait, because a waiting call would keep its result in memory.
type resultBudget struct {
	total, perClient int64 // limits in bytes: of all clients together, and per client

	mu     sync.Mutex
	held   int64
	heldBy map[string]int64 // held bytes by token name
}

// acquire reserves n bytes if the limits allow it. The caller must call release after the result is
// written or discarded.
func (b *resultBudget) acquire(client string, n int64) (release func(), ok bool) {
	if n <= smallBodySize {
		return func() {}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.total || b.heldBy[client]+n > b.perClient {
		return nil, false
	}
	b.add(client, n)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.add(client, -n)
	}, true
}

func (b *resultBudget) add(client string, n int64) {
	b.held += n
	if b.heldBy[client] += n; b.heldBy[client] == 0 {
		delete(b.heldBy, client)
	}
}

// streamLimiter limits the number of streams that each client holds open at the same time.
type streamLimiter struct {
	limit int

	mu   sync.Mutex
	held map[string]int
	idle chan struct{} // closed when no slot is held; nil unless waitIdle is running
}

func newStreamLimiter(limit int) *streamLimiter {
	return &streamLimiter{limit: limit, held: map[string]int{}}
}

// acquire acquires a slot for a client if one is free. On success, the caller must call release.
func (l *streamLimiter) acquire(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[client] >= l.limit {
		return false
	}
	l.held[client]++
	return true
}

func (l *streamLimiter) release(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[client]--; l.held[client] <= 0 {
		delete(l.held, client)
	}
	if len(l.held) == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// waitIdle waits until no slot is held, for at most limit. Only one goroutine may wait.
func (l *streamLimiter) waitIdle(limit time.Duration) {
	l.mu.Lock()
	if len(l.held) == 0 {
		l.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	l.idle = empty
	l.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
}

const (
	// smallBodySize is the size up to which a body needs no budget. The small bodies of all
	// connections that can be open at the same time take at most 64 MiB.
	smallBodySize = 64 << 10
	// bodyBudgetTimeout is how long a large body waits for budget. It is longer than the calls that
	// hold the budget usually take, so that clients are slowed down and get no errors.
	bodyBudgetTimeout = 5 * time.Minute
	// bodyReadTimeout is how long the body may take to arrive after it got budget.
	bodyReadTimeout = 30 * time.Second
)

var errBodyBudget = errors.New("too many large requests are in flight: send this request again later")

// bodyBudget limits the bytes of large request bodies that are in memory at the same time, and with
// them the number of large calls in flight. Bodies wait in the order of their arrival; meanwhile
// they stay in the buffers of the kernel and of the client. The budget for a body is acquired
// before the body is read and released when its request ends. It is acquired at once, so that two
// half-read bodies cannot deadlock. A client that does not send the announced body is disconnected
// by the read deadline, which releases its budget.
type bodyBudget struct {
	semaphore *semaphore.Weighted
	timeout   time.Duration
}

// acquire waits until n bytes are available. The caller must call release to release them.
func (b *bodyBudget) acquire(w http.ResponseWriter, r *http.Request, n int64) (release func(), err error) {
	if n <= smallBodySize {
		return func() {}, nil
	}
	if !b.semaphore.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(r.Context(), b.timeout)
		defer cancel()
		if b.semaphore.Acquire(ctx, n) != nil {
			return func() {}, errBodyBudget
		}
		// The read deadline that was set when the request arrived may have passed meanwhile.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyReadTimeout))
	}
	return func() { b.semaphore.Release(n) }, nil
}
