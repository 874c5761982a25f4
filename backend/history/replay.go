package history

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Caller makes calls. *gateway.Gateway implements it.
type Caller interface {
	Call(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
}

// Calls reads recorded calls. *store.Store implements it.
type Calls interface {
	Calls(ctx context.Context, q store.Query) (calls []core.Call, next int64, err error)
	Call(ctx context.Context, id int64) (*store.Record, error)
}

// Replayer repeats recorded calls.
type Replayer struct {
	Calls  Calls
	Caller Caller
	// ReadOnly reports whether a tool is annotated as read-only.
	ReadOnly func(server, tool string) bool
}

// ReplayRequest describes a call to repeat.
type ReplayRequest struct {
	ID        int64
	Arguments []byte // a JSON object that replaces the recorded arguments; nil: use the recorded ones
	Confirmed bool   // the user has confirmed the call
	By        core.Client
}

// Replay repeats a recorded tool call. If the tool is not read-only and the call is not confirmed,
// Replay returns an error with CodeRejected and calls nothing. Recorded arguments that were
// redacted or truncated cannot be sent again; this is an error with CodeValidation.
func (r *Replayer) Replay(ctx context.Context, again ReplayRequest) (*core.Call, core.Reply, error) {
	old, err := r.Calls.Call(ctx, again.ID)
	if err != nil {
		return nil, core.Reply{}, err
	}
	if old.Method != "tools/call" || old.FromServer {
		return nil, core.Reply{}, core.Errorf(core.CodeValidation, "only tool calls can be repeated")
	}
	args := again.Arguments
	if args == nil {
		switch {
		case old.ArgumentsCut != nil:
			return nil, core.Reply{}, &core.Error{Code: core.CodeValidation, Message: "the arguments of this call were too long to be recorded completely", Hint: "Edit the arguments and send them."}
		case strings.Contains(string(old.Arguments), redact.Mark):
			return nil, core.Reply{}, &core.Error{Code: core.CodeValidation, Message: "the arguments of this call were recorded without their secrets", Hint: "Edit the arguments and send them."}
		}
		args = old.Arguments
	}
	if len(args) == 0 {
		args = []byte(`{}`)
	}
	if v, ok := decode(args); !ok {
		return nil, core.Reply{}, invalidField("arguments", "must be JSON")
	} else if _, object := v.(map[string]any); !object {
		return nil, core.Reply{}, invalidField("arguments", "must be a JSON object")
	}
	if !again.Confirmed && !r.ReadOnly(old.Server, old.Name) {
		return nil, core.Reply{}, &core.Error{Code: core.CodeRejected, Message: "this tool may have side effects: repeating the call requires confirmation", Hint: "Send the request with confirm set to true."}
	}
	call := ToolCall(again.By, old.Server, old.Name, args)
	call.Account = old.Account // or the call fails
	reply, err := r.Caller.Call(ctx, call, nil)
	return call, reply, err
}

func invalidField(name, what string) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: name, Error: what}}}
}

// ToolCall returns a call of a tool by the user. args is a JSON object.
func ToolCall(by core.Client, server, tool string, args []byte) *core.Call {
	name, _ := json.Marshal(tool)
	p := append([]byte(`{"name":`), name...)
	p = append(p, `,"arguments":`...)
	start := len(p)
	p = append(p, args...)
	return &core.Call{
		Client: by, ByUser: true, Era: core.Legacy, Server: server, Method: "tools/call", Name: tool, PublicName: tool,
		Params: append(p, '}'), Arguments: core.Span{Start: start, End: start + len(args)},
	}
}
