package bridge

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Approvals asks the user. It is implemented by *approvals.Inbox.
type Approvals interface {
	Ask(ctx context.Context, item approvals.Item) (approvals.Answer, error)
}

// askUser answers a server's request in place of a client that cannot. Only elicitation can be
// shown to the user; rq is nil if the request belongs to no single call.
func (b *Bridge) askUser(ctx context.Context, server string, rq *request, method string, params json.RawMessage, missing string) (core.Reply, error) {
	refusal := cannotAskReply("the client of this call does not support " + missing)
	if b.Approvals == nil || method != "elicitation/create" {
		return refusal, nil
	}
	item, err := approvals.Question(params)
	if err != nil {
		return refusal, nil
	}
	item.Server = server
	if rq != nil {
		item.Client = rq.client
		public, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.Name))
		item.Tool = public
	}
	answer, err := b.Approvals.Ask(ctx, item)
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	if err != nil {
		message, _ := core.Describe(err)
		return core.Reply{Error: wire.ErrorObject(codeRefused, message, nil)}, nil
	}
	return core.Reply{Result: answer.Result()}, nil
}

// answerForClient asks the user in place of a modern client without elicitation, if a modern server
// requests nothing else, and repeats the call with the answers. Results that the client can handle
// itself are returned unchanged.
func (b *Bridge) answerForClient(ctx context.Context, rq *request, call *core.Call, sink *callSink, reply core.Reply) (core.Reply, error) {
	if b.Approvals == nil {
		return reply, nil
	}
	var err error
	var capabilities []byte
	if bytes.Contains(reply.Error, missingCapabilityMark) {
		if capabilities = withElicitation(reply.Error, rq.capabilities); capabilities == nil {
			return reply, nil
		}
		if reply, err = b.Gateway.Call(ctx, b.repeatCall(call, nil, capabilities), sink); err != nil {
			return core.Reply{}, err
		}
	}
	for range maxRounds {
		input, ok := parseInputRequest(reply.Result)
		if !ok || len(input.InputRequests) == 0 {
			return reply, nil
		}
		can := parseClientCapabilities(rq.capabilities)
		for _, request := range input.InputRequests {
			if request.Method != "elicitation/create" || can.missingFor(request.Method, request.Params) == "" {
				return reply, nil
			}
		}
		answers, err := b.askInputs(ctx, call, sink, input)
		if err != nil {
			return core.Reply{}, err
		}
		if reply, err = b.Gateway.Call(ctx, b.repeatCall(call, answers, capabilities), sink); err != nil {
			return core.Reply{}, err
		}
	}
	return core.Reply{}, core.Errorf(core.CodeRejected, "the server asked for input more than %d times", maxRounds)
}

var missingCapabilityMark = []byte("-32021")

// withElicitation returns the capabilities of a client plus elicitation, if the server's error says
// that only elicitation is missing, else nil.
func withElicitation(object, capabilities []byte) []byte {
	var e struct {
		Code int `json:"code"`
		Data struct {
			Required map[string]json.RawMessage `json:"requiredCapabilities"`
		} `json:"data"`
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(object, &e) != nil || e.Code != codeNeedsCapability || json.Unmarshal(capabilities, &has) != nil || has == nil {
		return nil
	}
	wanted, ok := e.Data.Required["elicitation"]
	if _, already := has["elicitation"]; !ok || already || len(e.Data.Required) != 1 {
		return nil
	}
	has["elicitation"] = wanted
	all, err := json.Marshal(has)
	if err != nil {
		return nil
	}
	return all
}

// Ask answers a server's request that cannot be attributed to a single call. An elicitation is
// shown to the user; no client is asked, because it could be the wrong one. Other requests get an
// error.
func (b *Bridge) Ask(ctx context.Context, server, method string, params json.RawMessage) (core.Reply, error) {
	if b.Approvals == nil || method != "elicitation/create" {
		return cannotAskReply("no client to ask: the request cannot be attributed to a single call"), nil
	}
	return b.Gateway.Ask(ctx, &core.Call{Server: server}, method, params, detachedSink{b, server})
}

// detachedSink is the sink of a request that cannot be attributed to a single call.
type detachedSink struct {
	bridge *Bridge
	server string
}

// Notify implements core.Sink.
func (detachedSink) Notify(string, json.RawMessage) {}

// Ask implements core.Sink.
func (s detachedSink) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	return s.bridge.askUser(ctx, s.server, nil, method, params, "elicitation")
}
