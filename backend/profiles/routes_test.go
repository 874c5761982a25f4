package profiles

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeVisibilityEditor records what is written to profiles and clients. Its configuration does not
// change.
type fakeVisibilityEditor struct {
	now   *config.Config
	wrote []string
}

func (b *fakeVisibilityEditor) Current() *config.Config { return b.now }
func (b *fakeVisibilityEditor) SetProfile(_ context.Context, name string, raw json.RawMessage, was string) error {
	b.wrote = append(b.wrote, name+" "+string(raw)+" "+was)
	return nil
}
func (b *fakeVisibilityEditor) SetClient(_ context.Context, token string, raw json.RawMessage) error {
	b.wrote = append(b.wrote, token+" "+string(raw))
	return nil
}
func (b *fakeVisibilityEditor) HideTools(context.Context, map[string][]string, bool) error {
	return nil
}

// site is the feature with its operations.
type site struct {
	*webtest.Site
	feature Feature
	views   *registry.Registry
}

func newSite(t *testing.T, editor Editor) *site {
	t.Helper()
	tokens, err := loopback.NewTokens(t.TempDir(), nil)
	require.NoError(t, err)
	s := &site{views: registry.New(registry.Options{})}
	s.feature = Feature{Config: editor, Views: s.views, Tokens: tokens, Limits: func(string) bridge.ClientLimits { return bridge.ClientLimits{} }, Entries: func(string) []string { return nil }}
	s.Site = webtest.New(&s.feature)
	return s
}

func newVisibilitySite(t *testing.T) (*site, *fakeVisibilityEditor) {
	c, problems := config.Parse("c.json", []byte(`{"mcpServers":{},"profiles":{"office":{"servers":{}},"free":{}},"clients":{"cursor":{"profile":"office"}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	b := &fakeVisibilityEditor{now: c}
	return newSite(t, b), b
}

// The tag that a profile edit is based on reaches the writer.
func TestProfileEditNeedsItsBaseVersion(t *testing.T) {
	s, b := newVisibilitySite(t)
	status, said := s.Ask("PUT", "/api/v1/profiles/free", `{"entry":{"servers":{}}}`, "If-Match", "tag-1")
	assert.Equal(t, http.StatusOK, status, said)
	status, said = s.Ask("DELETE", "/api/v1/profiles/free", "", "If-Match", "tag-2")
	assert.Equal(t, http.StatusNoContent, status, said)
	if len(b.wrote) != 2 || b.wrote[0] != `free {"servers":{}} tag-1` || b.wrote[1] != "free  tag-2" {
		t.Errorf("%q", b.wrote)
	}
}

// A profile that is bound to a client cannot be deleted.
func TestProfileInUseIsNotDeleted(t *testing.T) {
	s, b := newVisibilitySite(t)
	if status, said := s.Ask("DELETE", "/api/v1/profiles/office", ""); status != http.StatusConflict || len(b.wrote) > 0 {
		t.Error(status, said, b.wrote)
	}
}

// Binding a client that cannot be bound reports an error.
func TestInvalidTokenBindingIsReported(t *testing.T) {
	s, b := newVisibilitySite(t)
	if status, said := s.Ask("PUT", "/api/v1/client-views/other", `{"profile":"office","toolMode":""}`); status != http.StatusConflict || len(b.wrote) != 1 {
		t.Error(status, said, b.wrote)
	}
	if status, said := s.Ask("PUT", "/api/v1/client-views/other", `{"profile":"nobody","toolMode":""}`); status != http.StatusNotFound || len(b.wrote) != 1 {
		t.Error(status, said, b.wrote)
	}
}

// An edit that does not mention the accounts of a profile or client must not lead to other
// accounts.
func TestEditsKeepChosenAccounts(t *testing.T) {
	s, b := newVisibilitySite(t)
	c, problems := config.Parse("c.json", []byte(`{"mcpServers":{"hub":{"command":"h","accounts":{"work":{}}}},
		"profiles":{"office":{"accounts":{"hub":"work"}}},"clients":{"cursor":{"accounts":{"hub":"work"}}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	b.now = c
	_, listed := s.Ask("GET", "/api/v1/profiles", "")
	uses := `"accounts":[{"server":"hub","account":"default","profiles":[],"clients":[]},{"server":"hub","account":"work","profiles":["office"],"clients":["cursor"]}]`
	assert.Contains(t, listed, uses)
	s.Ask("PUT", "/api/v1/profiles/office", `{"entry":{"toolMode":"search"}}`)
	s.Ask("PUT", "/api/v1/profiles/office", `{"entry":{"accounts":{}}}`)
	s.Ask("PUT", "/api/v1/client-views/cursor", `{"profile":"office","toolMode":""}`)
	s.Ask("PUT", "/api/v1/client-views/cursor", `{"profile":"office","toolMode":"","maxResultTokens":8000}`)
	if !strings.Contains(listed, `"clients":[{"token":"cursor","profile":"","toolMode":"","maxResultTokens":0,"singleCopy":false,"accounts":{"hub":"work"}}]`) {
		t.Errorf("clients: %s", listed)
	}
	s.Ask("PUT", "/api/v1/client-views/cursor", `{"profile":"","toolMode":"","accounts":{"hub":"default"}}`)
	s.Ask("PUT", "/api/v1/client-views/cursor", `{"profile":"","toolMode":"search","accounts":{}}`)
	for _, unknown := range []string{`{"hub":"wrok"}`, `{"gone":"work"}`} {
		s.Want(t, "PUT", "/api/v1/client-views/cursor", `{"profile":"","toolMode":"","accounts":`+unknown+`}`, http.StatusNotFound, "")
	}
	s.Want(t, "PUT", "/api/v1/client-views/cursor", `{"profile":"office","toolMode":"","maxResultTokens":499}`, http.StatusBadRequest, "")
	s.Ask("PUT", "/api/v1/client-views/cursor", `{"singleCopy":true}`) // the rest stays
	want := []string{`office {"accounts":{"hub":"work"},"toolMode":"search"} `, `office {} `, `cursor {"accounts":{"hub":"work"},"profile":"office"}`, `cursor {"accounts":{"hub":"work"},"profile":"office","results":{"maxTokens":8000}}`,
		`cursor {"accounts":{"hub":"default"}}`, `cursor {"toolMode":"search"}`, `cursor {"accounts":{"hub":"work"},"results":{"singleCopy":true}}`}
	assert.Equal(t, want, b.wrote)
}

// The tray lists clients with a token, and only if there are profiles. It changes nothing but the
// profile.
func TestTrayAssignsClientToProfile(t *testing.T) {
	s, b := newVisibilitySite(t)
	if _, err := s.feature.Tokens.Create("cursor"); err != nil {
		t.Fatal(err)
	}
	profiles, clients, err := s.feature.ClientProfiles()
	if err != nil || !slices.Equal(profiles, []string{"office", "free"}) || len(clients) != 1 || clients[0].Token != "cursor" || clients[0].Profile != "office" {
		t.Errorf("%q %+v %v", profiles, clients, err)
	}
	c, problems := config.Parse("c.json", []byte(`{"mcpServers":{"hub":{"command":"h","accounts":{"work":{}}}},"profiles":{"office":{},"free":{}},
		"clients":{"cursor":{"profile":"office","toolMode":"search","accounts":{"hub":"work"},"results":{"maxTokens":8000}}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	b.now = c
	for _, profile := range []string{"free", ""} {
		_ = s.feature.SetClientProfile(t.Context(), "cursor", profile) // the configuration of this test does not change
	}
	want := []string{
		`cursor {"accounts":{"hub":"work"},"profile":"free","results":{"maxTokens":8000},"toolMode":"search"}`,
		`cursor {"accounts":{"hub":"work"},"results":{"maxTokens":8000},"toolMode":"search"}`,
	}
	assert.Equal(t, want, b.wrote)
	b.now = new(config.Config)
	if profiles, clients, err := s.feature.ClientProfiles(); len(profiles)+len(clients) > 0 || err != nil {
		t.Errorf("without profiles: %q %+v %v", profiles, clients, err)
	}
}

// A profile, saved or not, costs a client what the lists of its own entries will, and says what it pays now.
func TestProfileCostsAClientWhatItsEntriesList(t *testing.T) {
	s, b := newVisibilitySite(t)
	c, problems := config.Parse("c.json", []byte(`{"mcpServers":{},"profiles":{"lean":{"servers":{"a":{}}}},"clients":{"cursor":{"toolMode":"search"},"zed":{"profile":"lean"}}}`))
	require.NotNil(t, c, problems)
	b.now = c
	for id, size := range map[string]int{"a": 800, "b": 4000, "other": 40_000} {
		s.views.Set(id, id, &core.Catalog{Tools: []core.Item{{Name: "t", Raw: json.RawMessage(`{"name":"t","description":"` + strings.Repeat("x", size) + `","inputSchema":{"type":"object"}}`)}}})
	}
	s.views.SetProfiles(c.Profiles)
	s.feature.Entries = func(token string) []string { return map[string][]string{"cursor": {"a", "b"}}[token] }
	var costs web.List[ClientCost]
	s.Get(t, "/api/v1/client-views/cursor/costs", &costs)
	require.Len(t, costs.Items, 2)
	none, lean := costs.Items[0], costs.Items[1]
	assert.InDelta(t, 1200, none.Tokens.All, 60)
	assert.InDelta(t, 220, lean.Tokens.All, 30)
	assert.Equal(t, []string{"b"}, lean.Excluded)
	assert.Empty(t, none.Excluded)
	assert.Equal(t, []string{"b", "a"}, []string{none.Tools[0].Server, none.Tools[1].Server}, "the largest first, and no other server")
	assert.InDelta(t, none.Tokens.All, none.Tools[0].Tokens+none.Tools[1].Tokens+none.Tokens.Instructions, 12)
	assert.Empty(t, lean.Tools)
	for _, one := range costs.Items {
		assert.Equal(t, one.Tokens.All, one.Tokens.Auto)
		assert.Equal(t, one.Auto, config.ToolsAll)
		assert.Equal(t, none.Tokens.Search, one.Now)
	}
	var all Profiles
	s.Get(t, "/api/v1/profiles", &all)
	assert.Equal(t, map[string]int{"zed": all.Items[1].Tokens.All}, all.Items[1].Pays)
	var draft DraftCost
	require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/profile-cost", `{"entry":{"servers":{"b":{}}},"name":"lean","client":"cursor"}`, 200)), &draft))
	require.Len(t, draft.Clients, 2)
	cursor, zed := draft.Clients[0], draft.Clients[1]
	assert.InDelta(t, 1000, cursor.Tokens.All, 60)
	assert.Equal(t, []string{"a"}, cursor.Excluded)
	assert.Equal(t, draft.Tokens, zed.Tokens, "it has one list of all")
	assert.InDelta(t, lean.Tokens.All, zed.Now, 30)
	assert.NotEqual(t, draft.Tokens, cursor.Tokens)
	require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/profile-cost", `{"entry":{}}`, 200)), &draft))
	assert.Empty(t, draft.Clients)
}
