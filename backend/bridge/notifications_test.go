package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listenerProbe is a listener whose stream a test reads directly.
type listenerProbe struct {
	s *fixture
	l *listener
	w *httptest.ResponseRecorder
}

func (s *fixture) newProbe(path, token string) listenerProbe {
	s.bridge.listeners.announceChanges() // of the fixture
	ep, _ := parseEndpoint(path)
	e := listenerProbe{s: s, w: httptest.NewRecorder()}
	e.l = s.bridge.listeners.open(&request{endpoint: ep, requestOrigin: requestOrigin{token: token}}, new(session), nil, nil)
	e.l.stream = s.bridge.newResponseWriter(e.w)
	return e
}

// sent returns what the listener was sent since the last call.
func (e listenerProbe) sent() string {
	e.s.bridge.listeners.announceChanges()
	eventually.True(e.s, "the queue is empty", func() bool {
		e.l.mu.Lock()
		defer e.l.mu.Unlock()
		return !e.l.sending
	})
	e.l.stream.mu.Lock()
	defer e.l.stream.mu.Unlock()
	text := e.w.Body.String()
	e.w.Body.Reset()
	return text
}

// announcedKinds returns the kinds whose list_changed notification the listener was sent.
func (e listenerProbe) announcedKinds() []string {
	var all []string
	text := e.sent()
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if strings.Contains(text, "notifications/"+kind+"/list_changed") {
			all = append(all, kind)
		}
	}
	return all
}

func (e listenerProbe) expectKinds(t *testing.T, what string, want ...string) {
	t.Helper()
	assert.Equal(t, want, e.announcedKinds(), what)
}

// A client is notified only if a list that it sees has changed, however it is limited to a profile.
// An edit of a profile notifies only the clients of the profile.
func TestListenerReceivesOnlyItsOwnListChanges(t *testing.T) {
	s := newProfileFixture(t)
	inside := map[string]listenerProbe{"token": s.newProbe("/mcp", "bound"), "address": s.newProbe("/p/p/mcp", "free"), "token at a server": s.newProbe("/s/in/mcp", "bound")}
	outside := map[string]listenerProbe{"everything": s.newProbe("/mcp", "free"), "another profile": s.newProbe("/p/q/mcp", "free")}
	sealed := s.newProbe("/mcp", "sealed")
	silent := func(what string, all map[string]listenerProbe) {
		t.Helper()
		for name, e := range all {
			e.expectKinds(t, name+", "+what)
		}
		sealed.expectKinds(t, "a client whose profile is gone, "+what)
	}
	silent("before anything happened", inside)
	silent("before anything happened", outside)
	c := markedCatalog("OUTSIDE", "out")
	c.Tools, c.Prompts, c.Resources = nil, nil, c.Resources[1:] // what remains decides the URIs of the server in
	s.registry.Set("out", "", c)
	silent("out changed", inside)
	for name, e := range outside {
		e.expectKinds(t, name, "tools", "prompts", "resources")
	}
	// The server announces a change, but the lists are the same.
	s.registry.Set("out", "", c, core.Tools)
	silent("out says that it changed", inside)
	outside["everything"].expectKinds(t, "everything", "tools")
	s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"in": {NoPrompts: true}}}, config.Profile{Name: "q"})
	silent("p was edited", outside)
	for name, e := range inside {
		e.expectKinds(t, name, "tools", "prompts")
	}
	// If the visibility is unknown, the lists become empty; later changes are not announced.
	s.bridge.SetVisibility(Visibility{Unknown: "mend it"})
	for _, e := range inside {
		e.announcedKinds()
	}
	for _, e := range outside {
		e.announcedKinds()
	}
	s.registry.Set("in", "", markedCatalog("changed", "in"))
	silent("all is unknown", inside)
	silent("all is unknown", outside)
	// A token without a profile sees all changes.
	s.bridge.SetVisibility(Visibility{})
	inside["token"].expectKinds(t, "unbound", "tools", "prompts", "resources")
}

// announcedUpdates returns the servers whose update of a resource the listener is sent.
func (e listenerProbe) announcedUpdates(public string) []string {
	var all []string
	e.sent()
	uri := strings.Replace(public, "in__", "", 1)
	for _, server := range []string{"in", "out"} {
		e.s.bridge.subscriptions.add(resourceKey{server: server, uri: uri}, e.l, subscriber{uri: public, call: &core.Call{}})
		e.s.bridge.ResourceUpdated(server, "", json.RawMessage(`{"uri":"`+uri+`"}`))
		if strings.Contains(e.sent(), "resources/updated") {
			all = append(all, server)
		}
		e.s.bridge.subscriptions.removeListener(e.l)
	}
	return all
}

// A subscription is checked against what its client sees at the time of the update.
func TestResourceUpdateReachesCurrentViewersOnly(t *testing.T) {
	s := newProfileFixture(t)
	bound, free, sealed := s.newProbe("/mcp", "bound"), s.newProbe("/mcp", "free"), s.newProbe("/mcp", "sealed")
	check := func(what string, e listenerProbe, uri string, want ...string) {
		t.Helper()
		assert.Equalf(t, want, e.announcedUpdates(uri), "%s, %s", what, uri)
	}
	check("bound", bound, "both://in__doc", "in")
	check("bound", bound, "both://doc")
	check("bound", bound, "in://doc", "in")
	check("bound", bound, "out://doc")
	check("free", free, "both://doc", "out")
	check("free", free, "both://in__doc", "in")
	check("free", free, "out://doc", "out")
	for _, uri := range []string{"both://doc", "both://in__doc", "in://doc", "out://doc"} {
		check("sealed", sealed, uri)
	}
	s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"in": {NoResources: true}}})
	check("after the edit", bound, "in://doc")
	check("after the edit", bound, "both://in__doc")
	s.bridge.SetVisibility(Visibility{Unknown: "mend it"})
	check("unknown", bound, "in://doc")
	check("unknown", free, "out://doc")
}

// connectAs connects a client with a token.
func (s *fixture) connectAs(path string, era core.Era, token string, o *mcp.ClientOptions) *mcp.ClientSession {
	s.Helper()
	return s.connect(path, era, token, mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, o))
}

// bearer is a transport that adds a token to every request.
type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(ClientHeader, string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// notifiedClients are real clients with and without a profile.
var notifiedClients = map[string]struct{ path, token string }{
	"p": {"/p/p/mcp", "free"}, "bound": {"/mcp", "bound"}, "q": {"/p/q/mcp", "free"}, "all": {"/mcp", "free"},
}

// notificationLog collects the notifications of all notifiedClients. A notification in forbidden is
// an error whenever it arrives.
type notificationLog struct {
	*testing.T
	words     chan [2]string
	forbidden map[string][]string
}

func (h *notificationLog) await(again func(), wanted map[string][]string) {
	h.Helper()
	open := map[[2]string]bool{}
	for who, words := range wanted {
		for _, w := range words {
			open[[2]string{who, w}] = true
		}
	}
	deadline := time.After(30 * time.Second)
	for again(); len(open) > 0; {
		select {
		case got := <-h.words:
			delete(open, got)
			if slices.Contains(h.forbidden[got[0]], got[1]) {
				h.Errorf("%s heard of %s", got[0], got[1])
			}
		case <-time.After(20 * time.Millisecond): // the streams may not have been open
			again()
		case <-deadline:
			h.Fatalf("never heard: %v", slices.Collect(maps.Keys(open)))
		}
	}
}

func TestProfileEditNotifiesOnlyItsClients(t *testing.T) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		t.Run(string(era), func(t *testing.T) {
			s := newProfileFixture(t)
			h := &notificationLog{T: t, words: make(chan [2]string, 10_000)}
			for who, from := range notifiedClients {
				tell := func(what string) { h.words <- [2]string{who, what} }
				cs := s.connectAs(from.path, era, from.token, &mcp.ClientOptions{
					ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { tell("tools") },
					PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { tell("prompts") },
					ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { tell("resources") },
					ResourceUpdatedHandler:     func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { tell("mark") },
				})
				require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "in://doc"}))
			}
			everybody := func(what string) map[string][]string {
				return map[string][]string{"p": {what}, "bound": {what}, "q": {what}, "all": {what}}
			}
			mark := func() { s.bridge.ResourceUpdated("in", "", json.RawMessage(`{"uri":"in://doc"}`)) }
			n := 0
			h.forbidden = map[string][]string{"p": {"prompts", "resources"}, "bound": {"prompts", "resources"}, "q": {"prompts"}, "all": {"prompts"}}
			h.await(func() { // all streams are open when every client has received this
				n++
				c := markedCatalog("inside", "in")
				c.Tools = append(c.Tools, core.Item{Name: "more" + itoa(n), Raw: json.RawMessage(`{"name":"more` + itoa(n) + `"}`)})
				s.registry.Set("in", "", c)
			}, everybody("tools"))
			// Changes outside of p are not announced in p. The mark is sent after them.
			h.await(func() {
				n++
				c := markedCatalog("OUTSIDE", "out")
				c.Resources = append(c.Resources, core.Item{Name: "out://" + itoa(n), Raw: json.RawMessage(`{"uri":"out://` + itoa(n) + `","name":"n"}`)})
				s.registry.Set("out", "", c)
			}, map[string][]string{"q": {"resources"}, "all": {"resources"}})
			h.await(mark, everybody("mark"))
			// An edit of p is announced to the clients of p only.
			h.forbidden["p"], h.forbidden["bound"] = []string{"resources"}, []string{"resources"}
			on := false
			h.await(func() {
				on = !on
				s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"in": {NoPrompts: on, Tools: config.Filter{Exclude: []string{"hide"}}}}}, config.Profile{Name: "q"})
			}, map[string][]string{"p": {"prompts"}, "bound": {"prompts"}})
			for range 3 {
				h.await(mark, everybody("mark"))
			}
		})
	}
}

// Two servers offer the same URI; each client receives the updates of the server that it sees.
func TestResourceUpdatesStayWithinProfile(t *testing.T) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		t.Run(string(era), func(t *testing.T) {
			const inside, outside = "in both://in__doc", "out both://doc"
			s := newProfileFixture(t)
			h := &notificationLog{T: t, words: make(chan [2]string, 10_000), forbidden: map[string][]string{"p": {outside}, "bound": {outside}, "q": {inside}, "all": {inside}}}
			for who, from := range notifiedClients {
				cs := s.connectAs(from.path, era, from.token, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
					server, _ := r.Params.Meta["of"].(string)
					h.words <- [2]string{who, server + " " + r.Params.URI}
				}})
				uri := "both://doc"
				if who == "p" || who == "bound" {
					uri = "both://in__doc"
				}
				require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
			}
			for range 5 {
				h.await(func() {
					for _, server := range []string{"in", "out"} {
						s.bridge.ResourceUpdated(server, "", json.RawMessage(`{"uri":"both://doc","_meta":{"of":"`+server+`"}}`))
					}
				}, map[string][]string{"p": {inside}, "bound": {inside}, "q": {outside}, "all": {outside}})
			}
		})
	}
}
