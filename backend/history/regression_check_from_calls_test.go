package history

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// sessionCalls is the history of one session, oldest first.
type sessionCalls []store.Record

func (s sessionCalls) Calls(context.Context, store.Query) (list []core.Call, next int64, err error) {
	for i := range s {
		list = append([]core.Call{s[i].Call}, list...)
	}
	return list, 0, nil
}

func (s sessionCalls) Call(_ context.Context, id int64) (*store.Record, error) { return &s[id], nil }

// answeredBy answers each call as this version.
type answeredBy struct{ version core.ServedBy }

func (a answeredBy) Call(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	call.Outcome, call.ServedBy = core.OutcomeOK, &a.version
	return core.Reply{Result: []byte(`{"x":2}`)}, nil
}

func TestCheckNamesBothVersions(t *testing.T) {
	c := Check{Name: "c", Steps: []Step{{Server: "s", Tool: "t", Version: "fs 1", Expect: Expect{Result: `{"x":1}`}}}}
	report := c.Run(t.Context(), answeredBy{core.ServedBy{Name: "fs", Version: "2"}}, core.Client{})
	if s := report.Steps[0]; s.OK || s.Version != "fs 2" || s.Recorded != "fs 1" {
		t.Errorf("%+v", s)
	}
}

// accountOf answers a call with its account.
type accountOf struct{}

func (accountOf) Call(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	call.Outcome = core.OutcomeOK
	return core.Reply{Result: []byte(`"` + call.Account + `"`)}, nil
}

func TestCheckRepeatsACallWithItsAccount(t *testing.T) {
	c := Check{Name: "c", Steps: []Step{{Server: "s", Tool: "t", Account: "work", Expect: Expect{Result: `"work"`}}, {Server: "s", Tool: "t", Expect: Expect{Result: `""`}}}}
	if report := c.Run(t.Context(), accountOf{}, core.Client{}); !report.OK {
		t.Errorf("%+v", report)
	}
}

func TestCheckOfASessionHasItsCallsInOrder(t *testing.T) {
	var s sessionCalls
	add := func(r store.Record, method string, outcome core.Outcome) {
		r.ID, r.Server, r.Name, r.Method, r.Outcome = int64(len(s)), "s", "t", method, outcome
		s = append(s, r)
	}
	add(store.Record{Call: core.Call{Account: "work", ServedBy: &core.ServedBy{Name: "fs", Version: "1", Package: "p@1"}}, Arguments: []byte(`{"a":1}`), Result: []byte(`{"x":1}`)}, "tools/call", core.OutcomeOK)
	add(store.Record{}, "prompts/get", core.OutcomeOK)
	add(store.Record{Arguments: []byte(`{"key":"[redacted]"}`)}, "tools/call", core.OutcomeOK)
	add(store.Record{Arguments: []byte(`{"a`), ArgumentsCut: &store.Cut{}}, "tools/call", core.OutcomeOK)
	add(store.Record{Result: []byte(`{"key":"[redacted]"}`)}, "tools/call", core.OutcomeToolError)
	add(store.Record{Error: []byte(`{"code":1}`)}, "tools/call", core.OutcomeProtocolError)
	add(store.Record{Arguments: []byte(`"{\"a\":1}"`)}, "tools/call", core.OutcomeRejected)
	for exact, want := range map[bool]string{
		false: `[{s t {"a":1} work {ok []  0} fs 1 (p@1)} {s t   {tool_error []  0} } {s t   {protocol_error []  0} }]`,
		true:  `[{s t {"a":1} work {ok [] {"x":1} 0} fs 1 (p@1)} {s t   {tool_error []  0} } {s t   {protocol_error [] {"code":1} 0} }]`,
	} {
		c, skipped, err := CheckFromCalls(t.Context(), s, "c", store.Query{Session: "id"}, exact)
		if got := fmt.Sprint(c.Steps); err != nil || got != want || skipped.Skipped != 3 || !slices.Equal(skipped.NotObjects, []string{"6"}) {
			t.Errorf("exact %v: %v, %+v skipped, %s, want %s", exact, err, skipped, got, want)
		}
	}
	if _, _, err := CheckFromCalls(t.Context(), sessionCalls{}, "c", store.Query{Session: "id"}, false); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a session without calls: %v", err)
	}
	if _, _, err := CheckFromCalls(t.Context(), s, "../c", store.Query{Session: "id"}, false); core.CodeOf(err) != core.CodeValidation {
		t.Errorf("a bad name: %v", err)
	}
	for range maxSteps {
		add(store.Record{}, "tools/call", core.OutcomeOK)
	}
	if _, _, err := CheckFromCalls(t.Context(), s, "c", store.Query{Session: "id"}, false); core.CodeOf(err) != core.CodeValidation {
		t.Errorf("a long session: %v", err)
	}
}
