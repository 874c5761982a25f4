package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClientIsIdentifiedByItsClientInfo(t *testing.T) {
	s := newFixture(t, nil)
	s.openSession("/mcp", allClientCapabilities, ClientHeader, "desk")
	s.modern("/s/math/mcp", "tools/list", "", "", ClientHeader, "desk")
	onlyMessage(t, s.modern("/mcp", "server/discover", "", "", ClientHeader, "other"))
	onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "other"))
	var got []string
	for _, p := range s.bridge.ClientInfos() {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", p.Token, p.Name, p.Era, p.Protocol, p.Capabilities))
	}
	checkEqual(t, "peers", strings.Join(got, "\n"), strings.Join([]string{
		"other probe modern 2026-07-28 {}", "desk probe modern 2026-07-28 {}", "desk probe legacy 2025-11-25 " + allClientCapabilities,
	}, "\n"))
}

// A guest chooses how it calls itself, but not the name under which the user sees it.
func TestGuestIsNamedByItsToken(t *testing.T) {
	s := newFixture(t, nil)
	s.openSession("/mcp", allClientCapabilities, ClientHeader, "spoof", GuestHeader, "1")
	s.modern("/mcp", "tools/list", "", "", ClientHeader, "spoof", GuestHeader, "1")
	for _, p := range s.bridge.ClientInfos() {
		assert.Equal(t, "spoof", p.Name, p.Era)
	}
	assert.Equal(t, "probe", s.bridge.ClientName("spoof"), "the application, for its limits")
}

func TestRememberedClientsAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	b := New(Options{Now: func() time.Time { now = now.Add(1); return now }})
	for i := range 3 * maxClientInfos {
		b.clients.record(false, core.Client{Token: fmt.Sprint(i % (2 * maxClientInfos))}, core.Modern, core.ModernVersion, []byte(`{}`))
	}
	list := b.ClientInfos()
	require.Len(t, list, maxClientInfos)
	require.Equal(t, fmt.Sprint(maxClientInfos-1), list[0].Token)
	b.clients.record(false, core.Client{Version: "1"}, core.Modern, "", nil)
	assert.Empty(t, b.ClientInfos()[0].Version, "a client without a name is remembered")
}
