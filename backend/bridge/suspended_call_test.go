package bridge

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const allClientCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// askingServer is a legacy server that requests a name and returns it, with progress before and
// after.
func askingServer(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	progress := func() {
		if token := wire.Bytes(call.Params, call.ProgressToken); len(token) > 0 {
			sink.Notify("notifications/progress", json.RawMessage(`{"progress":1,"progressToken":`+string(token)+`}`))
		}
	}
	progress()
	reply, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"Name?","requestedSchema":{"x":1.0}}`))
	if err != nil {
		return core.Reply{}, err
	}
	progress()
	return core.Reply{Result: json.RawMessage(`{"content":[],"got":` + string(reply.Result) + string(reply.Error) + `}`)}, nil
}

// callWithInput sends a call of math__add as a modern client with all capabilities.
func (s *fixture) callWithInput(path, params string, headers ...string) []string {
	s.Helper()
	return messages(s, s.modernAs(allClientCapabilities, path, "tools/call", "math__add", `"name":"math__add",`+params, headers...))
}

var stateOf = regexp.MustCompile(`"requestState":"([^"]*)"`)

func (s *fixture) requestState(answer string) string {
	s.Helper()
	found := stateOf.FindStringSubmatch(answer)
	if found == nil {
		s.Fatalf("no state in %s", answer)
	}
	return found[1]
}

const answers = `"inputResponses":{"input-1":{"action":"accept","content":{"n":9007199254740993}}}`

func TestModernClientAnswersLegacyServerRequest(t *testing.T) {
	s := newFixture(t, askingServer)
	first := s.callWithInput("/mcp", `"arguments":{"a":1.0,"b":[2]}`)
	if len(first) != 1 || !strings.Contains(first[0], `"resultType":"input_required","inputRequests":{"input-1":{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"x":1.0}}}}`) {
		t.Fatal(first)
	}
	// The same request, written differently and with another progress token.
	second := s.callWithInput("/mcp", `"arguments": {"b":[2], "a":1.0},`+answers+`,"requestState":"`+s.requestState(first[0])+`"`)
	if len(second) != 1 || !strings.Contains(second[0], `"got":{"action":"accept","content":{"n":9007199254740993}}`) || !strings.Contains(second[0], `"resultType":"complete"`) {
		t.Fatal(second)
	}
	assert.Equal(t, 1, len(s.gateway.seen))
}

func TestRequestStateWorksOnceForItsClientAndRequest(t *testing.T) {
	s := newFixture(t, askingServer)
	mine := []string{ClientHeader, "cursor"}
	state := s.requestState(s.callWithInput("/mcp", `"arguments":{"a":1}`, mine...)[0])
	refused := func(what, path, params string, headers ...string) {
		t.Helper()
		got := s.callWithInput(path, params, headers...)
		assert.Truef(t, len(got) == 1 && strings.Contains(got[0], "-32602") && strings.Contains(got[0], "requestState"), "%s: %q", what, got)
	}
	retry := answers + `,"requestState":"` + state + `"`
	refused("another client", "/mcp", `"arguments":{"a":1},`+retry, ClientHeader, "claude")
	refused("no client", "/mcp", `"arguments":{"a":1},`+retry)
	refused("other arguments", "/mcp", `"arguments":{"a":2},`+retry, mine...)
	refused("an unknown state", "/mcp", `"arguments":{"a":1},"requestState":"drawbridge:AAAA"`, mine...)
	refused("a forged state", "/mcp", `"arguments":{"a":1},`+strings.Replace(retry, state, state[:len(state)-1]+"~", 1), mine...)
	bad := s.callWithInput("/mcp", `"arguments":{"a":1},"inputResponses":{"input-1":7},"requestState":"`+state+`"`, mine...)
	assert.Contains(t, bad[0], "-32602", "no object")
	require.Contains(t, s.callWithInput("/mcp", `"arguments":{"a":1},`+retry, mine...)[0], `"got":{"action":"accept"`, "the right one")
	refused("a second time", "/mcp", `"arguments":{"a":1},`+retry, mine...)
}

func TestUnansweredInputsAreRequestedAgainWithNewState(t *testing.T) {
	s := newFixture(t, askingServer)
	state := s.requestState(s.callWithInput("/mcp", `"arguments":{}`)[0])
	again := s.callWithInput("/mcp", `"arguments":{},"inputResponses":{"other":{}},"requestState":"`+state+`"`)
	next := s.requestState(again[0])
	require.NotEqual(t, state, next)
	require.Contains(t, again[0], `"input-1":{"method"`)
	require.Contains(t, s.callWithInput("/mcp", `"arguments":{},`+answers+`,"requestState":"`+next+`"`)[0], `"got":`)
}

func TestRetriedRequestReceivesProgressUnderItsOwnToken(t *testing.T) {
	s := newFixture(t, askingServer)
	token := func(params, token string) []string {
		return messages(s, s.modernAs(allClientCapabilities+`,"progressToken":`+token, "/mcp", "tools/call", "math__add", `"name":"math__add",`+params))
	}
	first := token(`"arguments":{}`, `"one"`)
	require.Len(t, first, 2)
	require.Contains(t, first[0], `"progressToken":"one"`)
	second := token(`"arguments":{},`+answers+`,"requestState":"`+s.requestState(first[1])+`"`, `2`)
	require.Len(t, second, 2)
	require.Contains(t, second[0], `"progressToken":2`)
}

func TestServerRequestStateIsReturnedToIt(t *testing.T) {
	s := newFixture(t, nil)
	s.callWithInput("/mcp", `"arguments":{},`+answers+`,"requestState":"theirs"`)
	assert.Contains(t, string(s.gateway.last().Params), answers+`,"requestState":"theirs"`)
}

func TestSuspendedCallsPerClientAreBounded(t *testing.T) {
	s := newFixture(t, askingServer)
	for range maxSuspendedPerToken {
		s.requestState(s.callWithInput("/mcp", `"arguments":{}`)[0])
	}
	assert.Contains(t, s.callWithInput("/mcp", `"arguments":{}`)[0], "too many calls from this client are waiting")
	assert.Contains(t, s.callWithInput("/mcp", `"arguments":{}`, ClientHeader, "other")[0], "input_required")
}

func FuzzRequestState(f *testing.F) {
	f.Add(`"drawbridge:AAAA"`, `{"input-1":{}}`, `{"a":1}`)
	f.Add(`"drawbridge:\u0041"`, `{"input-1":{},"input-1":{}}`, `null`)
	f.Add(`7`, `[]`, `{"_meta":{"x":1},"requestState":1}`)
	f.Fuzz(func(t *testing.T, state, responses, arguments string) {
		raw := `{"name":"n","arguments":` + arguments + `,"inputResponses":` + responses + `,"requestState":` + state + `}`
		m, err := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + raw + `}`))
		if err != nil {
			return
		}
		cs := &calls{}
		rq := &request{method: "tools/call", params: m.rawParams(), spans: &m.params}
		held := &suspendedCall{calls: cs, rq: &request{method: "tools/call", params: []byte(`{"name":"n","arguments":{"held":true}}`)}, cancel: func(error) {}}
		secret, ok := cs.suspended.add(held, time.Hour)
		require.True(t, ok, "full")
		defer func() { cs.suspended.byState[secret].timer.Stop() }()
		reply, ours, err := cs.resume(t.Context(), rq, &callMessageHandler{calls: cs, rq: rq})
		text, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.RequestState))
		if ours != strings.HasPrefix(text, statePrefix) || ours && err == nil || len(reply.Result) > 0 {
			t.Fatalf("%s: %v %v %s", raw, ours, err, reply.Result)
		}
		// The same request always has the same digest, however it is written.
		require.Equal(t, requestDigest(&request{method: "tools/call", params: wire.Compact(nil, rq.params)}), requestDigest(rq))
	})
}
