package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordings are recorded calls, oldest first, and the catalog of their server.
type recordings struct {
	catalog *core.Catalog
	records []store.Record
}

func (r *recordings) LastCatalog(context.Context, string) (*core.Catalog, error) {
	return r.catalog, nil
}

func (r *recordings) RedactJSON(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("sk-known"), []byte("[redacted]"))
}

func (r *recordings) Calls(_ context.Context, q store.Query) (list []core.Call, next int64, err error) {
	for i, c := range slices.Backward(r.records) {
		if id := int64(i + 1); q.Before == 0 || id < q.Before {
			c.ID = id
			list = append(list, c.Call)
		}
		if len(list) == 3 {
			return list, list[2].ID, nil
		}
	}
	return list, 0, nil
}

func (r *recordings) Call(_ context.Context, id int64) (*store.Record, error) {
	if id == 2 {
		return nil, core.Errorf(core.CodeNotFound, "deleted")
	}
	return &r.records[id-1], nil
}

func TestRecordingHasWhatCanBeServedInOrder(t *testing.T) {
	record := func(method, name, arguments, result, failure string) store.Record {
		r := store.Record{Arguments: []byte(arguments), Result: []byte(result), Error: []byte(failure)}
		r.Method, r.Name, r.Took, r.Queued = method, name, 5*time.Second, 2*time.Second
		return r
	}
	cut := record("tools/call", "read", `{"n":4}`, `{"cu`, "")
	cut.ReplyCut = &store.Cut{Size: 100_000}
	cutArguments := record("tools/call", "read", `{"n`, `{}`, "")
	cutArguments.ArgumentsCut = &store.Cut{Size: 100_000}
	fromServer := record("sampling/createMessage", "", `{}`, `{}`, "")
	fromServer.FromServer = true
	from := &recordings{&core.Catalog{
		Tools: []core.Item{{Name: "read", Raw: json.RawMessage(`{"name":"read"}`)}}, Templates: []core.Item{{Name: "x", Raw: json.RawMessage(`{"uriTemplate":"x"}`)}},
		Info: json.RawMessage(`{"name":"fs"}`), Instructions: "Read with sk-known.", Prompts: []core.Item{{Name: "greet", Raw: json.RawMessage(`{"name":"greet","description":"sk-known"}`)}},
	}, []store.Record{
		record("tools/call", "read", `{"n":1}`, `{"a":1}`, ""),
		record("tools/call", "deleted", `{}`, `{}`, ""),
		record("tools/call", "read", `{"n":1}`, "", `{"code":-1,"message":"no"}`),
		record("prompts/get", "greet", `{"name":"Ann"}`, `{"messages":[]}`, ""),
		record("resources/read", "file:///a", `{"uri":"file:///a"}`, `{"contents":[]}`, ""),
		record("completion/complete", "x", `{}`, `{}`, ""),
		fromServer, cut, cutArguments,
		record("tools/call", "read", `{"n":5}`, `{"key":"[redacted]"}`, ""),
		record("tools/call", "read", `{"key":"[redacted]"}`, `{}`, ""),
		record("resources/read", "file:///[redacted]", ``, `{}`, ""),
		record("tools/call", "refused", `{}`, "", ""),
	}}
	from.records[0].ProgressLog = []core.ProgressNotification{{AfterMs: 1, Params: []byte(`{"progress":1}`)}, {AfterMs: 2, Params: []byte(`{"message":"[redacted]"}`)}}
	got, err := ReadRecording(t.Context(), from, store.Query{Server: "files"})
	require.NoError(t, err)
	want := &cassette.Recording{
		Header: cassette.Header{Version: 1, Server: "files", ServerInfo: json.RawMessage(`{"name":"fs"}`), Instructions: "Read with [redacted].",
			Tools: []json.RawMessage{json.RawMessage(`{"name":"read"}`)}, Prompts: []json.RawMessage{json.RawMessage(`{"name":"greet","description":"[redacted]"}`)}, Resources: nil,
			ResourceTemplates: []json.RawMessage{json.RawMessage(`{"uriTemplate":"x"}`)}},
		Calls: []cassette.Call{
			{Tool: "read", Arguments: `{"n":1}`, Result: `{"a":1}`, TookMs: 3000, Progress: []cassette.Progress{{AfterMs: 1, Params: `{"progress":1}`}}},
			{Tool: "read", Arguments: `{"n":1}`, Error: `{"code":-1,"message":"no"}`, TookMs: 3000},
			{Prompt: "greet", Arguments: `{"name":"Ann"}`, Result: `{"messages":[]}`, TookMs: 3000},
			{Resource: "file:///a", Result: `{"contents":[]}`, TookMs: 3000},
			{Tool: "read", Arguments: `{"n":4}`, Unavailable: cassette.Truncated, TookMs: 3000},
			{Tool: "read", Arguments: `{"n":5}`, Unavailable: cassette.Redacted, TookMs: 3000},
		},
		End: cassette.End{Calls: 6, Unavailable: 2, Skipped: 4},
	}
	assert.Empty(t, cmp.Diff(want, got))
}

func TestRecordingDoesNotMixAccounts(t *testing.T) {
	from := &recordings{catalog: &core.Catalog{}}
	for i, account := range []string{"", "", "work", "default", "work"} { // ids from 1; 2 is deleted
		r := store.Record{Call: core.Call{Method: "tools/call", Name: "whoami", Account: account}, Result: fmt.Appendf(nil, `{"n":%d}`, i)}
		from.records = append(from.records, r)
	}
	for account, want := range map[string]string{"work": `{"n":2}{"n":4}`, "default": `{"n":0}{"n":3}`} {
		got := ""
		rec, err := ReadRecording(t.Context(), from, store.Query{Server: "hub", Account: account})
		require.NoError(t, err)
		for _, c := range rec.Calls {
			got += c.Result
		}
		assert.Equalf(t, want, got, "account %s", account)
	}
	if _, err := ReadRecording(t.Context(), from, store.Query{Server: "hub"}); core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), `several accounts of the server, such as "default" and "work"`) {
		t.Error(err)
	}
}

func TestRecordingOfNothingIsRefused(t *testing.T) {
	for _, from := range []*recordings{{}, {catalog: &core.Catalog{}}} {
		_, err := ReadRecording(t.Context(), from, store.Query{Server: "x"})
		assert.Equal(t, core.CodeNotFound, core.CodeOf(err))
	}
	from := &recordings{catalog: &core.Catalog{}, records: []store.Record{{Call: core.Call{Method: "tools/call", Name: "a"}, Result: []byte(`{}`)}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ReadRecording(ctx, from, store.Query{Server: "x"})
	assert.ErrorIs(t, err, context.Canceled)
}
