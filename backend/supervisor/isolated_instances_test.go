package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
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
		if (a.key == b.key) != c.same {
			t.Errorf("%s: %q and %q", c.name, a.key, b.key)
		}
		if isShared(&cfg) != (a.key == "") {
			t.Errorf("%s: key %q", c.name, a.key)
		}
	}
}

func TestEachClientKeepsItsOwnProcess(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerClient)))
		if n := g.processes(); n != 1 {
			t.Fatalf("%d processes before any call, want the one that lists", n)
		}
		ann, bob := g.served(from(call("a"), "ann")), g.served(from(call("a"), "bob"))
		if ann == bob {
			t.Fatal("two clients share a process")
		}
		synctest.Wait()
		st := g.want("a", core.StateRunning)
		if len(st.Instances) != 2 || st.Instances[0].Name != "ann-app" || st.Instances[0].State != core.StateRunning || st.Instances[0].PID == 0 {
			t.Fatalf("got %+v", st.Instances)
		}
		for range 3 {
			advance(time.Minute)
			if g.served(from(call("a"), "ann")) != ann || g.served(from(call("a"), "bob")) != bob {
				t.Fatal("a client was moved")
			}
		}
		if n := g.processes(); n != 3 {
			t.Fatalf("%d processes", n)
		}
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
				if n := g.processes(); n != 0 {
					t.Fatalf("%d processes are left", n)
				}
				if st, ok := g.Status("a"); ok && len(st.Instances) != 0 {
					t.Fatalf("got %+v", st.Instances)
				}
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
		if len(instances) != len(everybody) {
			t.Fatalf("%d instances", len(instances))
		}
		for _, one := range instances {
			if got := one.config().RequestTimeout; got != time.Minute {
				t.Errorf("an instance goes by %s", got)
			}
		}
		if now := all(); !slices.Equal(now, before) {
			t.Fatal("a setting of no consequence restarted an instance")
		}
		g.apply(server("a", session(config.SessionPerClient), func(s *config.Server) { s.Args = []string{"new"} }))
		for i, now := range all() {
			if now == before[i] {
				t.Errorf("the instance of %s still runs the old command", everybody[i])
			}
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
			if took := time.Since(begin); took < 29*time.Second {
				t.Fatalf("served after %s, beside the old process", took)
			}
			if n := g.processes(); n != 2 {
				t.Fatalf("%d processes, want the one that lists and one", n)
			}
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
		if n := g.processes(); n != maxInstances+1 {
			t.Fatalf("%d processes", n)
		}
		if g.served(from(call("a"), "client0")) == first {
			t.Fatal("the oldest was not the one to go")
		}
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
		if core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "16 instances") {
			t.Errorf("got %v", err)
		}
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
		if _, err := g.For(context.Background(), in("/bad")); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "no such folder") {
			t.Fatalf("got %v", err)
		}
		if st := g.want("a", core.StateDegraded); st.Reason != "one of its instances: no such folder" {
			t.Fatalf("got %q", st.Reason)
		}
		g.served(in("/good"))
		advance(config.DefaultIdleStop + time.Minute)
		if st := g.want("a", core.StateStopped); !strings.Contains(st.Reason, "idle for 10m;") {
			t.Fatalf("got %q", st.Reason)
		}
	})
}

func TestManualServerHasInstancesOnlyWhileRunning(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerClient), func(s *config.Server) { s.Start = config.StartManual }))
		if _, err := g.For(context.Background(), from(call("a"), "ann")); core.CodeOf(err) != core.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
		must(t, errors.Join(g.Start(context.Background(), "a")))
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
		if _, err := s.For(context.Background(), from(call("a"), "ann")); core.CodeOf(err) != core.CodeUnavailable {
			t.Errorf("got %v", err)
		}
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
		if st := g.want("b", core.StateRunning); fmt.Sprint(st.Warnings) != want {
			t.Errorf("b: %q", st.Warnings)
		}
		if st := g.want("a", core.StateRunning); len(st.Warnings) > 0 {
			t.Errorf("a: %q", st.Warnings)
		}
		for len(sub.Events()) > 0 {
			<-sub.Events()
		}
		g.apply(server("b"), server("a"))
		g.apply(server("b"))
		if st := g.want("b", core.StateRunning); len(st.Warnings) > 0 {
			t.Errorf("settled, but told: %q", st.Warnings)
		}
		told := false
		for len(sub.Events()) > 0 {
			st, ok := (<-sub.Events()).Data.(core.ServerStatus)
			told = told || ok && st.ID == "b"
		}
		if !told {
			t.Error("observers do not hear that it is settled")
		}
	})
}
