package history

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type mismatchCollector struct {
	mu    sync.Mutex
	calls int
	found map[int64]core.SchemaMismatch
	told  chan struct{}
}

func (n *mismatchCollector) Record(*core.Call, core.Reply) { n.mu.Lock(); n.calls++; n.mu.Unlock() }

func (n *mismatchCollector) SaveVerdict(_ context.Context, id int64, v core.SchemaMismatch) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.found[id] = v
	n.told <- struct{}{}
	return nil
}

func TestResultNotMatchingSchemaIsMarked(t *testing.T) {
	n := &mismatchCollector{found: map[int64]core.SchemaMismatch{}, told: make(chan struct{}, 10)}
	j := NewResultValidator(n, n, nil)
	j.SetLevels(map[string]string{"files": "warn", "strict": "error"})
	schema := `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"integer"}}}`
	j.SetSchemas(map[string]map[string]string{"files": {"count": schema}, "strict": {"count": schema}, "off": {"count": schema}})
	record := func(id int64, server, tool, result string) {
		j.Record(&core.Call{ID: id, Server: server, Name: tool, Method: "tools/call", Outcome: core.OutcomeOK}, core.Reply{Result: []byte(result)})
	}
	wrong, right := `{"content":[],"structuredContent":{"n":"x"}}`, `{"content":[],"structuredContent":{"n":1}}`
	record(1, "files", "count", wrong)
	record(2, "files", "count", right)
	record(3, "strict", "count", wrong)
	record(4, "off", "count", wrong)
	record(5, "files", "other", wrong)
	record(6, "files", "count", `{"content":[]}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	for range 3 {
		<-n.told
	}
	cancel()
	<-done
	if n.calls != 6 || len(n.found) != 3 || n.found[1].Level != "warn" || n.found[3].Level != "error" ||
		!strings.Contains(n.found[1].Problem, "integer") || !strings.Contains(n.found[6].Problem, "no structuredContent") {
		t.Errorf("%d recorded, marked %+v", n.calls, n.found)
	}
}

func TestCallsNeverWaitForValidation(t *testing.T) {
	n := &mismatchCollector{found: map[int64]core.SchemaMismatch{}, told: make(chan struct{}, 10)}
	j := NewResultValidator(n, n, nil) // nobody runs it
	j.SetLevels(map[string]string{"files": "warn"})
	j.SetSchemas(map[string]map[string]string{"files": {"count": `{"type":"object"}`}})
	for i := range 2 * maxQueuedResults {
		j.Record(&core.Call{ID: int64(i), Server: "files", Name: "count", Method: "tools/call", Outcome: core.OutcomeOK}, core.Reply{Result: []byte(`{}`)})
	}
	require.Equal(t, 2*maxQueuedResults, n.calls)
	require.EqualValues(t, maxQueuedResults, j.Skipped())
}

func TestOutputSchemaOfOlderDialectIsValidated(t *testing.T) {
	schema := `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"to":{"format":"email"}}}`
	got := NewResultValidator(nil, nil, nil).validate(schema, []byte(`{"structuredContent":{"to":"secret"}}`))
	assert.Equal(t, "structuredContent does not match the outputSchema: to is not a valid email", got)
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}`, `{"structuredContent":{"n":1}}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"oneOf":[{},{}]}}}`, `{"structuredContent":[1,[2]]}`)
	f.Fuzz(func(_ *testing.T, schema, result string) {
		NewResultValidator(nil, nil, nil).validate(schema, []byte(result)) // it returns, and does not panic
	})
}
