package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samplerFixture is a DestinationSampler with a store and a clock.
type samplerFixture struct {
	*DestinationSampler
	store *store.Store
	now   time.Time
	log   []string
}

func newBench(t *testing.T, names map[string]string) *samplerFixture {
	t.Helper()
	b := &samplerFixture{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	var err error
	if b.store, err = store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "h.db"), Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close() })
	b.DestinationSampler = New(Options{
		Store: b.store, Bus: new(core.Bus), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now },
		Label: strings.ToUpper, Journal: func(server string, _ slog.Level, text string) { b.log = append(b.log, server+" "+text) },
		Hosts: func(string) []string {
			var list []string
			for host := range names {
				list = append(list, host)
			}
			return list
		},
		lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if names[host] == "" {
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr(names[host])}, nil
		},
	})
	return b
}

func (b *samplerFixture) sees(t *testing.T, server string, remotes ...string) {
	t.Helper()
	var found []connection
	for _, remote := range remotes {
		found = append(found, connection{server, "tcp", netip.MustParseAddrPort(remote)})
	}
	b.record(t.Context(), found)
}

func TestNewDestinationIsAnEventOnce(t *testing.T) {
	b := newBench(t, map[string]string{"api.example.com": "192.0.2.1"})
	sub := b.opts.Bus.Subscribe(10, core.NoticeEvent)
	defer sub.Close()
	b.sees(t, "a", "192.0.2.1:443", "192.0.2.1:443") // learned silently
	b.now = b.now.Add(learningPeriod + time.Minute)
	b.sees(t, "a", "192.0.2.1:443", "[2001:db8::1]:22", "127.0.0.1:5432")
	b.sees(t, "a", "192.0.2.1:443", "[2001:db8::1]:22")
	require.Truef(t, len(sub.Events()) == 1, "%d events", len(sub.Events()))
	want := `Server "A" has connected to new destinations: [2001:db8::1]:22, localhost:5432`
	n := (<-sub.Events()).Data.(core.Notice)
	assert.Truef(t, n.Message == want && n.Subject == "egress:a", "the event is %+v", n)
	list := b.Notices()
	assert.Truef(t, len(list) == 1 && b.Dismiss("egress:a") && !b.Dismiss("egress:a") && len(b.Notices()) == 0, "notices %+v", list)
	require.Len(t, b.log, 3)
	require.Equal(t, "a connected to api.example.com:443 for the first time", b.log[0])
}

func TestDestinationsSurviveRestart(t *testing.T) {
	b := newBench(t, nil)
	first := b.now
	b.sees(t, "a", "192.0.2.1:443")
	b.now = b.now.Add(2 * saveInterval)
	b.sees(t, "a", "192.0.2.1:443")
	again := New(b.opts)
	require.NoError(t, again.load(t.Context()))
	list, err := again.Destinations(t.Context(), "a")
	if err != nil || len(list) != 1 || !list[0].FirstAt.Equal(first) || !list[0].LastAt.Equal(b.now) || list[0].Host != "192.0.2.1" {
		t.Fatalf("%+v, %v", list, err)
	}
	again.record(t.Context(), []connection{{"a", "tcp", netip.MustParseAddrPort("192.0.2.1:443")}})
	assert.Len(t, b.log, 1, "it is new again")
	_, err = b.store.RenameServer(t.Context(), "a", "b")
	require.NoError(t, err)
	again.Renamed("a", "b")
	again.record(t.Context(), []connection{{"b", "tcp", netip.MustParseAddrPort("192.0.2.1:443")}})
	if list, err = again.Destinations(t.Context(), ""); err != nil || len(list) != 1 || list[0].Server != "b" || len(b.log) != 1 {
		t.Errorf("after a rename: %+v, %v, %q", list, err, b.log)
	}
}

func TestDestinationsAreBounded(t *testing.T) {
	b := newBench(t, nil)
	for n := range 2 * maxPerServer / maxNewPerSample {
		var list []string
		for m := range maxNewPerSample {
			list = append(list, fmt.Sprintf("192.0.2.1:%d", 1+n*maxNewPerSample+m))
		}
		b.now = b.now.Add(time.Second)
		b.sees(t, "a", append(list, "192.0.2.2:9", "192.0.2.3:9")...)
	}
	list, err := b.store.Destinations(t.Context(), "a")
	if err != nil || len(list) != maxPerServer || len(b.known) != maxPerServer {
		t.Errorf("%d are stored and %d in memory, %v", len(list), len(b.known), err)
	}
}

// The CPU time of sampling must stay below its share, whatever one sample takes: for 20 servers,
// some milliseconds.
func TestSamplingTakesAtMostItsShareOfACore(t *testing.T) {
	for _, cost := range []time.Duration{0, 100 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			const long = 24 * time.Hour
			ctx, cancel := context.WithTimeout(t.Context(), long)
			defer cancel()
			used, samples := time.Duration(0), 0
			sampleUntilDone(ctx, func() time.Duration {
				time.Sleep(cost)
				used += cost
				samples++
				return cost
			})
			least := int(long/(max(minInterval, cost*costFactor)+cost)) - 1 // the last one may be due as the context ends
			if used > long/costFactor+cost || samples < least {
				t.Errorf("%d samples of %s take %s of %s, of which 1/%d is the limit", samples, cost, used, long, costFactor)
			}
		})
	}
}
