package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// maxRounds limits how often a server may request input within one call.
const maxRounds = 10

var inputRequiredMark = []byte(`"input_required"`)

// fulfilInputs lets a legacy client answer a modern server. A modern server does not send requests:
// its result says input_required, and it expects the call to be repeated with the input.
// fulfilInputs asks the client as a legacy server would, and repeats the call until the server
// returns another result. Each round is recorded as a separate call.
func (b *Bridge) fulfilInputs(ctx context.Context, call *core.Call, sink core.Sink, reply core.Reply) (core.Reply, error) {
	for range maxRounds {
		input, ok := parseInputRequest(reply.Result)
		if !ok {
			return reply, nil
		}
		if len(input.InputRequests) == 0 {
			return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Message: "the server is busy", Hint: "Try again later.", Retriable: true}
		}
		answers, err := b.askInputs(ctx, call, sink, input)
		if err != nil {
			return core.Reply{}, err
		}
		if reply, err = b.Gateway.Call(ctx, b.repeatCall(call, answers, nil), sink); err != nil {
			return core.Reply{}, err
		}
	}
	return core.Reply{}, core.Errorf(core.CodeRejected, "the server asked for input more than %d times", maxRounds)
}

// repeatCall returns a copy of a call whose params begin with answers (raw members; may be empty).
// If capabilities is not nil, it replaces the client capabilities in _meta.
func (b *Bridge) repeatCall(call *core.Call, answers, capabilities []byte) *core.Call {
	now := b.Now()
	repeated := &core.Call{
		At: now.UTC(), Began: now, Client: call.Client, Session: call.Session, Shim: call.Shim, Workspace: call.Workspace, Era: call.Era, Server: call.Server,
		Method: call.Method, Name: call.Name, PublicName: call.PublicName, TraceID: call.TraceID, SpanID: call.SpanID, Protocol: call.Protocol,
		Capabilities: call.Capabilities, LogLevel: call.LogLevel, Continues: true,
	}
	params := append([]byte{'{'}, answers...)
	_ = wire.Members(call.Params, func(m wire.Member) error {
		if name := string(m.Name); len(answers) == 0 || name != "inputResponses" && name != "requestState" {
			params = append(append(params, call.Params[m.Key.Start:m.Value.End]...), ',')
		}
		return nil
	})
	params = append(bytes.TrimSuffix(params, []byte{','}), '}')
	spans, _ := wire.ScanParams(params)
	if capabilities != nil && !spans.ClientCapabilities.Empty() {
		repeated.Capabilities = capabilities
		params = wire.Splice(nil, params, wire.Edit{Span: spans.ClientCapabilities, With: capabilities})
		spans, _ = wire.ScanParams(params)
	}
	repeated.Params, repeated.Arguments, repeated.ProgressToken = params, spans.Arguments, spans.ProgressToken
	repeated.BytesIn = len(params)
	return repeated
}

// inputRequest is a result of type input_required (MCP 2026-07-28).
type inputRequest struct {
	ResultType    string `json:"resultType"`
	InputRequests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	RequestState json.RawMessage `json:"requestState"`
}

func parseInputRequest(result []byte) (input inputRequest, ok bool) {
	if !bytes.Contains(result, inputRequiredMark) || json.Unmarshal(result, &input) != nil {
		return input, false
	}
	return input, input.ResultType == "input_required"
}

// askInputs requests the inputs from the client one at a time, in the order of their keys, and
// returns inputResponses and requestState as raw members for repeatCall.
func (b *Bridge) askInputs(ctx context.Context, cause *core.Call, sink core.Sink, input inputRequest) ([]byte, error) {
	names := make([]string, 0, len(input.InputRequests))
	for name := range input.InputRequests {
		names = append(names, name)
	}
	slices.Sort(names)
	out := []byte(`"inputResponses":{`)
	for i, name := range names {
		request := input.InputRequests[name]
		reply, err := b.Gateway.Ask(ctx, cause, request.Method, request.Params, sink)
		if err != nil {
			return nil, err
		}
		if len(reply.Error) > 0 {
			var e struct{ Message string }
			_ = json.Unmarshal(reply.Error, &e)
			return nil, core.Errorf(core.CodeRejected, "the server needs input that the client did not give: %s", e.Message)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, name), ':')
		out = append(out, reply.Result...)
	}
	out = append(out, "},"...)
	if len(input.RequestState) > 0 {
		out = append(append(append(out, `"requestState":`...), input.RequestState...), ',')
	}
	return out, nil
}
