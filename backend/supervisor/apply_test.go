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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			assert.Equal(t, want, len(g.started(id)), id)
		}
		_, ok := g.Status("d")
		assert.False(t, ok, "a removed server still has a status")
		_, ok = g.registry.Server("d")
		assert.False(t, ok, "a removed server still has a view")
		st := g.Statuses()
		assert.Truef(t, st[0].ID == "b" && st[1].ID == "a" && st[2].Label == "See", "not in the order of the config: %+v", st)
		_, ok = g.registry.All().Lookup(core.Tools, "sea__read")
		assert.True(t, ok, "the new namespace is not in force")
		_, err := g.For(context.Background(), call("d"))
		assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "a call to a removed server")
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
		n := len(g.started("a"))
		require.Truef(t, n >= 2, "%d starts", n)
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
		assert.Equal(t, 1, removed)
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
		assert.EqualValues(t, 0, took("known"))
		_, ok := g.registry.All().Lookup(core.Tools, "known__old")
		assert.True(t, ok, "the tools of the last run are not there")
		assert.Equal(t, 3*time.Second, took(""))
		g.apply(server("quick"), server("slow"))
		assert.EqualValues(t, 0, took("quick"))
		assert.Equal(t, 10*time.Second, took(""))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		g.WaitListed(ctx, "")
		assert.Equal(t, time.Second, time.Since(begin), "a list goes on waiting for a client that is gone")
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
			got, _ := g.registry.All().Resource(uri)
			assert.Equal(t, want, got.Server, uri)
		}
		assert.NotContains(t, string(g.registry.All().ListResult(core.Tools)), "old", "a tool of other settings is listed")
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
			_, ok := g.registry.All().Lookup(core.Tools, "a__read")
			assert.True(t, ok, "its tools are not listed")
			_, err := g.For(context.Background(), call("a"))
			require.NoError(t, err)
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
		_, ok := g.registry.All().Lookup(core.Tools, "a__new")
		assert.True(t, ok, "the new tool is not there")
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

// memoryApprovals implements CommandApprovals in memory.
type memoryApprovals struct {
	mu   sync.Mutex
	keys map[string][]byte
}

func (a *memoryApprovals) Approved(_ context.Context, server, key string) ([]byte, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	sandbox, ok := a.keys[server+key]
	return sandbox, ok, nil
}

func (a *memoryApprovals) Approve(_ context.Context, server, key string, sandbox []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys[server+key] = sandbox
	return nil
}

func (g *rig) requireApproval(on bool) {
	c := *g.cfg
	c.Global.ApproveNewCommands = on
	g.cfg = &c
}

func TestNewCommandWaitsForApproval(t *testing.T) {
	kept := &memoryApprovals{keys: map[string][]byte{}}
	ctx := context.Background()
	changed := func(s *config.Server) { s.Args = []string{"--evil"} }
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) {
		g.apply(server("used")) // in use before approvals were turned on
		g.requireApproval(true)
		g.apply(server("used"), server("new"))
		g.want("used", core.StateRunning)
		g.want("new", core.StateNeedsApproval)
		for name, act := range map[string]func() error{
			"call":    func() error { _, err := g.For(ctx, call("new")); return err },
			"start":   func() error { return g.Start(ctx, "new") },
			"restart": func() error { return g.Restart(ctx, "new") },
		} {
			err := act()
			assert.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "approval"), "%s: %v", name, err)
		}
		require.Equal(t, 0, len(g.started("new")))
		waiting := g.PendingCommands()
		require.Truef(t, len(waiting) == 1 && waiting[0].Server == "new" && waiting[0].Command == "run-new", "got %+v", waiting)
		require.Equal(t, core.CodeConflict, core.CodeOf(g.Approve(ctx, "new", "something else")), "a word for another command")
		require.NoError(t, g.Approve(ctx, "new", waiting[0].Key))
		synctest.Wait()
		g.want("new", core.StateRunning)

		g.apply(server("used", changed), server("new"))
		g.want("used", core.StateNeedsApproval)
		assert.Equal(t, 1, g.processes(), "the old command goes on although the configuration has another")
		g.apply(server("used"), server("new")) // reverted
		g.want("used", core.StateRunning)
	})
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) { // the next run
		g.requireApproval(true)
		g.apply(server("new"), server("used", changed))
		g.want("new", core.StateRunning)
		g.want("used", core.StateNeedsApproval)
		g.requireApproval(false)
		g.apply(server("new"), server("used", changed))
		g.want("used", core.StateRunning)
	})
}

func TestLoosenedSandboxWaitsForApproval(t *testing.T) {
	kept := &memoryApprovals{keys: map[string][]byte{}}
	confined := func(c *config.Server) {
		c.Sandbox = config.Sandbox{On: true, NoNetwork: true, Read: []string{"~/a"}}
	}
	open := func(*config.Server) {}
	pending := func(g *rig) []string {
		t.Helper()
		g.want("a", core.StateNeedsApproval)
		list := g.PendingCommands()
		require.Truef(t, len(list) == 1 && list[0].Previous == list[0].Command && len(list[0].Sandbox) != 0, "got %+v", list)
		return list[0].Sandbox
	}
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) {
		g.apply(server("a")) // without a sandbox, which is saved as approved
		g.requireApproval(true)
		g.apply(server("a", confined)) // stricter
		g.want("a", core.StateRunning)
		g.apply(server("a", open))
		pending(g)
		assert.Equal(t, 0, g.processes(), "it goes on without a sandbox")
		g.apply(server("a", confined)) // reverted
		g.want("a", core.StateRunning)
		more := func(c *config.Server) {
			confined(c)
			c.Sandbox.Write = []string{"~/b"}
		}
		g.apply(server("a", more))
		got := pending(g)
		assert.Truef(t, len(got) == 1 && got[0] == "write to ~/b", "shown: %q", got)
		seen := g.PendingCommands()[0].Key
		g.apply(server("a", open)) // after the user saw it
		assert.Equal(t, core.CodeConflict, core.CodeOf(g.Approve(context.Background(), "a", seen)), "an approval for another sandbox")
		g.apply(server("a", more))
		require.NoError(t, g.Approve(context.Background(), "a", seen))
		synctest.Wait()
		g.want("a", core.StateRunning)
	})
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) { // the next run
		g.requireApproval(true)
		g.apply(server("a", open))
		pending(g)
		g.requireApproval(false)
		g.apply(server("a", open))
		g.want("a", core.StateRunning)
		assert.Empty(t, g.Notices(), "told of a new command")
	})
}

func TestNonCommandSettingNeedsNoApproval(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		g.requireApproval(true)
		g.apply(server("a", func(s *config.Server) { s.Label, s.Debug, s.Framing = "A", true, config.FramingNDJSON }))
		g.want("a", core.StateRunning)
	})
}

func TestPendingCommandShowsWhatSelectsPrograms(t *testing.T) {
	c := server("a", func(s *config.Server) {
		s.Env = map[string]string{"LD_PRELOAD": "/tmp/x.so", "TOKEN": "secret"}
		s.InheritEnv = []string{"HOME"}
	})
	got, want := environmentNames(&c), []string{"HOME (inherited)", "LD_PRELOAD=/tmp/x.so", "TOKEN"}
	assert.Equal(t, want, got)
}

// What a command is given decides what it does as much as its words: each of these waits.
func TestApprovalCoversEverythingThatRuns(t *testing.T) {
	base := server("a", accounts(map[string]string{"work": "w"}))
	for name, change := range map[string]func(*config.Server){
		"account":    accounts(map[string]string{"work": "x"}),
		"command":    func(s *config.Server) { s.Command = "another" },
		"args":       func(s *config.Server) { s.Args = []string{"x"} },
		"env":        func(s *config.Server) { s.Env = map[string]string{"LD_PRELOAD": "/tmp/x.so"} },
		"inheritEnv": func(s *config.Server) { s.InheritEnv = []string{"X"} },
		"cwd":        func(s *config.Server) { s.Cwd = "/tmp" },
		"container":  func(s *config.Server) { s.Type, s.Docker.Container = core.Docker, "x" },
		"image":      func(s *config.Server) { s.Docker.Image = "x" },
		"type":       func(s *config.Server) { s.Type = core.Docker },
	} {
		changed := base
		change(&changed)
		assert.NotEqualf(t, commandKey(&base), commandKey(&changed), "another %s runs unasked", name)
	}
}
