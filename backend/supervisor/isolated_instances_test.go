package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func session(kind string) func(*config.Server) {
	return func(s *config.Server) { s.Session, s.IdleStop = kind, config.DefaultIdleStop }
}

func from(call *core.Call, client string) *core.Call {
	call.Client = core.Client{Token: client, Name: client + "-app"}
	return call
}

// served returns the connection that serves a call.
func (g *rig) served(call *core.Call) string {
	g.t.Helper()
	if _, err := g.For(context.Background(), call); err != nil {
		g.t.Fatalf("%+v: %v", call.Client, err)
	}
	return call.Instance
}

func TestOwnerOfACall(t *testing.T) {
	legacy := func(session string) *core.Call {
		c := from(call("a"), "ann")
		c.Session = session
		return c
	}
	shim := func(id string, era core.Era) *core.Call {
		c := from(call("a"), "ann")
		c.Shim, c.Era = id, era
		return c
	}
	in := func(c *core.Call, folder string) *core.Call {
		c.Workspace = folder
		return c
	}
	modern := from(modernCall("a"), "ann")
	modern.Session = "ignored"
	for _, c := range []struct {
		name, session, cwd string
		a, b               *core.Call
		same               bool
	}{
		{"shared: all the same", "shared", "", from(call("a"), "ann"), from(call("a"), "bob"), true},
		{"perClient: one client in two sessions", "perClient", "", legacy("1"), legacy("2"), true},
		{"perClient: two clients", "perClient", "", from(call("a"), "ann"), from(call("a"), "bob"), false},
		{"perClient: both eras of one client", "perClient", "", legacy("1"), modern, true},
		{"perSession: one session", "perSession", "", legacy("1"), legacy("1"), true},
		{"perSession: two sessions", "perSession", "", legacy("1"), legacy("2"), false},
		{"perSession: the modern era has none, so a client is one", "perSession", "", modern, from(modernCall("a"), "ann"), true},
		{"perSession: each shim is one", "perSession", "", shim("1", core.Modern), shim("2", core.Modern), false},
		{"perSession: a shim is one in both eras", "perSession", "", shim("1", core.Modern), shim("1", core.Legacy), true},
		{"perRoot: two clients in one folder", "perRoot", "", in(from(call("a"), "ann"), "/w"), in(from(call("a"), "bob"), "/w/"), true},
		{"perRoot: one client in two folders", "perRoot", "", in(legacy("1"), "/w"), in(legacy("1"), "/v"), false},
		{"perClient with a folder: two folders", "perClient", "${workspaceFolder}", in(legacy("1"), "/w"), in(legacy("1"), "/v"), false},
		{"perClient without: the folder does not count", "perClient", "", in(legacy("1"), "/w"), in(legacy("1"), "/v"), true},
	} {
		cfg := server("a", session(c.session), func(s *config.Server) { s.Cwd = c.cwd })
		a, b := ownerOf(&cfg, c.a), ownerOf(&cfg, c.b)
		assert.Equal(t, c.same, a.key == b.key, c.name)
		assert.Equal(t, a.key == "", isShared(&cfg), c.name)
	}
}

func TestEachClientKeepsItsOwnProcess(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerClient)))
		require.Equal(t, 1, g.processes())
		ann, bob := g.served(from(call("a"), "ann")), g.served(from(call("a"), "bob"))
		require.NotEqual(t, bob, ann, "two clients share a process")
		synctest.Wait()
		st := g.want("a", core.StateRunning)
		if len(st.Instances) != 2 || st.Instances[0].Name != "ann-app" || st.Instances[0].State != core.StateRunning || st.Instances[0].PID == 0 {
			t.Fatalf("got %+v", st.Instances)
		}
		for range 3 {
			advance(time.Minute)
			require.Equal(t, ann, g.served(from(call("a"), "ann")), "a client was moved")
			require.Equal(t, bob, g.served(from(call("a"), "bob")), "a client was moved")
		}
		require.Equal(t, 3, g.processes())
	})
}

func TestInstancesEndWhenIdleOrServerStops(t *testing.T) {
	for name, end := range map[string]func(g *rig){
		"idle":    func(*rig) { advance(config.DefaultIdleStop + time.Minute) },
		"stopped": func(g *rig) { _ = g.Stop(context.Background(), "a") },
		"removed": func(g *rig) { g.apply() },
		"disabled": func(g *rig) {
			g.apply(server("a", session(config.SessionPerClient), func(s *config.Server) { s.Disabled = true }))
		},
		"shared now": func(g *rig) { g.apply(server("a"), server("b")); _ = g.Stop(context.Background(), "a"); g.apply() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *rig, _ *Options) { g.several, g.stopTime = true, time.Second }, func(g *rig) {
				g.apply(server("a", session(config.SessionPerClient)))
				g.served(from(call("a"), "ann"))
				g.served(from(call("a"), "bob"))
				end(g)
				advance(5 * time.Second)
				require.Equal(t, 0, g.processes())
				st, ok := g.Status("a")
				require.Falsef(t, ok && len(st.Instances) != 0, "got %+v", st.Instances)
			})
		})
	}
}

func TestChangedConfigReachesEveryInstance(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		everybody := []string{"ann", "bob", "cleo"}
		all := func() (ids []string) {
			for _, client := range everybody {
				ids = append(ids, g.served(from(call("a"), client)))
			}
			return ids
		}
		g.apply(server("a", session(config.SessionPerClient)))
		before := all()
		g.apply(server("a", session(config.SessionPerClient), func(s *config.Server) { s.RequestTimeout = time.Minute }))
		instances := g.fleet.Load().byID["a"].instances()
		require.Len(t, instances, len(everybody))
		for _, one := range instances {
			assert.Equal(t, time.Minute, one.config().RequestTimeout, "an instance goes")
		}
		require.Equal(t, before, all(), "a setting of no consequence restarted an instance")
		g.apply(server("a", session(config.SessionPerClient), func(s *config.Server) { s.Args = []string{"new"} }))
		for i, now := range all() {
			assert.NotEqual(t, before[i], now, "the instance")
		}
	})
}

func TestInstanceKeyNeverHasTwoProcesses(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several, g.stopTime = true, 30*time.Second }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerClient)))
		g.served(from(call("a"), "ann"))
		for range 3 {
			for _, one := range g.fleet.Load().byID["a"].instances() {
				one.retire()
			}
			synctest.Wait()
			begin := time.Now()
			g.served(from(call("a"), "ann")) // while its old process is still being stopped
			took := time.Since(begin)
			require.Truef(t, took >= 29*time.Second, "served after %s, beside the old process", took)
			require.Equal(t, 2, g.processes())
		}
	})
}

func TestLongestIdleInstanceIsEvictedAtLimit(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerClient)))
		first := ""
		for i := range maxInstances + 3 {
			id := g.served(from(call("a"), fmt.Sprint("client", i)))
			if i == 0 {
				first = id
			}
			advance(time.Second)
		}
		require.Equal(t, maxInstances+1, g.processes())
		require.NotEqual(t, first, g.served(from(call("a"), "client0")), "the oldest was not the one to go")
		synctest.Wait()
		// All instances are busy: another one is refused with an explanation.
		ctx, cancel := context.WithCancel(context.Background())
		var calls sync.WaitGroup
		for _, one := range g.Statuses()[0].Instances {
			c := from(call("a"), strings.TrimSuffix(one.Name, "-app"))
			c.Name = "hang"
			calls.Go(func() {
				if up, err := g.For(ctx, c); err == nil {
					_, _ = up.Send(ctx, c, nil)
				}
			})
		}
		synctest.Wait()
		_, err := g.For(context.Background(), from(call("a"), "late"))
		assert.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "16 instances"), "got %v", err)
		cancel()
		calls.Wait()
	})
}

func TestCrashedInstanceDoesNotAffectOthers(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.several = true
		g.start = failingIf(func(r upstream.Request) bool { return strings.HasSuffix(r.Workspace, "bad") }, core.Errorf(core.CodeValidation, "no such folder"))
	}, func(g *rig) {
		g.apply(server("a", session(config.SessionPerRoot)))
		in := func(folder string) *core.Call {
			c := call("a")
			c.Workspace = folder
			return c
		}
		g.served(in("/good"))
		_, err := g.For(context.Background(), in("/bad"))
		require.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "no such folder"), "got %v", err)
		require.Equal(t, "one of its instances: no such folder", g.want("a", core.StateDegraded).Reason)
		g.served(in("/good"))
		advance(config.DefaultIdleStop + time.Minute)
		require.Contains(t, g.want("a", core.StateStopped).Reason, "idle for 10m;")
	})
}

func TestManualServerHasInstancesOnlyWhileRunning(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerClient), func(s *config.Server) { s.Start = config.StartManual }))
		_, err := g.For(context.Background(), from(call("a"), "ann"))
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
		require.NoError(t, errors.Join(g.Start(context.Background(), "a")))
		synctest.Wait()
		g.served(from(call("a"), "ann"))
	})
}

func TestCallAfterShutdownIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Log: slog.New(slog.DiscardHandler), Bus: &core.Bus{}, Registry: registry.New(registry.Options{}),
			Connect: func(context.Context, upstream.Request) (upstream.Session, error) { return upstream.Session{}, errBoom }})
		cfg := config.Default()
		cfg.Servers = []config.Server{server("a", session(config.SessionPerClient))}
		s.Apply(cfg)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Run(ctx)
		_, err := s.For(context.Background(), from(call("a"), "ann"))
		assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	})
}

func TestNameConflictIsWarningOfLosingServer(t *testing.T) {
	inBubble(t, starting(func(context.Context, upstream.Request, int) (*core.Catalog, error) {
		return &core.Catalog{Resources: []core.Item{{Name: "mem://x", Raw: []byte(`{"uri":"mem://x","name":"x"}`)}}}, nil
	}), func(g *rig) {
		sub := g.bus.Subscribe(64)
		defer sub.Close()
		g.apply(server("a"), server("b"))
		want := `[resource "mem://x" is listed as "mem://b__x" at the endpoint that combines all servers, because without the server's id, the URI could refer to another server]`
		assert.Equal(t, want, fmt.Sprint(g.want("b", core.StateRunning).Warnings))
		st := g.want("a", core.StateRunning)
		assert.Truef(t, len(st.Warnings) <= 0, "a: %q", st.Warnings)
		for len(sub.Events()) > 0 {
			<-sub.Events()
		}
		g.apply(server("b"), server("a"))
		g.apply(server("b"))
		st = g.want("b", core.StateRunning)
		assert.Truef(t, len(st.Warnings) <= 0, "settled, but told: %q", st.Warnings)
		told := false
		for len(sub.Events()) > 0 {
			st, ok := (<-sub.Events()).Data.(core.ServerStatus)
			told = told || ok && st.ID == "b"
		}
		assert.True(t, told, "observers do not hear that it is settled")
	})
}
