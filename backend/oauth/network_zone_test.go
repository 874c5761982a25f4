package oauth

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A token that expired while Drawbridge was closed is refreshed before the first request to the
// server.
func TestLocalServerStaysSignedInWhenTokenExpiresWhileClosed(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newSignedInKeeper(t, p, dir, s.ID)
	rec := must(r.readRecord(t.Context(), s.ID))
	rec.Expires = time.Now().Add(-time.Hour)
	require.NoError(t, r.saveRecord(t.Context(), s.ID, rec))
	newTestKeeper(t, dir).mustRespond(s, "200 hello")
	assert.Equal(t, 1, p.requestCount("refresh_token"))

	again := newTestKeeper(t, dir) // signs in before the first request
	_ = must(again.Client(t.Context(), s))
	again.signIn(s)
	again.mustRespond(s, "200 hello")
}

func TestZoneOfNamedServerIsResolvedBeforeItIsReached(t *testing.T) {
	p := newFakeServer(t)
	address := func(list ...string) (all []netip.Addr) {
		for _, one := range list {
			all = append(all, netip.MustParseAddr(one))
		}
		return all
	}
	for name, test := range map[string]struct {
		addresses []netip.Addr
		want      zone
	}{
		"loopback":           {address("127.0.0.1"), loopback},
		"private":            {address("fe80::1%eth0", "192.168.1.5"), private},
		"public and private": {address("10.0.0.1", "93.184.216.34"), public},
		"reserved":           {address("169.254.169.254"), 0},
	} {
		g := newGuard(must(url.Parse("http://files.local/mcp")))
		lookups := 0
		g.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
			if lookups++; lookups == 1 {
				return nil, errors.New("no network")
			}
			assert.Equal(t, "files.local", host, "looked up")
			return test.addresses, nil
		}
		for range 2 { // a failed lookup is repeated
			g.determineZone(t.Context())
		}
		assert.Equal(t, test.want, zone(g.serverZone.Load()), name)
		_, err := g.requestToken(t.Context(), p.URL+"/token", clientIdentity{ID: "x"}, url.Values{"grant_type": {"x"}})
		blocked := new(blockedError)
		assert.Equal(t, test.want != loopback, errors.As(err, &blocked), name)
		assert.Falsef(t, test.want != 0 && lookups != 2, "%s: %d lookups", name, lookups)
	}
}

// Browsers read these as addresses of this machine or its network.
func TestAddressesInUnusualNotationAreRefused(t *testing.T) {
	g := newGuard(must(url.Parse("https://mcp.example.com/mcp")))
	for _, host := range []string{
		"2130706433", "0x7f.0.0.1", "0x7F000001", "127.1", "127.0.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "127.1.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[64:ff9b::7f00:1]", "localhost.", "a.localhost", "LOCALHOST", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "0", "0.0.0.0", "3232235777", "0xa9fea9fe", "2852039166", "169.254.43518",
	} {
		_, err := g.parseURL("the authorization_endpoint", "https://"+host+"/authorize")
		assert.Errorf(t, err, "%s is accepted", host)
	}
	for _, host := range []string{"auth.example.com", "3com.com", "1.1.1.1", "2130706433.example.com", "xn--bcher-kva.example", "auth.example.com.", "3dbox"} {
		_, err := g.parseURL("the authorization_endpoint", "https://"+host+"/authorize")
		assert.NoError(t, err, host)
	}
}
