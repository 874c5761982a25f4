package supervisor

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// memoryCaches implements Catalogs and Eras with maps.
type memoryCaches struct {
	mu       sync.Mutex
	catalogs map[catalogKey]*core.Catalog
	eras     map[string]bool
	asked    int
}

type catalogKey struct{ server, key string }

func newMemory() *memoryCaches {
	return &memoryCaches{catalogs: map[catalogKey]*core.Catalog{}, eras: map[string]bool{}}
}

func (m *memoryCaches) Catalog(_ context.Context, server, key string) (*core.Catalog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.catalogs[catalogKey{server, key}], nil
}

func (m *memoryCaches) LastCatalog(_ context.Context, server string) (*core.Catalog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, c := range m.catalogs {
		if key.server == server {
			return c, nil
		}
	}
	return nil, nil
}

func (m *memoryCaches) SaveCatalog(_ context.Context, server, key string, c *core.Catalog) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.catalogs[catalogKey{server, key}] = c
	return nil
}

func (m *memoryCaches) DualEra(_ context.Context, server, key string) (dual, known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	dual, known = m.eras[server+key]
	return dual, known, nil
}

func (m *memoryCaches) SaveDualEra(_ context.Context, server, key string, dual bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.eras[server+key] = dual
	return nil
}

func TestApplyRestartsOnlyChangedServers(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("b"), server("c"), server("d"))
		g.apply(
			server("b", func(s *config.Server) { s.Args = []string{"new"} }),
			server("a"),
			server("c", func(s *config.Server) { s.RequestTimeout, s.Label, s.Namespace = time.Minute, "See", "sea" }),
		)
		for id, want := range map[string]int{"a": 1, "b": 2, "c": 1, "d": 1} {
			if got := len(g.started(id)); got != want {
				t.Errorf("%s was started %d times, want %d", id, got, want)
			}
		}
		if _, ok := g.Status("d"); ok {
			t.Error("a removed server still has a status")
		}
		if _, ok := g.registry.Server("d"); ok {
			t.Error("a removed server still has a view")
		}
		if st := g.Statuses(); st[0].ID != "b" || st[1].ID != "a" || st[2].Label != "See" {
			t.Errorf("not in the order of the config: %+v", st)
		}
		if _, ok := g.registry.All().Lookup(core.Tools, "sea__read"); !ok {
			t.Error("the new namespace is not in force")
		}
		if _, err := g.For(context.Background(), call("d")); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("a call to a removed server: %v", err)
		}
	})
}

func TestReaddedServerNeverRunsTwice(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 5 * time.Second }, func(g *rig) {
		g.apply(server("a"), server("b"))
		for range 3 {
			g.apply(server("b"))
			advance(time.Second)
			g.apply(server("a", func(s *config.Server) { s.Args = []string{time.Now().String()} }), server("b"))
			advance(time.Second)
		}
		advance(time.Minute) // connect fails the test if there is a second process
		g.want("a", core.StateRunning)
		if n := len(g.started("a")); n < 2 {
			t.Fatalf("%d starts", n)
		}
	})
}

func TestConfigChangeDuringStartRestartsIt(t *testing.T) {
	inBubble(t, starting(func(ctx context.Context, r upstream.Request, n int) (*core.Catalog, error) {
		if r.Server.Command == "hangs" {
			return hang(ctx, r, n)
		}
		return nil, nil
	}), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Command = "hangs" }))
		advance(time.Second)
		g.apply(server("a"))
		g.want("a", core.StateRunning)
	})
}

func TestDisableAndEnableTakeEffectBeforeApplyReturns(t *testing.T) {
	inBubble(t, starting(slow(time.Second)), func(g *rig) {
		off := func(s *config.Server) { s.Disabled = true }
		c := *g.cfg
		c.Servers = []config.Server{server("a", off)}
		g.Apply(&c)
		g.want("a", core.StateDisabled)
		c.Servers = []config.Server{server("a")}
		g.Apply(&c)
		g.want("a", core.StateStarting)
		advance(2 * time.Second)
		g.want("a", core.StateRunning)
		c.Servers = []config.Server{server("a", off)}
		g.Apply(&c)
		g.want("a", core.StateDisabled)
	})
}

func TestRemovedServerIsAnnouncedOnce(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		sub := g.bus.Subscribe(16)
		defer sub.Close()
		g.apply()
		advance(time.Minute)
		var removed int
		for len(sub.Events()) > 0 {
			switch e := <-sub.Events(); {
			case e.Kind == core.RemovedEvent && e.Data == "a":
				removed++
			case e.Kind == core.ServerEvent && removed > 0:
				t.Errorf("news of a server that is gone: %+v", e.Data)
			}
		}
		if removed != 1 {
			t.Errorf("told %d times", removed)
		}
	})
}

func TestListWaitsOnlyForServersWithoutCatalog(t *testing.T) {
	m := newMemory()
	known := server("known")
	m.catalogs[catalogKey{"known", known.LaunchKey()}] = &core.Catalog{Tools: []core.Item{{Name: "old", Raw: []byte(`{"name":"old"}`)}}}
	takes := map[string]time.Duration{"quick": 3 * time.Second, "slow": time.Minute, "known": time.Minute}
	inBubble(t, func(g *rig, o *Options) {
		o.Catalogs = m
		g.start = func(_ context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
			time.Sleep(takes[r.Server.ID])
			if r.Server.ID == "bad" {
				return nil, core.Errorf(core.CodeValidation, "no")
			}
			return nil, nil
		}
	}, func(g *rig) {
		took := func(server string) time.Duration {
			begin := time.Now()
			g.WaitListed(context.Background(), server)
			return time.Since(begin)
		}
		g.apply(server("quick"), known, server("bad"), server("off", func(s *config.Server) { s.Disabled = true }))
		if d := took("known"); d != 0 {
			t.Errorf("waited %s for a server whose tools are known", d)
		}
		if _, ok := g.registry.All().Lookup(core.Tools, "known__old"); !ok {
			t.Error("the tools of the last run are not there")
		}
		if d := took(""); d != 3*time.Second {
			t.Errorf("waited %s, want as long as the quick one needs", d)
		}
		g.apply(server("quick"), server("slow"))
		if d := took("quick"); d != 0 {
			t.Errorf("waited %s for another server", d)
		}
		if d := took(""); d != 10*time.Second {
			t.Errorf("waited %s, want listWaitMs", d)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		g.WaitListed(ctx, "")
		if time.Since(begin) != time.Second {
			t.Error("a list goes on waiting for a client that is gone")
		}
	})
}

// A server whose settings have changed keeps its URIs while it starts: no other server gets them.
func TestURIsOfTheLastRunBelongToTheirServerWhileItStarts(t *testing.T) {
	m := newMemory()
	m.catalogs[catalogKey{"slow", "another key"}] = &core.Catalog{
		Tools:     []core.Item{{Name: "old", Raw: []byte(`{"name":"old"}`)}},
		Resources: []core.Item{{Name: "board://1", Raw: []byte(`{"uri":"board://1","name":"b"}`)}},
	}
	inBubble(t, func(g *rig, o *Options) {
		o.Catalogs = m
		g.start = func(ctx context.Context, r upstream.Request, n int) (*core.Catalog, error) {
			if r.Server.ID == "slow" {
				return hang(ctx, r, n)
			}
			return &core.Catalog{Resources: []core.Item{{Name: "board://1", Raw: []byte(`{"uri":"board://1","name":"b"}`)}}}, nil
		}
	}, func(g *rig) {
		g.apply(server("slow"), server("quick"))
		g.want("quick", core.StateRunning)
		for uri, want := range map[string]string{"board://1": "slow", "board://quick__1": "quick"} {
			if got, _ := g.registry.All().Resource(uri); got.Server != want {
				t.Errorf("%s leads to %q, want %q", uri, got.Server, want)
			}
		}
		if tools := g.registry.All().ListResult(core.Tools); strings.Contains(string(tools), "old") {
			t.Errorf("a tool of other settings is listed: %s", tools)
		}
	})
}

func TestOnDemandServerStartsOnceForCatalogThenOnCall(t *testing.T) {
	m := newMemory()
	onDemand := server("a", func(s *config.Server) { s.Start = config.StartOnDemand })
	for _, first := range []bool{true, false} {
		inBubble(t, func(_ *rig, o *Options) { o.Catalogs = m }, func(g *rig) {
			g.apply(onDemand)
			if first {
				g.want("a", core.StateRunning)
				return
			}
			g.want("a", core.StateStopped)
			if _, ok := g.registry.All().Lookup(core.Tools, "a__read"); !ok {
				t.Error("its tools are not listed")
			}
			if _, err := g.For(context.Background(), call("a")); err != nil {
				t.Fatal(err)
			}
			g.want("a", core.StateRunning)
		})
	}
}

func TestListChangesReachRegistry(t *testing.T) {
	var changed func(core.Kind)
	inBubble(t, starting(func(_ context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
		changed = r.Changed
		return nil, nil
	}), func(g *rig) {
		g.apply(server("a"))
		c := g.conn("a")
		c.mu.Lock()
		c.catalog = &core.Catalog{Tools: []core.Item{{Name: "new", Raw: []byte(`{"name":"new"}`)}}}
		c.mu.Unlock()
		changed(core.Tools)
		synctest.Wait()
		if _, ok := g.registry.All().Lookup(core.Tools, "a__new"); !ok {
			t.Error("the new tool is not there")
		}
	})
}

func TestConfigChangeRestartsCrashedServer(t *testing.T) {
	inBubble(t, starting(slow(time.Minute)), func(g *rig) {
		short := func(s *config.Server) { s.StartupTimeout, s.Restart.MaxAttempts = 10*time.Second, 1 }
		g.apply(server("a", short))
		advance(2 * time.Minute)
		g.want("a", core.StateFailed)
		g.apply(server("a"))
		advance(2 * time.Minute)
		g.want("a", core.StateRunning)
	})
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
