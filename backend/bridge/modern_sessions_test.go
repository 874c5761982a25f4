package bridge

import (
	"strconv"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestCallsOfModernClientsHaveSessions(t *testing.T) {
	s := newFixture(t, nil)
	call := func(headers ...string) string {
		s.Helper()
		onlyMessage(s, s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`, headers...))
		return s.gateway.last().Session
	}
	first := call()
	if again := call(); first == "" || again != first {
		t.Errorf("sessions %q and %q", first, again)
	}
	if other := call("X-Drawbridge-Workspace", "/work"); other == "" || other == first {
		t.Errorf("another folder has the session %q", other)
	}
	onlyMessage(t, s.modern("/mcp", "server/discover", "", ""))
	second := call()
	if second == first || call() != second {
		t.Error("a client that connected again has its former session")
	}
	if c := s.gateway.last(); c.LegacySession() != "" {
		t.Error("an inferred session counts as a legacy session")
	}
}

func TestModernSessionsFollowClientsConnectionsAndPauses(t *testing.T) {
	m := newModernSessions(30 * time.Minute)
	now := time.Unix(0, 0)
	request := func(client, shim, connection string) *request {
		return &request{client: core.Client{Name: client}, shim: shim, connection: connection}
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
	if id("a", "", "3") != two {
		t.Error("the session has ended early")
	}
	now = now.Add(30 * time.Minute)
	three := id("a", "", "3")
	if three == two || id("a", "", "1") != three {
		t.Error("an idle session has not ended")
	}
	for i := range 3 * maxModernSessions {
		now = now.Add(time.Millisecond)
		id("c"+strconv.Itoa(i), "", "1")
		id("a", "", "3")
	}
	if len(m.byKey) > maxModernSessions || id("a", "", "3") != three {
		t.Errorf("%d sessions are known; that of the active client must be one of them", len(m.byKey))
	}
}
