package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestSessionIsBoundToTokenAndEndpoint(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/mcp", `{}`, ClientHeader, "claude")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`
	with := func(token string) []string { return append(append([]string(nil), h[:4]...), ClientHeader, token) }
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
	}{
		{"its own", "/mcp", h, 200},
		{"another token", "/mcp", with("cursor"), 404},
		{"no token", "/mcp", h[:4], 404},
		{"another address", "/s/math/mcp", h, 404},
		{"a guess", "/mcp", []string{sessionHeader, "AAAA", ClientHeader, "claude"}, 404},
	} {
		for _, body := range []string{call, ping, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`} {
			resp := s.post(c.path, body, c.headers...)
			got, _ := io.ReadAll(resp.Body)
			if ok := resp.StatusCode == c.status || c.status == 200 && resp.StatusCode == 202; !ok {
				t.Errorf("%s %s: %s %s", c.name, body, resp.Status, got)
			}
		}
		if c.status == 404 {
			assert.Equal(t, 404, s.request("GET", c.path, "", c.headers...).StatusCode, c.name)
			assert.Equal(t, 404, s.request("DELETE", c.path, "", c.headers...).StatusCode, c.name)
		}
	}
	assert.Equal(t, core.Client{Token: "claude", Name: "probe", Version: "9"}, s.gateway.last().Client)
}

func TestDeleteEndsSessionAndItsCalls(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return core.Reply{}, context.Cause(ctx)
	})
	h := s.openSession("/mcp", `{}`)
	reply := s.postInBackground(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...)
	<-started
	assert.Equal(t, http.StatusNoContent, s.request("DELETE", "/mcp", "", h...).StatusCode)
	err := <-ended
	assert.Equal(t, core.CodeCancelled, core.CodeOf(err))
	reply()
	assert.Equal(t, http.StatusNotFound, s.post("/mcp", ping, h...).StatusCode)
	assert.Equal(t, 0, len(s.bridge.Sessions()))
}

func TestDroppedConnectionCancelsModernCallsOnly(t *testing.T) {
	started, release := make(chan context.Context, 1), make(chan struct{})
	s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		started <- ctx
		select {
		case <-ctx.Done():
			return core.Reply{}, ctx.Err()
		case <-release:
			return core.Reply{Result: textReply("done")}, nil
		}
	})
	drop := func(body string, headers ...string) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.postAndDisconnect(ctx, body, headers...)
		}()
		call := eventually.Receive(t, time.Minute, "the call does not begin", started)
		cancel()
		<-done
		return call
	}
	// A call that can ask its client does not end with the request: it is cancelled separately.
	for _, capabilities := range []string{`{}`, allClientCapabilities} {
		modern := drop(modernBodyAs(capabilities, "tools/call", `"name":"math__add"`), versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "math__add")
		eventually.Receive(t, time.Minute, "the modern call goes on", modern.Done())
	}
	h := s.openSession("/mcp", `{}`)
	legacy := drop(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...)
	select {
	case <-legacy.Done():
		t.Error("the legacy call was cancelled")
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	eventually.True(t, "the legacy call ends", func() bool { return s.bridge.Sessions()[0].InFlight == 0 })
}

func TestCancelledNotificationCancelsCallWithThatID(t *testing.T) {
	started, ended := make(chan context.Context, 1), make(chan error, 1)
	s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		started <- ctx
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return core.Reply{}, context.Cause(ctx)
	})
	h := s.openSession("/mcp", `{}`)
	other := s.openSession("/mcp", `{}`)
	reply := s.postInBackground(`{"jsonrpc":"2.0","id":"\u0061/1","method":"tools/call","params":{"name":"math__add"}}`, h...)
	calling := eventually.Receive(t, time.Minute, "the call does not begin", started)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a/1"}}`
	s.post("/mcp", cancel, other...)
	s.post("/mcp", strings.Replace(cancel, `"a/1"`, `1`, 1), h...)
	assert.NoError(t, calling.Err(), "somebody else's cancellation arrived")
	assert.Equal(t, http.StatusAccepted, s.post("/mcp", cancel, h...).StatusCode)
	err := <-ended
	assert.Equal(t, core.CodeCancelled, core.CodeOf(err))
	reply()
}

// The server and the history receive the reason that the client gives, bounded.
func TestReasonForCancellingReachesServer(t *testing.T) {
	for raw, want := range map[string]string{
		`"pressed \"stop\""`:                  `pressed "stop"`,
		`"` + strings.Repeat("ä", 5000) + `"`: strings.Repeat("ä", maxCancelReason) + "…",
		`""`:                                  "",
		`{"not":"a string"}`:                  "",
		`null`:                                "",
	} {
		started, ended := make(chan context.Context, 1), make(chan error, 1)
		s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			started <- ctx
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return core.Reply{}, context.Cause(ctx)
		})
		h := s.openSession("/mcp", `{}`)
		reply := s.postInBackground(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...)
		eventually.Receive(t, time.Minute, "the call does not begin", started)
		s.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":`+raw+`}}`, h...)
		cause := <-ended
		reason, _ := errors.AsType[wire.ReasonOfClient](cause)
		assert.Truef(t, string(reason) == want && core.CodeOf(cause) == core.CodeCancelled, "%.40s becomes %.40q, cause %.80v", raw, reason, cause)
		if message, _ := core.Describe(cause); !strings.HasSuffix(message, want) {
			t.Errorf("the history contains %.80q", message)
		}
		reply()
	}
}

func TestInFlightRequestIDIsNotReusable(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		close(started)
		<-release
		return core.Reply{Result: textReply("done")}, nil
	})
	h := s.openSession("/mcp", `{}`)
	call := `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"math__add"}}`
	reply := s.postInBackground(call, h...)
	<-started
	resp := s.post("/mcp", strings.Replace(call, `"a"`, `"\u0061"`, 1), h...)
	if got := onlyMessage(t, resp); resp.StatusCode != 400 || !strings.Contains(got, "-32600") {
		t.Errorf("%s %s", resp.Status, got)
	}
	close(release)
	reply()
}

func TestIdleSessionsExpireBusyOnesStay(t *testing.T) {
	var clock atomic.Int64
	s := newFixture(t, nil, func(o *Options) {
		o.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	idle, used, listening := s.openSession("/mcp", `{}`), s.openSession("/mcp", `{}`), s.openSession("/mcp", `{}`)
	stream := s.request("GET", "/mcp", "", listening...)
	clock.Add(20 * 60)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, used...))
	clock.Add(11 * 60)
	s.bridge.closeIdleSessions()
	for name, c := range map[string]struct {
		h      []string
		status int
	}{"idle": {idle, 404}, "used": {used, 200}, "listening": {listening, 200}} {
		assert.Equal(t, c.status, s.post("/mcp", ping, c.h...).StatusCode, name)
	}
	stream.Body.Close()
	eventually.True(t, "the stream is released", func() bool {
		clock.Add(31 * 60)
		s.bridge.closeIdleSessions()
		return len(s.bridge.Sessions()) == 0
	})
	eventually.True(t, "their listeners are gone", func() bool { return len(s.bridge.listeners.all()) == 0 })
}

func TestSessionsPerClientAreBounded(t *testing.T) {
	var clock atomic.Int64
	s := newFixture(t, nil, func(o *Options) {
		o.MaxSessions = 3
		o.Now = func() time.Time { return time.Unix(clock.Add(1), 0) }
	})
	other := s.openSession("/mcp", `{}`, ClientHeader, "other")
	var all [][]string
	for range 10 {
		all = append(all, s.openSession("/mcp", `{}`, ClientHeader, "greedy"))
	}
	for i, h := range all {
		want := 404
		if i >= 7 {
			want = 200
		}
		assert.Equalf(t, want, s.post("/mcp", ping, h...).StatusCode, "session %d", i)
	}
	assert.Equal(t, 200, s.post("/mcp", ping, other...).StatusCode, "other client")
	for _, h := range all[7:] { // all are in use, so none may be evicted
		s.request("GET", "/mcp", "", h...)
	}
	resp := s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, ClientHeader, "greedy")
	if got := onlyMessage(t, resp); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get(sessionHeader) != "" || !strings.Contains(got, "too many open sessions") {
		t.Errorf("%s, session %q: %s", resp.Status, resp.Header.Get(sessionHeader), got)
	}
	eventually.True(t, "only four listeners are left", func() bool { return len(s.bridge.listeners.all()) == 4 })
}

func TestFiftyStreamsOfOneClientBecomeOne(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/mcp", `{}`)
	open := 0
	for range 50 {
		if resp := s.request("GET", "/mcp", "", h...); resp.StatusCode == http.StatusOK {
			open++
		} else if resp.StatusCode != http.StatusConflict {
			t.Fatal(resp.Status)
		}
	}
	assert.Equal(t, 1, open)
	resp := s.request("GET", "/mcp", "", append(h, "Last-Event-ID", "forged_1")...)
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode, "forged event id")
}

func TestSessionsOfRemovedServerEnd(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/s/math/mcp", `{}`)
	s.registry.Configure("", nil)
	assert.Equal(t, 404, s.post("/s/math/mcp", ping, h...).StatusCode)
	s.bridge.closeIdleSessions()
	assert.Equal(t, 0, len(s.bridge.Sessions()))
}

func TestOversizedInitializeIsRefused(t *testing.T) {
	s := newFixture(t, nil)
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + strings.Repeat("x", maxInitializeParams) + `","version":"1"}}}`
	assert.Contains(t, onlyMessage(t, s.post("/mcp", body)), "-32602")
	assert.Equal(t, 0, len(s.bridge.Sessions()))
}

func TestFirstRequestMustBeInitialize(t *testing.T) {
	s := newFixture(t, nil)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///t/1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		resp := s.post("/mcp", body)
		if got := onlyMessage(t, resp); resp.StatusCode != 400 || !strings.Contains(got, `"code":-32600`) || !strings.Contains(got, "send initialize first") {
			t.Errorf("%s: %s %s", body, resp.Status, got)
		}
	}
	assert.Equal(t, 200, s.post("/mcp", ping).StatusCode)
	assert.Empty(t, s.gateway.seen, "reached the gateway")
}

func TestCallsOfModernClientsHaveSessions(t *testing.T) {
	s := newFixture(t, nil)
	call := func(headers ...string) string {
		s.Helper()
		onlyMessage(s, s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`, headers...))
		return s.gateway.last().Session
	}
	first := call()
	again := call()
	assert.Truef(t, first != "" && again == first, "sessions %q and %q", first, again)
	other := call("X-Drawbridge-Workspace", absolute("/work"))
	assert.Truef(t, other != "" && other != first, "another folder has the session %q", other)
	onlyMessage(t, s.modern("/mcp", "server/discover", "", ""))
	second := call()
	assert.NotEqual(t, first, second, "a client that connected again has its former session")
	assert.Equal(t, second, call(), "a client that connected again has its former session")
	assert.Empty(t, s.gateway.last().LegacySession(), "an inferred session counts as a legacy session")
}

func TestModernSessionsFollowClientsConnectionsAndPauses(t *testing.T) {
	m := newModernSessions(30 * time.Minute)
	now := time.Unix(0, 0)
	request := func(client, shim, connection string) *request {
		return &request{client: core.Client{Name: client}, requestOrigin: requestOrigin{shim: shim}, connection: connection}
	}
	id := func(client, shim, connection string) string {
		return m.sessionID(request(client, shim, connection), now)
	}
	one := id("a", "", "1")
	if id("b", "", "1") == one || id("a", "x", "1") == one || id("a", "", "2") != one {
		t.Error("a session belongs to one client and shim, and to all connections of them")
	}
	m.begin(request("a", "", "3"), now)
	two := id("a", "", "3")
	if two == one || id("a", "", "1") != one || id("a", "", "4") != two {
		t.Error("a known connection keeps its session, and a new one gets the newest session")
	}
	now = now.Add(29 * time.Minute)
	assert.Equal(t, two, id("a", "", "3"), "the session has ended early")
	now = now.Add(30 * time.Minute)
	three := id("a", "", "3")
	assert.NotEqual(t, two, three, "an idle session has not ended")
	assert.Equal(t, three, id("a", "", "1"), "an idle session has not ended")
	for i := range 3 * maxModernSessions {
		now = now.Add(time.Millisecond)
		id("c"+strconv.Itoa(i), "", "1")
		id("a", "", "3")
	}
	if len(m.byKey) > maxModernSessions || id("a", "", "3") != three {
		t.Errorf("%d sessions are known; that of the active client must be one of them", len(m.byKey))
	}
}
