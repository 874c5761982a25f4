package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatusReportsToolsVisibleToClients(t *testing.T) {
	t.Parallel()
	cfg, problems := config.Parse("c.json", []byte(`{"mcpServers": {
		"files": {"command": "x", "includeTools": ["read"]},
		"whole": {"command": "x", "tools": {"read": {"approval": "ask"}}},
		"plain": {"command": "x"},
		"never": {"command": "x", "includeTools": ["read"]}}}`))
	require.NotNil(t, cfg, problems)
	r := registry.New(registry.Options{})
	var servers []registry.Server
	var statuses []core.ServerStatus
	for _, c := range cfg.Servers {
		servers = append(servers, registry.Server{ID: c.ID, Filter: c.Filter})
	}
	r.Configure("", servers)
	for _, c := range cfg.Servers {
		if c.ID == "never" {
			statuses = append(statuses, core.ServerStatus{ID: c.ID})
			continue
		}
		catalog := &core.Catalog{}
		for _, name := range []string{"read", "write", "list"} {
			catalog.Tools = append(catalog.Tools, core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"}`)})
		}
		r.Set(c.ID, "", catalog)
		statuses = append(statuses, core.ServerStatus{ID: c.ID, Tools: 3})
	}
	a := &API{Options: Options{Views: r, Trust: new(trust.Baseline)}}
	assert.Equal(t, "map[files:1]", fmt.Sprint(a.visibleTools(cfg, statuses)), "clients see")
}

func TestStatusReportsMemoryAndCPU(t *testing.T) {
	s := newSite(t)
	s.fakes.usage = func(id string) (process.Usage, error) {
		if id != "files" {
			return process.Usage{}, errors.New("no process")
		}
		return process.Usage{RSS: 2e6, CPU: 1.5, Tree: []process.Proc{{PID: 7}, {PID: 8}}}, nil
	}
	s.statuses = []core.ServerStatus{{ID: "files", PID: 7}, {ID: "stopped"}, {ID: "remote", PID: 9}}
	want := supervisor.ServerUsage{Server: "files", RSS: 2e6, CPU: 1.5, Processes: 2}
	var list web.List[supervisor.ServerUsage]
	var st Status
	s.get(t, "/api/v1/server-usage", &list)
	s.get(t, "/api/v1/status", &st)
	assert.Truef(t, len(list.Items) == 1 && list.Items[0] == want && len(st.Usage) == 1 && st.Usage[0] == want, "%+v, %+v", list, st.Usage)
}

func TestRecentChangesListVersionsToolsAndDestinations(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", Label: "Files", State: core.StateRunning}}
	now := time.Now().UTC()
	var list []store.Destination
	for i, age := range []time.Duration{time.Hour, 30 * 24 * time.Hour} {
		list = append(list, store.Destination{Server: "files", Protocol: "tcp", Host: fmt.Sprintf("host%d.example.com", i), Port: 443, Address: netip.IPv6Unspecified().String(), FirstAt: now.Add(-age), LastAt: now})
	}
	require.NoError(t, s.store.SaveDestinations(t.Context(), list))
	tool := func(name string) core.Item {
		return core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"}}`)}
	}
	for i, version := range []string{"1.0", "1.0", "2.0"} {
		tools := []core.Item{tool("read")}
		if i == 2 {
			tools = append(tools, tool("write"))
		}
		s.api.Trust.Judge("files", &core.Catalog{Tools: tools, Info: json.RawMessage(`{"name":"fs","version":"` + version + `"}`)})
	}
	var changes web.List[trust.RecentChange]
	s.get(t, "/api/v1/recent-changes?server=Files", &changes)
	var got []string
	for _, c := range changes.Items {
		got = append(got, strings.TrimSpace(strings.Join([]string{c.Kind, c.Action, c.Name, c.Detail}, " ")))
	}
	want := []string{"version changed  now runs fs 2.0", "tool new write", "server new  first seen, with 1 tool", "destination new host0.example.com:443"}
	assert.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
	var d sandbox.Destinations
	s.get(t, "/api/v1/servers/Files/destinations", &d)
	assert.Truef(t, len(d.Items) == 2 && d.Items[0].Host == "host0.example.com" && d.Available == (d.Reason == ""), "destinations %+v", d)
	s.want(t, "GET", "/api/v1/servers/none/destinations", "", 404)
}

func TestNewCommandNoticeStaysUntilAcknowledged(t *testing.T) {
	s := newSite(t)
	s.notices = []core.Notice{{Subject: "command:files", Message: "Server \"files\" is running a new command: npx files"}}
	var st Status
	if s.get(t, "/api/v1/status", &st); len(st.Notices) == 0 || st.Notices[0] != s.notices[0] {
		t.Fatalf("notices %+v", st.Notices)
	}
	path := "/api/v1/notices/" + url.PathEscape("command:files")
	s.want(t, "DELETE", path, "", 204)
	s.want(t, "DELETE", path, "", 404)
}
