package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestFeaturesAreListedByClientAndServer(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", Era: core.Legacy}, {ID: "late"}}
	s.views.Set("files", "", &core.Catalog{Capabilities: json.RawMessage(`{"tools":{},"resources":{"subscribe":true}}`)})
	s.bothEras = "files"
	s.peers = []bridge.ClientInfo{
		{Client: core.Client{Token: "cursor", Name: "Cursor", Version: "1"}, Protocol: core.LegacyVersion, LastSeen: time.Unix(9, 0),
			Peer: bridge.Peer{Era: core.Legacy, Capabilities: json.RawMessage(`{"roots":{}}`)}},
		{Client: core.Client{Token: "claude", Name: "Claude"}, Protocol: core.ModernVersion, LastSeen: time.Unix(8, 0),
			Peer: bridge.Peer{Era: core.Modern, Capabilities: json.RawMessage(`{}`)}},
	}
	tell := func(query string) string {
		var list List[ClientFeatures]
		s.get(t, "/api/v1/features"+query, &list)
		var out []string
		for _, c := range list.Items {
			for _, server := range c.Servers {
				line := fmt.Sprintf("%s/%s %s/%s %v", c.Token, server.Server, c.Era, server.Era, server.Known)
				for _, f := range server.Features {
					switch f.Name {
					case "tools", "prompts", "subscriptions", "elicitation", "roots":
						line += " " + f.Name + ":" + f.How
					}
				}
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	cursor := "cursor/files legacy/legacy true tools:passes prompts:not server subscriptions:passes elicitation:with approval roots:passes"
	claude := "claude/files modern/modern true tools:passes prompts:not server subscriptions:passes elicitation:with approval roots:not client"
	for query, want := range map[string]string{
		"":                            cursor + "\ncursor/late legacy/ false\n" + claude + "\nclaude/late modern/ false",
		"?client=Cursor":              cursor + "\ncursor/late legacy/ false",
		"?server=files&client=claude": claude,
		"?client=nobody":              "",
	} {
		if got := tell(query); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", query, got, want)
		}
	}
	s.want(t, "GET", "/api/v1/features?server=nobody", "", 404)
}
