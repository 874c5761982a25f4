package builtin

import (
	"context"
	"encoding/json"
	"fmt"
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

// tool is a tool of the built-in server.
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
