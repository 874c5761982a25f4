package policy

import (
	"context"
	"net/http"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Conditions are suggested for recorded and for pending calls, and only those that a rule certainly
// finds in the call.
func TestConditionsAreSuggestedForCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its paths are those of Unix")
	}
	now, problems := config.Parse("c.json", []byte(`{"mcpServers": {"files": {"command": "x"}, "local": {"command": "x", "cwd": "/srv/notes"}, "far": {"url": "https://example.com/mcp"}}}`))
	require.NotNil(t, now, problems)
	kept, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer kept.Close()
	ctx, stop := context.WithCancel(t.Context())
	var recorder sync.WaitGroup
	recorder.Go(func() { _ = kept.Recorder().Run(ctx) })
	defer recorder.Wait()
	defer stop()
	inbox := approvals.New(approvals.Options{Bus: &core.Bus{}})
	s := webtest.New(&Feature{Config: func() *config.Config { return now }, Inbox: inbox, Store: kept})
	at := time.Now()
	for i, server := range []string{"files", "files", "far"} {
		params := []byte(`{"path":"/srv/notes/` + server + `/a","mode":"r"}`)
		kept.Recorder().Record(&core.Call{ID: at.UnixMicro() + int64(i), At: at, Server: server, Method: "tools/call", Name: "read", Outcome: core.OutcomeOK,
			Params: params, Arguments: core.Span{End: len(params)}}, core.Reply{Result: []byte(`{}`)})
	}
	params := []byte(`{"path":"b/f.txt"}`)
	kept.Recorder().Record(&core.Call{ID: at.UnixMicro() + 3, At: at, Server: "local", Method: "tools/call", Name: "read", Outcome: core.OutcomeOK,
		Params: params, Arguments: core.Span{End: len(params)}}, core.Reply{Result: []byte(`{}`)})
	kept.Recorder().Flush(t.Context())
	suggest := func(body string, status int, want string) {
		t.Helper()
		got, text := s.Ask("POST", "/api/v1/policy/suggest", body)
		assert.Truef(t, got == status && strings.Contains(text, want), "%s: %d %s, want %s", body, got, text, want)
	}
	id := func(i int64) string { return `{"call":"` + strconv.FormatInt(at.UnixMicro()+i, 10) + `"}` }
	suggest(id(0), http.StatusOK, `"similar":1,"where":["{\"/path\":{\"under\":\"/srv/notes/files\"}}","{\"/mode\":{\"glob\":\"r\"}}"]`)
	suggest(id(2), http.StatusOK, `"where":["{\"/path\":{\"under\":\"/srv/notes/far\"}}"`)
	suggest(`{"call":"1"}`, http.StatusNotFound, "")
	suggest(`{"call":"x"}`, http.StatusBadRequest, "")
	suggest(`{"approval":"none"}`, http.StatusNotFound, "no longer pending")
	suggest(id(3), http.StatusOK, `"where":["{\"/path\":{\"under\":\"/srv/notes/b\"}}"]`)
	answered := make(chan error, 1)
	go func() {
		_, err := inbox.Ask(t.Context(), approvals.Item{Kind: approvals.Call, Server: "files", Held: &approvals.Held{Tool: "read", Workspace: "/srv", Arguments: `{"path":"/srv/x/y"}`}})
		answered <- err
	}()
	eventually.True(t, "one approval is pending", func() bool { return len(inbox.List()) == 1 })
	held := inbox.List()[0].ID
	suggest(`{"approval":"`+held+`"}`, http.StatusOK, `"where":["{\"/path\":{\"under\":\"${workspaceFolder}\"}}"]`)
	assert.NoError(t, inbox.Answer(held, approvals.Decline, nil))
	<-answered
}
