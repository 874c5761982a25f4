package supervisor

import (
	"context"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
)

func TestListsAreRefreshedWithoutListChanged(t *testing.T) {
	silent := `{"tools":{}}`
	for capabilities, want := range map[string]bool{silent: true, `{"tools":{"listChanged":true}}`: false, `{"tools":{"listChanged":true},"prompts":{}}`: true, `{}`: false} {
		inBubble(t, starting(func(context.Context, upstream.Request, int) (*core.Catalog, error) {
			return &core.Catalog{Capabilities: []byte(capabilities), Tools: []core.Item{{Name: "old", Raw: []byte(`{"name":"old"}`)}}}, nil
		}), func(g *rig) {
			g.apply(server("a", func(s *config.Server) { s.CatalogRefresh = 10 * time.Minute }))
			c := g.conn("a")
			advance(7 * time.Minute)
			c.mu.Lock()
			c.next = &core.Catalog{Capabilities: []byte(capabilities), Tools: []core.Item{{Name: "new", Raw: []byte(`{"name":"new"}`)}}}
			c.mu.Unlock()
			advance(6 * time.Minute)
			_, ok := g.registry.All().Lookup(core.Tools, "a__new")
			assert.Equal(t, want, ok, capabilities)
			advance(time.Hour)
			c.mu.Lock()
			defer c.mu.Unlock()
			if want && c.refreshed < 5 {
				t.Errorf("%s: read %d times in 73 minutes", capabilities, c.refreshed)
			}
		})
	}
}

func TestRestartRefreshesLists(t *testing.T) {
	inBubble(t, starting(func(_ context.Context, _ upstream.Request, n int) (*core.Catalog, error) {
		name := []string{"old", "new"}[n-1]
		return &core.Catalog{Tools: []core.Item{{Name: name, Raw: []byte(`{"name":"` + name + `"}`)}}}, nil
	}), func(g *rig) {
		g.apply(server("a"))
		g.conn("a").die()
		advance(time.Second)
		_, ok := g.registry.All().Lookup(core.Tools, "a__new")
		assert.True(t, ok, "the new tool is not there")
	})
}
