package bridge

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedCalls is the number of calls in the history of recordHistory.
const recordedCalls = 5000

// recordHistory returns a history in which a client asks find_tools each of the 430 questions of the
// registry's tests and then calls the tool that fits, on three days, and calls others at random.
func recordHistory(t *testing.T, items []registry.Item) (*store.Store, []int64) {
	t.Helper()
	now := time.Now()
	history, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = history.Recorder().Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait(); _ = history.Close() })
	byName := map[string]registry.Item{}
	for _, item := range items {
		byName[item.Server+"/"+item.Name] = item
	}
	r := rand.New(rand.NewPCG(3, 4))
	var ids []int64
	record := func(server, name string, arguments any) {
		params, _ := json.Marshal(map[string]any{"arguments": arguments}) // made of JSON values
		day := time.Duration(len(ids)%3) * 24 * time.Hour
		at := now.Add(-day - time.Hour + time.Duration(len(ids))*time.Millisecond)
		c := &core.Call{ID: at.UnixMicro(), At: at, Client: core.Client{Token: "model"}, Server: server, Name: name, PublicName: name, Method: "tools/call",
			Params: params, Arguments: core.Span{Start: len(`{"arguments":`), End: len(params) - 1}, Outcome: core.OutcomeOK}
		history.Recorder().Record(c, core.Reply{Result: json.RawMessage(`{"content":[]}`)})
		if ids = append(ids, c.ID); len(ids)%200 == 0 {
			history.Recorder().Flush(t.Context())
		}
	}
	call := func(item registry.Item) {
		var tool struct {
			InputSchema map[string]any `json:"inputSchema"`
		}
		require.NoError(t, json.Unmarshal(item.Raw, &tool))
		record(item.Server, item.Name, valueOf(r, tool.InputSchema))
	}
	files, err := filepath.Glob("../registry/testdata/search_queries*.txt")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			question, want, _ := strings.Cut(strings.TrimSpace(line), " | ")
			record(builtinServer, findTools, map[string]string{"query": question})
			call(byName[want])
		}
	}
	for len(ids) < recordedCalls {
		call(items[r.IntN(len(items))])
	}
	history.Recorder().Flush(t.Context())
	return history, ids
}

// The arguments that a client has sent are what the signatures tell. Questions that were recorded are
// answered as well with the client's own use, and in about a third of the bytes of the definitions of the
// five tools that fit best, although those of this corpus have only 177 bytes.
func TestRecordedQuestionsAndArgumentsFitTheSignatures(t *testing.T) {
	r := corpus(t)
	items := r.All().Items(core.Tools)
	history, ids := recordHistory(t, items)
	list, err := history.ClientTools(t.Context(), time.Now().AddDate(0, 0, -30), 2)
	require.NoError(t, err)
	used := UsedTools{}
	for _, one := range list {
		used[[2]string{one.Server, one.Name}] = one.Days
	}
	told := map[string]shape{}
	byPublic := map[string]registry.Item{}
	for _, item := range items {
		found, _ := wire.Pick(item.Raw, "inputSchema")
		told[item.Server+"/"+item.Name] = shapeOf(wire.Bytes(item.Raw, found[0]), maxSignatureDepth)
		byPublic[item.Public] = item
	}
	vs := &views{Options: &Options{Registry: r}}
	questions, plain, own, calls, fit, answered, defined := 0, 0, 0, 0, 0, 0, 0
	question := ""
	for _, id := range ids {
		record, err := history.Call(t.Context(), id)
		require.NoError(t, err)
		if record.Server == builtinServer {
			var in struct{ Query string }
			require.NoError(t, json.Unmarshal(record.Arguments, &in))
			question = in.Query
			continue
		}
		calls++
		var v any
		if json.Unmarshal(record.Arguments, &v) == nil && told[record.Server+"/"+record.Name].accepts(v) {
			fit++
		}
		if question == "" {
			continue
		}
		questions++
		for _, f := range r.All().Find(question, "", defaultSearchResults) {
			defined += len(f.Item.Raw)
			if f.Item.Server == record.Server && f.Item.Name == record.Name {
				plain++
			}
		}
		params := wire.AppendString([]byte(`{"query":`), question)
		params = append(params, '}')
		reply := vs.searchTools(&request{params: params, spans: &wire.Params{Arguments: core.Span{End: len(params)}}, endpoint: endpoint{toolMode: ToolsSearch, used: &used}})
		answer := textOf(t, `{"result":`+string(reply.Result)+`}`)
		answered += len(answer)
		for line := range strings.Lines(answer) {
			name, _, _ := strings.Cut(line, "(")
			if byPublic[name].Server == record.Server && byPublic[name].Name == record.Name {
				own++
			}
		}
		question = ""
	}
	t.Logf("%d questions: %d found, %d with the client's own use; answers have %.3f of the bytes of the definitions; %d of %d arguments fit; %d tools in use", questions, plain, own, float64(answered)/float64(defined), fit, calls, len(used))
	require.Equal(t, 430, questions)
	require.Len(t, ids, recordedCalls)
	assert.True(t, own >= plain && answered*100 <= defined*35 && fit*100 >= calls*99, "worse than promised")
}
