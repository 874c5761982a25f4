package cassette

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// What answers a request that is not recorded.
const (
	Strict      = "strict"      // an error
	Nearest     = "nearest"     // the result of the recorded call with the most similar arguments, marked
	Passthrough = "passthrough" // the live server
)

// NearestMark is the member of _meta of a result that was recorded with other arguments. Its value
// is the object of these arguments.
const NearestMark = "drawbridge/recordedArguments"

// Options configure a Player.
type Options struct {
	Misses   string // Strict, Nearest or Passthrough; "" is Strict
	Realtime bool   // whether responses take as long as recorded, and progress is sent
	// Live sends a request to the live server. It is required for Passthrough.
	Live func(ctx context.Context, method, name string, params json.RawMessage) (core.Reply, error)
}

// Player serves a recording to one client. It is not safe for concurrent use.
type Player struct {
	o     Options
	rec   *Recording
	calls *index
}

// NewPlayer returns a Player at the beginning of rec, which is not changed.
func NewPlayer(rec *Recording, o Options) *Player { return &Player{o, rec, newIndex(rec.Calls)} }

// maxWaiting limits the requests that wait at the same time.
const maxWaiting = 100

// revisions are the MCP revisions that Serve speaks, newest first.
var revisions = []string{core.LegacyVersion, "2025-06-18", "2025-03-26", "2024-11-05"}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type params struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Name            string          `json:"name"`
	URI             string          `json:"uri"`
	Arguments       json.RawMessage `json:"arguments"`
	RequestID       json.RawMessage `json:"requestId"`
	Meta            struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// response is a result or an error that may have to wait.
type response struct {
	result, err []byte
	delay       time.Duration
	progress    []timedLine // sent before, in order
	live        func(ctx context.Context) response
}

// timedLine is a message that is due some time after the request.
type timedLine struct {
	after time.Duration
	line  []byte
}

// Serve answers MCP requests, one JSON message per line, until in ends or a response cannot be
// written. Recorded responses are sent with the bytes of the recording. When in ends, responses
// that wait for their recorded time are sent at once, and those of the live server are awaited,
// unless ctx is done.
func (p *Player) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	w := &responses{out: out, waiting: map[string]context.CancelFunc{}, ended: make(chan struct{})}
	defer w.finished.Wait()
	defer close(w.ended)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r request
		var fields params
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil && len(r.Params) > 0 {
			err = json.Unmarshal(r.Params, &fields)
		}
		var said response
		switch {
		case err != nil && !json.Valid(lines.Bytes()):
			r.ID, said = json.RawMessage("null"), failure(-32700, "not valid JSON")
		case r.Method == "notifications/cancelled":
			w.cancel(string(fields.RequestID))
			continue
		case len(r.ID) == 0:
			continue // a notification
		case err != nil:
			said = failure(-32602, "a field of the request has the wrong type")
		default:
			r.Params = bytes.Clone(r.Params) // the scanner reuses its buffer
			fields.Meta.ProgressToken = bytes.Clone(fields.Meta.ProgressToken)
			said = p.respond(&r, &fields)
		}
		if said.delay == 0 && said.progress == nil && said.live == nil {
			err = w.write(r.ID, said)
		} else {
			err = w.later(ctx, string(r.ID), said)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// responses writes responses, some of them later.
type responses struct {
	finished sync.WaitGroup
	ended    chan struct{} // closed when no further request can arrive

	mu      sync.Mutex // guards out and the fields below
	out     io.Writer
	waiting map[string]context.CancelFunc // by id
	err     error
}

func (w *responses) write(id []byte, said response) error {
	var line []byte
	if len(said.err) > 0 {
		line = wire.AppendErrorObject(nil, id, said.err)
	} else {
		line = wire.AppendResult(nil, id, said.result)
	}
	return w.writeLine(line)
}

func (w *responses) writeLine(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.out.Write(append(oneLine(line), '\n'))
	}
	return w.err
}

// later writes the response when it is due.
func (w *responses) later(ctx context.Context, id string, said response) error {
	w.mu.Lock()
	err, full := w.err, len(w.waiting) >= maxWaiting || w.waiting[id] != nil
	if err != nil || full {
		w.mu.Unlock()
		if full {
			return w.write([]byte(id), failure(-32603, fmt.Sprintf("cannot accept the request: %d requests are already pending, or its id is in use", maxWaiting)))
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	w.waiting[id] = cancel
	w.mu.Unlock()
	w.finished.Go(func() {
		defer w.cancel(id)
		if said.live != nil {
			said = said.live(ctx)
		} else {
			began := time.Now()
			for _, n := range said.progress {
				if !w.sleep(ctx, n.after-time.Since(began)) {
					return
				}
				_ = w.writeLine(n.line)
			}
			w.sleep(ctx, said.delay-time.Since(began))
		}
		if ctx.Err() == nil {
			_ = w.write([]byte(id), said) // Serve returns the error for the next response
		}
	})
	return nil
}

// sleep waits, at most until no further request can arrive, and returns false if ctx ends first.
func (w *responses) sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ended:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (w *responses) cancel(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := w.waiting[id]; end != nil {
		end()
		delete(w.waiting, id)
	}
}

func (p *Player) respond(r *request, fields *params) response {
	switch r.Method {
	case "initialize":
		return response{result: p.initialize(fields.ProtocolVersion)}
	case "ping":
		return response{result: []byte("{}")}
	case "tools/list":
		return list("tools", p.rec.Tools)
	case "prompts/list":
		return list("prompts", p.rec.Prompts)
	case "resources/list":
		return list("resources", p.rec.Resources)
	case "resources/templates/list":
		return list("resourceTemplates", p.rec.ResourceTemplates)
	case "tools/call":
		return p.call(r, &Call{Tool: fields.Name}, fields.Name, fields.Arguments, fields.Meta.ProgressToken)
	case "prompts/get":
		return p.call(r, &Call{Prompt: fields.Name}, fields.Name, fields.Arguments, fields.Meta.ProgressToken)
	case "resources/read":
		return p.call(r, &Call{Resource: fields.URI}, fields.URI, nil, fields.Meta.ProgressToken)
	}
	return failure(-32601, "a cassette does not support this method")
}

func (p *Player) initialize(version string) []byte {
	if !slices.Contains(revisions, version) {
		version = revisions[0]
	}
	offers := map[string]any{"tools": map[string]any{}}
	if len(p.rec.Prompts) > 0 {
		offers["prompts"] = map[string]any{}
	}
	if len(p.rec.Resources)+len(p.rec.ResourceTemplates) > 0 {
		offers["resources"] = map[string]any{}
	}
	result := map[string]any{"protocolVersion": version, "capabilities": offers}
	if result["serverInfo"] = p.rec.ServerInfo; len(p.rec.ServerInfo) == 0 {
		result["serverInfo"] = map[string]any{"name": p.rec.Server, "version": "cassette"}
	}
	if p.rec.Instructions != "" {
		result["instructions"] = p.rec.Instructions
	}
	return encode(result)
}

func list(key string, items []json.RawMessage) response {
	if items == nil {
		items = []json.RawMessage{}
	}
	return response{result: encode(map[string]any{key: items})}
}

// call answers a request for what, by name and arguments. token is the progress token, or empty.
func (p *Player) call(r *request, what *Call, name string, arguments, token []byte) response {
	given, err := canonical(arguments)
	if err != nil {
		return failure(-32602, err.Error())
	}
	said := p.calls.next(what.target(), given)
	if (said == nil || said.Unavailable != "") && p.o.Misses == Passthrough {
		return response{live: func(ctx context.Context) response {
			reply, err := p.o.Live(ctx, r.Method, name, r.Params)
			if err != nil {
				return failure(-32603, err.Error())
			}
			return response{result: reply.Result, err: reply.Error}
		}}
	}
	if said == nil && p.o.Misses == Nearest {
		if near := p.calls.nearest(what.target(), given); near != nil {
			return p.delayed(near, token, response{result: mark([]byte(near.Result), []byte(near.Arguments))})
		}
	}
	switch {
	case said == nil:
		return failure(-32602, fmt.Sprintf("the recording contains no call to %.200q with these arguments: record one, replay with --nearest or --passthrough, or set 'misses' in the configuration", name))
	case said.Unavailable != "":
		return failure(-32603, "cannot serve the response: "+said.Unavailable)
	case said.Error != "":
		return p.delayed(said, token, response{err: []byte(said.Error)})
	}
	return p.delayed(said, token, response{result: []byte(said.Result)})
}

// delayed adds the recorded delay and progress to a response, if they are wanted.
func (p *Player) delayed(c *Call, token []byte, r response) response {
	if !p.o.Realtime {
		return r
	}
	r.delay = time.Duration(c.TookMs) * time.Millisecond
	if len(token) == 0 || string(token) == "null" {
		return r
	}
	for _, n := range c.Progress {
		if params, err := withToken([]byte(n.Params), token); err == nil {
			r.progress = append(r.progress, timedLine{time.Duration(n.AfterMs) * time.Millisecond, wire.AppendNotification(nil, "notifications/progress", params)})
		}
	}
	return r
}

// withToken returns the params of a progress notification with this token.
func withToken(params, token []byte) ([]byte, error) {
	rest, err := wire.WithoutMember(params, "progressToken")
	if err != nil {
		return nil, err
	}
	member := append([]byte(`{"progressToken":`), token...)
	if len(rest) > len("{}") {
		member = append(member, ',')
	}
	return append(member, rest[1:]...), nil
}

// mark adds NearestMark to the _meta of a result.
func mark(result, arguments []byte) []byte {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	member := append(wire.AppendString(nil, NearestMark), ':')
	member = append(member, arguments...)
	at, rest := core.Span{}, false
	_ = wire.Members(result, func(m wire.Member) error {
		if rest = true; string(m.Name) == "_meta" {
			at = m.Value
		}
		return nil
	})
	switch meta := wire.Bytes(result, at); {
	case !at.Empty() && meta[0] == '{':
		if inner := bytes.TrimSpace(meta[1:]); inner[0] != '}' {
			member = append(member, ',')
		}
		return wire.Splice(nil, result, wire.Edit{Span: core.Span{Start: at.Start + 1, End: at.Start + 1}, With: member})
	case !at.Empty():
		return wire.Splice(nil, result, wire.Edit{Span: at, With: slices.Concat([]byte("{"), member, []byte("}"))})
	}
	member = slices.Concat([]byte(`"_meta":{`), member, []byte("}"))
	if rest {
		member = append(member, ',')
	}
	start := bytes.IndexByte(result, '{') + 1
	return wire.Splice(nil, result, wire.Edit{Span: core.Span{Start: start, End: start}, With: member})
}

func failure(code int, message string) response {
	return response{err: wire.ErrorObject(code, message, nil)}
}

// oneLine returns a message without line breaks, which only occur between tokens.
func oneLine(message []byte) []byte {
	if !bytes.ContainsAny(message, "\r\n") {
		return message
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(message, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
}

// encode returns v as JSON, without escapes that raw values in it do not have. v contains only
// values that can be encoded.
func encode(v any) []byte {
	text, _ := core.EncodeJSON(v)
	return text
}
