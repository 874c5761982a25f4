package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordsFor returns records without a history.
func recordsFor(views *registry.Registry) *historyWiring {
	return &historyWiring{
		validator: history.NewResultValidator(nil, nil, nil), secrets: newRecorderRedaction(nil, nil, slog.New(slog.DiscardHandler)), views: views,
	}
}

func TestRecordersStopInFixedOrder(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	recordsFor(nil).start(l)
	var names []string
	for _, c := range l.closers {
		names = append(names, c.name)
	}
	require.NoError(t, l.stop())
	want := []string{"secrets", "results"}
	require.Equal(t, want, names, "started in the order")
}

// toolsWithSchema returns a catalog of n tools with an outputSchema of type kind.
func toolsWithSchema(n int, kind string) *core.Catalog {
	c := &core.Catalog{}
	for i := range n {
		name := fmt.Sprintf("tool%d", i)
		raw := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"outputSchema":{"type":%q}}`, name, kind)
		c.Tools = append(c.Tools, core.Item{Name: name, Raw: json.RawMessage(raw)})
	}
	return c
}

func TestSchemasFollowCatalogs(t *testing.T) {
	t.Parallel()
	views := registry.New(registry.Options{})
	r := recordsFor(views)
	views.OnChange(func(registry.Change) { r.changed() })
	views.Set("a", "", toolsWithSchema(2, "object"))
	views.Set("b", "", toolsWithSchema(1, "object"))
	if len(r.schemas) != 2 || len(r.schemas["a"].byTool) != 2 || r.schemas["b"].byTool["tool0"] != `{"type":"object"}` {
		t.Fatalf("after both were listed: %v", r.schemas)
	}
	views.Set("b", "", toolsWithSchema(1, "array"))
	assert.Equal(t, `{"type":"array"}`, r.schemas["b"].byTool["tool0"], "after b changed")
	views.Configure("", []registry.Server{{ID: "b"}})
	if _, there := r.schemas["a"]; there || len(r.schemas) != 1 {
		t.Errorf("after a was removed: %v", r.schemas)
	}
	views.Configure("", []registry.Server{{ID: "c"}})
	assert.NotContains(t, r.schemas, "b", "after the configuration left b out")
}

// A server is listed often at the start, so the cost of a change must not depend on the number of
// tools of the other servers.
func TestServerChangeRefreshesOnlyItsTools(t *testing.T) {
	const servers, tools = 20, 50
	views := registry.New(registry.Options{})
	for i := range servers {
		views.Set(fmt.Sprintf("server%d", i), "", toolsWithSchema(tools, "object"))
	}
	r := recordsFor(views)
	r.changed()
	if n := testing.AllocsPerRun(10, func() { r.changed() }); n > servers*tools/10 {
		t.Errorf("%.0f allocations for a change that concerns no tool of %d", n, servers*tools)
	}
}

func TestClientsAreKnownAfterRestart(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	log := slog.New(slog.DiscardHandler)
	run := func() *bridge.Bridge {
		b := bridge.New(bridge.Options{Registry: registry.New(registry.Options{}), Lister: listedAlready{}, SaveClients: saveClients(kept, log)})
		restoreClients(t.Context(), kept, b, log)
		return b
	}
	first := run()
	for _, capabilities := range []string{`{"roots":{}}`, `{"experimental":"` + strings.Repeat("x", 1<<20) + `"}`} {
		body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `,"io.modelcontextprotocol/clientInfo":{"name":"probe","version":"1"}}}}`
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": core.ModernVersion, "Mcp-Method": "server/discover", bridge.ClientHeader: fmt.Sprint("client of ", len(capabilities)/1e6)} {
			r.Header.Set(name, value)
		}
		first.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.Len(t, first.ClientInfos(), 2)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, first.Run(stopped))
	again := run()
	require.Len(t, again.ClientInfos(), 1, "more capabilities than can be stored")
	one := again.ClientInfos()[0]
	assert.Equal(t, core.Client{Token: "client of 0", Name: "probe", Version: "1"}, one.Client)
	assert.Equal(t, `{"roots":{}} modern 2026-07-28`, fmt.Sprintf("%s %s %s", one.Capabilities, one.Era, one.Protocol))
	assert.WithinDuration(t, time.Now(), one.LastSeen, time.Minute)
	assert.Equal(t, "probe", again.ClientName("client of 0"), "its limits")
}
