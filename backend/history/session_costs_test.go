package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A session is priced in each mode: the list and what is discovered in each turn, and the results.
func TestSessionIsPricedInEachMode(t *testing.T) {
	s := newSite(t)
	catalog := &core.Catalog{Instructions: strings.Repeat("i", 400)}
	for i := range 40 {
		name := fmt.Sprintf("tool%d", i)
		catalog.Tools = append(catalog.Tools, core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `","description":"` + strings.Repeat("d", 1000) + `","inputSchema":{"type":"object"}}`)})
	}
	s.views.Set("files", "files", catalog)
	s.feature.Limits = func(token string) bridge.ClientLimits { return bridge.ClientLimits{SearchesItself: token == "t"} }
	s.feature.ListCost = func(string) (*bridge.ListCost, string) {
		return bridge.CostOf(s.views.All(), bridge.ClientLimits{}, ""), "all"
	}
	for i := range 6 { // six calls of two tools
		at := time.Now().Add(time.Duration(i-60) * time.Second)
		s.store.Recorder().Record(&core.Call{ID: at.UnixMicro(), At: at.UTC(), Client: core.Client{Token: "t", Name: "c"}, Session: "s1", Server: "files", Method: "tools/call",
			Name: fmt.Sprintf("tool%d", i%2), Params: []byte(`{}`), Outcome: core.OutcomeOK, BytesOut: 14}, core.Reply{Result: []byte(`{"content":[]}`)})
	}
	s.store.Recorder().Flush(t.Context())
	var list web.List[SessionCost]
	s.Get(t, "/api/v1/usage/sessions", &list)
	require.Len(t, list.Items, 1)
	require.Len(t, list.Items[0].Modes, 3)
	one := list.Items[0]
	assert.Truef(t, one.Calls == 6 && one.Tools == 2 && one.Searches && one.Mode == "all" && one.ResultTokens == 6*14/4, "%+v", one)
	for i, m := range one.Modes {
		turns := []int64{7, 9, 9}[i]
		if m.Mode != []string{"all", "search", "deferred"}[i] || m.Turns != turns || m.Total != (m.List+m.Discovery)*turns+one.ResultTokens || m.Once != m.List+m.Discovery+one.ResultTokens || (m.Discovery > 0) != (i > 0) {
			t.Errorf("%+v", m)
		}
	}
	all, search := one.Modes[0], one.Modes[1]
	assert.Truef(t, all.List >= 40*1000/4 && search.Total < all.Total, "all %+v, search %+v", all, search)
	s.Get(t, "/api/v1/usage/sessions?client=other", &list)
	assert.Empty(t, list.Items, "other clients")
}
