package history

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// recordList is a history of a few calls.
type recordList []store.Record

func (s recordList) Calls(context.Context, store.Query) (calls []core.Call, next int64, err error) {
	for i := range s {
		calls = append(calls, s[i].Call)
	}
	return calls, 0, nil
}

func (s recordList) Call(_ context.Context, id int64) (*store.Record, error) {
	for i := range s {
		if s[i].ID == id {
			return &s[i], nil
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "no such call")
}

// TestArchiveIsReadableByHARTools reads it as strictly as tools do: every field is there,
// no list is null, and times add up.
func TestArchiveIsReadableByHARTools(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	for _, calls := range []recordList{nil, {
		{Call: core.Call{ID: 2, At: at, Server: "files", Method: "resources/read", Name: "file:///a b?c#d", Outcome: core.OutcomeTimeout, Took: time.Second, Queued: 2 * time.Second}, Error: []byte(`{"code":-1}`)},
		{Call: core.Call{ID: 1, At: at, Server: "files", Method: "tools/call", Name: "read", Outcome: core.OutcomeOK, Took: 30 * time.Millisecond, Queued: 10 * time.Millisecond, BytesIn: 20, BytesOut: 30}, Arguments: []byte(`{"a":1}`), Result: []byte(`{"x":"</script>"}`)},
	}} {
		var out bytes.Buffer
		if err := HAR(t.Context(), &out, calls, store.Query{}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Log struct {
				Version string
				Creator struct{ Name string }
				Entries []struct {
					StartedDateTime time.Time
					Time            float64
					Request         map[string]any
					Response        map[string]any
					Cache           map[string]any
					Timings         map[string]float64
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Log.Version != "1.2" || got.Log.Creator.Name == "" || got.Log.Entries == nil || len(got.Log.Entries) != len(calls) {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for i, e := range got.Log.Entries {
			for _, key := range []string{"method", "url", "httpVersion", "headers", "cookies", "queryString", "headersSize", "bodySize"} {
				if e.Request[key] == nil {
					t.Errorf("entry %d: its request has no %s", i, key)
				}
			}
			for _, key := range []string{"status", "statusText", "httpVersion", "headers", "cookies", "content", "redirectURL", "headersSize", "bodySize"} {
				if e.Response[key] == nil {
					t.Errorf("entry %d: its response has no %s", i, key)
				}
			}
			sum := 0.0
			for _, part := range e.Timings {
				sum += part
			}
			if !e.StartedDateTime.Equal(at) || e.Cache == nil || len(e.Timings) != 4 || sum != e.Time {
				t.Errorf("entry %d: %+v", i, e)
			}
		}
		if len(calls) == 0 {
			continue
		}
		first, last := got.Log.Entries[0], got.Log.Entries[1]
		if first.Request["url"] != "mcp://files/resources/read/file:///a%20b%3Fc%23d" || first.Response["status"] != 504.0 || first.Request["postData"] != nil ||
			first.Response["content"].(map[string]any)["text"] != `{"code":-1}` {
			t.Errorf("%+v", first)
		}
		if last.Request["postData"].(map[string]any)["text"] != `{"a":1}` || last.Response["content"].(map[string]any)["text"] != `{"x":"</script>"}` || last.Response["status"] != 200.0 {
			t.Errorf("%+v", last)
		}
	}
}
