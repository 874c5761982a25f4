package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

func TestRecentChangesListVersionsToolsAndDestinations(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", Label: "Files", State: core.StateRunning}}
	s.api.Observer = sandbox.New(sandbox.Options{Store: s.store, Bus: s.bus, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	now := time.Now().UTC()
	var list []store.Destination
	for i, age := range []time.Duration{time.Hour, 30 * 24 * time.Hour} {
		list = append(list, store.Destination{Server: "files", Protocol: "tcp", Host: fmt.Sprintf("host%d.example.com", i), Port: 443, Address: netip.IPv6Unspecified().String(), FirstAt: now.Add(-age), LastAt: now})
	}
	must(t, s.store.SaveDestinations(t.Context(), list))
	tool := func(name string) core.Item {
		return core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"}}`)}
	}
	for i, version := range []string{"1.0", "1.0", "2.0"} {
		tools := []core.Item{tool("read")}
		if i == 2 {
			tools = append(tools, tool("write"))
		}
		s.api.Trust.(interface {
			Judge(string, *core.Catalog) (map[core.Kind]map[string]string, bool)
		}).Judge("files", &core.Catalog{Tools: tools, Info: json.RawMessage(`{"name":"fs","version":"` + version + `"}`)})
	}
	var changes List[RecentChange]
	s.get(t, "/api/v1/recent-changes?server=Files", &changes)
	var got []string
	for _, c := range changes.Items {
		got = append(got, strings.TrimSpace(strings.Join([]string{c.Kind, c.Action, c.Name, c.Detail}, " ")))
	}
	want := []string{"version changed  now runs fs 2.0", "tool new write", "server new  first seen, with 1 tool", "destination new host0.example.com:443"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
	var d Destinations
	s.get(t, "/api/v1/servers/Files/destinations", &d)
	if len(d.Items) != 2 || d.Items[0].Host != "host0.example.com" || d.Available != (d.Reason == "") {
		t.Errorf("destinations %+v", d)
	}
	s.want(t, "GET", "/api/v1/servers/none/destinations", "", 404)
}
