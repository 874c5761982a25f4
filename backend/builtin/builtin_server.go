package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// ID is the server id of the built-in server.
const ID = "drawbridge"

// History is the part of the call log that the server needs; *store.Store implements it.
type History interface {
	Calls(ctx context.Context, q store.Query) (calls []core.Call, next int64, err error)
	Call(ctx context.Context, id int64) (*store.Record, error)
}

// Options configures a Server. Status and History are required.
type Options struct {
	Status  func() []core.ServerStatus
	History History
	// SeesAll reports whether the client whose token is named token may read the calls of other
	// clients. Nil: none may.
	SeesAll func(token string) bool
	Version string
	Now     func() time.Time // nil: time.Now
}

// Server is the built-in server. It reports the status of the servers and the recorded calls, and
// changes nothing. It is an upstream itself, without a process or a connection.
type Server struct{ o Options }

// NewServer returns the built-in server. It panics if o.Status or o.History is nil.
func NewServer(o Options) *Server {
	if o.Status == nil || o.History == nil {
		panic("builtin: incomplete options")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{o}
}

type tool struct {
	name, title, about string
	input              string // properties of the input schema, as JSON members
	run                func(o *Server, ctx context.Context, who core.Client, arguments []byte) (any, error)
}

var tools = []tool{
	{"status", "Status of the servers", "Lists every MCP server that Drawbridge manages: its state, the reason for it, and the number of tools and prompts.",
		``, (*Server).status},
	{"analytics_get", "Call statistics", "Returns statistics on your calls by server and tool over the last few hours: count, failures and durations.",
		`"hours":{"type":"integer","minimum":1,"maximum":720,"default":24},"server":{"type":"string","description":"only this server"}`, (*Server).analytics},
	{"history_search", "Search the call history", "Searches your earlier calls, newest first. The text is matched against names, arguments and results.",
		`"text":{"type":"string","maxLength":1000},"server":{"type":"string"},"tool":{"type":"string"},` +
			`"outcome":{"enum":["ok","tool_error","protocol_error","timeout","cancelled","rejected"]},` +
			`"before":{"type":"string","description":"the value of 'next' in the previous page"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20}`, (*Server).search},
	{"explain", "Explain a server or a call", "Explains the state of a server, or the outcome of one of your calls.",
		`"server":{"type":"string"},"call":{"type":"string","description":"id of a call"}`, (*Server).explain},
}

// Catalog returns the catalog of the built-in server.
func (o *Server) Catalog() *core.Catalog {
	info, _ := json.Marshal(map[string]string{"name": ID, "title": "Drawbridge", "version": o.o.Version})
	c := &core.Catalog{
		Capabilities: json.RawMessage(`{"tools":{}}`), Info: info,
		Instructions: "Use these tools when a tool of another server is missing or fails: they report which servers are running and why a call failed.",
		ListedAt:     o.o.Now().UTC(),
	}
	for _, t := range tools {
		raw := fmt.Appendf(nil, `{"name":%q,"title":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s},"additionalProperties":false},`+
			`"annotations":{"title":%q,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`, t.name, t.title, t.about, t.input, t.title)
		c.Tools = append(c.Tools, core.Item{Name: t.name, Raw: raw})
	}
	return c
}

// Send executes a call. It supports tools/call only and does not use the sink.
func (o *Server) Send(ctx context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	call.Instance = ID
	if call.Method == "tools/call" {
		for _, t := range tools {
			if t.name == call.Name {
				arguments := call.Params[call.Arguments.Start:call.Arguments.End]
				answer, err := t.run(o, ctx, call.Client, arguments)
				if err != nil && !isCallerError(err) {
					return core.Reply{}, internalError(t.name, err)
				}
				return toolResult(answer, err), nil
			}
		}
	}
	return core.Reply{Error: json.RawMessage(`{"code":-32601,"message":"the built-in server has only tools"}`)}, nil
}

// isCallerError reports whether err is the caller's mistake, which is returned as a tool result.
func isCallerError(err error) bool {
	code := core.CodeOf(err)
	return code == core.CodeValidation || code == core.CodeNotFound
}

// internalError returns the error for an internal failure. It is handled like a failure of any
// other server.
func internalError(tool string, err error) error {
	if core.CodeOf(err) != core.CodeInternal {
		return err
	}
	return &core.Error{
		Code: core.CodeInternal, Message: fmt.Sprintf("the built-in tool %q failed", tool), Cause: err,
		Hint: "See Drawbridge's log for the cause: drawbridge logs.",
	}
}

func toolResult(answer any, err error) core.Reply {
	result := struct {
		Content []textContent  `json:"content"`
		Data    any            `json:"structuredContent,omitempty"`
		IsError bool           `json:"isError,omitempty"`
		Meta    map[string]any `json:"_meta,omitempty"`
	}{Data: answer}
	if err != nil {
		sentence, about := describeError(err)
		result.Content, result.Data, result.IsError = []textContent{{"text", sentence}}, nil, true
		result.Meta = map[string]any{"drawbridge/error": about}
	} else {
		data, err := json.Marshal(answer)
		if err != nil {
			return core.Reply{Error: json.RawMessage(`{"code":-32603,"message":"cannot write the response"}`)}
		}
		result.Content = []textContent{{"text", string(data)}}
	}
	raw, _ := json.Marshal(result)
	return core.Reply{Result: raw}
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func argumentError(field, why string) error {
	return &core.Error{
		Code: core.CodeValidation, Message: "invalid arguments: " + field + " " + why,
		Hint: "Correct the arguments and call again.", Fields: []core.FieldError{{Field: field, Error: why}},
	}
}

// decodeArguments decodes arguments strictly: an unknown name is more likely a mistake than one to
// be ignored.
func decodeArguments(arguments []byte, into any) error {
	if len(arguments) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		got, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5" without the value
		if wrong.Field == "" {
			return argumentError("arguments", "must be an object, not "+got)
		}
		return argumentError(wrong.Field, "must be "+typeName(wrong.Type)+", not "+describeNumber(wrong, got))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return argumentError(core.ShortenBytes(strings.Trim(name, `"`), 100), "is not a known property")
	}
	return argumentError("arguments", "cannot be parsed")
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Int {
		return "integer"
	}
	return t.Kind().String()
}

// describeNumber describes a number that does not fit: one with a fraction, or an integer that is
// too large.
func describeNumber(wrong *json.UnmarshalTypeError, got string) string {
	if _, value, ok := strings.Cut(wrong.Value, " "); ok && !strings.ContainsAny(value, ".eE") {
		return "a number that is too large"
	}
	return got
}

// errorDetails is the _meta member "drawbridge/error" of a failed result. All errors that
// Drawbridge itself returns have it.
type errorDetails struct {
	Code    core.Code         `json:"code"`
	Message string            `json:"message"`
	Hint    string            `json:"hint,omitempty"`
	Errors  []core.FieldError `json:"errors,omitempty"`
}

// describeError describes a caller's error: a sentence that ends with the code, and the same in
// machine-readable form.
func describeError(err error) (sentence string, about errorDetails) {
	about.Code = core.CodeOf(err)
	about.Message, about.Hint = core.Describe(err)
	if e, ok := errors.AsType[*core.Error](err); ok {
		about.Errors = e.Fields
	}
	sentence = about.Message
	if about.Hint != "" {
		sentence += ". " + about.Hint
	}
	return sentence + " (code=" + string(about.Code) + ")", about
}

// serverSummary is what a client may know about a server: no command, no path, no stderr.
type serverSummary struct {
	ID      string     `json:"id"`
	Label   string     `json:"label"`
	State   core.State `json:"state"`
	Reason  string     `json:"reason,omitempty"`
	Since   time.Time  `json:"since"`
	Tools   int        `json:"tools"`
	Prompts int        `json:"prompts"`
	Warning []string   `json:"warnings,omitempty"`
}

func summarizeServer(s core.ServerStatus) serverSummary {
	return serverSummary{s.ID, s.Label, s.State, s.Reason, s.Since, s.Tools, s.Prompts, s.Warnings}
}

func (o *Server) status(_ context.Context, _ core.Client, arguments []byte) (any, error) {
	if err := decodeArguments(arguments, &struct{}{}); err != nil {
		return nil, err
	}
	list := []serverSummary{}
	for _, s := range o.o.Status() {
		list = append(list, summarizeServer(s))
	}
	return map[string]any{"version": o.o.Version, "servers": list}, nil
}

// stateExplanations explains each state and what can be done about it.
var stateExplanations = map[core.State]string{
	core.StateStopped:       "It is stopped. The next call starts it, unless only the user may start it.",
	core.StateStarting:      "It is starting. Calls wait for it.",
	core.StateRunning:       "It is running, and its tools are known.",
	core.StateDegraded:      "It responds, but some of its lists are unavailable.",
	core.StateWaiting:       "It is waiting for a dependency (Docker, its container, or the network and the remote server) and starts automatically once that is available.",
	core.StateRestarting:    "It failed and will be restarted shortly.",
	core.StateFailed:        "It failed too often and is no longer restarted automatically. The next call tries to start it again; see its log.",
	core.StateNeedsSignIn:   "The user must sign in to it, in Drawbridge's window.",
	core.StateNeedsApproval: "Its command is new or has changed, and needs approval in Drawbridge's window.",
	core.StatePaused:        "All servers are paused. No call is sent until the user resumes them.",
	core.StateDisabled:      "It is disabled in the configuration.",
}

func (o *Server) explain(ctx context.Context, who core.Client, arguments []byte) (any, error) {
	var in struct {
		Server string `json:"server"`
		Call   string `json:"call"`
	}
	if err := decodeArguments(arguments, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Call != "":
		return o.explainCall(ctx, who, in.Call)
	case in.Server == "":
		return nil, argumentError("server", "is missing: specify a server or a call")
	}
	for _, s := range o.o.Status() {
		if s.ID == in.Server {
			return map[string]any{"server": summarizeServer(s), "explanation": stateExplanations[s.State]}, nil
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "there is no server named %.64q", in.Server)
}

func (o *Server) explainCall(ctx context.Context, who core.Client, id string) (any, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	unknown := core.Errorf(core.CodeNotFound, "the history contains no call %.32q by this client", id)
	if err != nil {
		return nil, unknown
	}
	r, err := o.o.History.Call(ctx, n)
	if core.CodeOf(err) == core.CodeNotFound || err == nil && !o.visible(who, &r.Call) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"call": summarizeCall(&r.Call), "explanation": explainOutcome(r),
		"arguments": string(r.Arguments), "result": string(r.Result), "error": string(r.Error),
	}, nil
}

func explainOutcome(r *store.Record) string {
	c := &r.Call
	reason := c.ReasonForClient()
	if reason != "" {
		reason = " " + reason
	}
	switch c.Outcome {
	case core.OutcomeOK:
		return fmt.Sprintf("The server responded after %s.", c.Took.Round(time.Microsecond))
	case core.OutcomeToolError:
		return "The tool ran and reported an error." + reason
	case core.OutcomeProtocolError:
		return "The server rejected the request, or the connection to it failed." + reason
	case core.OutcomeTimeout:
		return "The server did not respond in time." + reason
	case core.OutcomeCancelled:
		return "The client cancelled the call." + reason
	case core.OutcomeRejected:
		return "Drawbridge rejected the call." + reason
	}
	return "The call is still in flight."
}
