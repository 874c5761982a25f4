package history

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	s := report.Steps[0]
	assert.Truef(t, !s.OK && s.Version == "fs 2" && s.Recorded == "fs 1", "%+v", s)
}

// accountOf answers a call with its account.
type accountOf struct{}

func (accountOf) Call(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	call.Outcome = core.OutcomeOK
	return core.Reply{Result: []byte(`"` + call.Account + `"`)}, nil
}

func TestCheckRepeatsACallWithItsAccount(t *testing.T) {
	c := Check{Name: "c", Steps: []Step{{Server: "s", Tool: "t", Account: "work", Expect: Expect{Result: `"work"`}}, {Server: "s", Tool: "t", Expect: Expect{Result: `""`}}}}
	report := c.Run(t.Context(), accountOf{}, core.Client{})
	assert.Truef(t, report.OK, "%+v", report)
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
	_, _, err := CheckFromCalls(t.Context(), sessionCalls{}, "c", store.Query{Session: "id"}, false)
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "a session without calls")
	_, _, err = CheckFromCalls(t.Context(), s, "../c", store.Query{Session: "id"}, false)
	assert.Equal(t, core.CodeValidation, core.CodeOf(err), "a bad name")
	for range maxSteps {
		add(store.Record{}, "tools/call", core.OutcomeOK)
	}
	_, _, err = CheckFromCalls(t.Context(), s, "c", store.Query{Session: "id"}, false)
	assert.Equal(t, core.CodeValidation, core.CodeOf(err), "a long session")
}

// memoryCheckStore keeps documents in memory.
type memoryCheckStore struct {
	mu     sync.Mutex
	checks [][]byte
	facts  map[string][]byte
}

func (s *memoryCheckStore) SavedChecks(context.Context) ([][]byte, error) { return s.checks, nil }

func (s *memoryCheckStore) Metadata(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.facts[key]
	return v, ok, nil
}

func (s *memoryCheckStore) SaveMetadata(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[key] = value
	return nil
}

type answering struct {
	mu    sync.Mutex
	text  string
	calls map[string]int
}

func (a *answering) Call(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[c.Name]++
	c.Outcome = core.OutcomeOK
	return core.Reply{Result: []byte(a.text)}, nil
}

func TestChecksRunAfterServerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := func(name, tool, auto string) []byte {
			d, _ := json.Marshal(Check{Name: name, Auto: auto, Steps: []Step{{Server: "files", Tool: tool, Expect: Expect{Contains: []string{"fine"}}}}})
			return d
		}
		s := &memoryCheckStore{facts: map[string][]byte{}, checks: [][]byte{
			check("reads", "read", ""), check("writes", "write", ""), check("writes-on", "write-on", AutoAlways), check("reads-off", "read-off", AutoNever)}}
		a := &answering{text: `"fine"`, calls: map[string]int{}}
		offer := "v1"
		var said []string
		w := NewCheckRunner(CheckRunner{
			Store: s, Caller: a, Log: slog.New(slog.DiscardHandler),
			ReadOnly:   func(_, tool string) bool { return tool == "read" || tool == "read-off" },
			ServerHash: func(string) (string, bool) { return offer, offer != "" },
			Label:      func(server string) string { return map[string]string{"files": "My Files"}[server] },
			Notify:     func(check, sentence string) { said = append(said, check+": "+sentence) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		change := func() {
			for range 5 { // lists change in bursts
				w.Changed("files")
			}
			time.Sleep(2 * debounceDelay) // of the bubble's clock
			synctest.Wait()
		}
		change() // for the first time: there is nothing to compare with
		require.Empty(t, a.calls, "checks ran without a change")
		change() // the same again
		offer = ""
		change() // the server is away
		require.Empty(t, a.calls, "checks ran without a change")
		offer = "v2"
		change()
		if a.calls["read"] != 1 || a.calls["write-on"] != 1 || a.calls["write"] != 0 || a.calls["read-off"] != 0 {
			t.Fatalf("called %v", a.calls)
		}
		last := w.Last(ctx, "reads")
		assert.Truef(t, last.OK && !last.At.IsZero() && last.Failed == 0, "the last run is %+v", last)
		offer, a.text = "v3", `"broken"`
		change()
		last = w.Last(ctx, "reads")
		assert.Truef(t, !last.OK && last.Failed == 1 && last.Trigger == "the version or tools of My Files changed", "the last run is %+v", last)
		if len(said) != 4 || said[0] != "reads: " || said[2] != `reads: The check "reads" failed after the version or tools of "My Files" changed.` {
			t.Errorf("said %q", said)
		}
		cancel()
		<-done
	})
}
