package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	mcptest.MainIfAsked()
	_ = os.Setenv("SHELL", "/bin/sh") // a login shell with little output
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

func always(err error) func(context.Context, upstream.Request, int) (*core.Catalog, error) {
	return func(context.Context, upstream.Request, int) (*core.Catalog, error) { return nil, err }
}

func TestRunningMeansListed(t *testing.T) {
	inBubble(t, starting(slow(time.Second/2)), func(g *rig) {
		sub := g.bus.Subscribe(16)
		defer sub.Close()
		g.apply(server("a"))
		g.want("a", core.StateStarting)
		advance(time.Second)
		st := g.want("a", core.StateRunning)
		if st.Tools != 1 || st.PID != 1001 || st.Era != core.Legacy || st.Command != "fake" {
			t.Fatalf("got %+v", st)
		}
		if _, ok := g.registry.All().Lookup(core.Tools, "a__read"); !ok {
			t.Fatal("running, but its tool is not there")
		}
		advance(time.Hour)
		if again := g.want("a", core.StateRunning); !again.Since.Equal(st.Since) {
			t.Fatal("the age of a state starts again without a change")
		}
		var states []core.State
		for len(sub.Events()) > 0 {
			if st, ok := (<-sub.Events()).Data.(core.ServerStatus); ok {
				states = append(states, st.State)
			}
		}
		if fmt.Sprint(states) != "[starting running]" && fmt.Sprint(states) != "[running]" {
			t.Fatalf("the bus told %v", states)
		}
	})
}

func TestCallWaitsForStartupTimeout(t *testing.T) {
	inBubble(t, starting(func(ctx context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
		if r.Server.ID == "slow" {
			time.Sleep(40 * time.Second)
			return nil, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}), func(g *rig) {
		g.apply(server("slow"), server("never", func(s *config.Server) { s.StartupTimeout = 20 * time.Second }))
		begin := time.Now()
		c := call("slow")
		if _, err := g.For(context.Background(), c); err != nil || time.Since(begin) != 40*time.Second || c.Instance != "slow#1" {
			t.Fatalf("%v after %s, instance %q", err, time.Since(begin), c.Instance)
		}
		g.apply(server("slow"), server("later", func(s *config.Server) { s.StartupTimeout = 20 * time.Second }))
		begin = time.Now()
		_, err := g.For(context.Background(), call("later"))
		if core.CodeOf(err) != core.CodeUnavailable || time.Since(begin) != 20*time.Second {
			t.Fatalf("%v after %s", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := g.For(ctx, call("later")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a caller that gives up: %v", err)
		}
	})
}

func TestSlowStartIsNamedWithItsKey(t *testing.T) {
	inBubble(t, starting(hang), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.StartupTimeout, s.Restart.MaxAttempts = 20*time.Second, 0 }))
		advance(21 * time.Second)
		if st := g.want("a", core.StateFailed); st.Reason != "did not respond within 20s (startupTimeoutMs)" {
			t.Fatalf("got %q", st.Reason)
		}
	})
}

func TestSlowStartNamesWhatTheServerSentInstead(t *testing.T) {
	nonsense := func(ctx context.Context, _ upstream.Request, _ int) (*core.Catalog, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("no start: %w", &wire.UnusableOutputError{Problem: "it sent nonsense", Hint: "Correct the server.", Cause: ctx.Err()})
	}
	inBubble(t, starting(nonsense), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.StartupTimeout, s.Restart.MaxAttempts = 20*time.Second, 0 }))
		advance(21 * time.Second)
		st := g.want("a", core.StateFailed)
		if st.Reason != "did not respond within 20s (startupTimeoutMs): it sent nonsense" || st.Hint != "Correct the server." || st.Remedy.Kind != core.RemedySeeLog {
			t.Fatalf("got %q, %q, %v", st.Reason, st.Hint, st.Remedy)
		}
	})
}

// Alerting on the log covers servers that fail to start and servers that are given up.
func TestFailedStartsAreLoggedAtTheirLevels(t *testing.T) {
	var log strings.Builder
	inBubble(t, func(g *rig, o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		g.start = always(core.Errorf(core.CodeUnavailable, "executable not found"))
	}, func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Restart.MaxAttempts = 0 }))
		g.want("a", core.StateFailed)
	})
	for _, want := range []string{`level=WARN msg="MCP server 'a' connection failed: `, `level=ERROR msg="MCP server changed state" server=a state=crashed`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}

// A server that reads only messages with a Content-Length header understands none of ours. The
// hint is shown only if framing is not configured.
func TestSlowStartSuggestsRemedy(t *testing.T) {
	for framing, want := range map[string]string{config.FramingAuto: `"framing": "content-length"`, "ndjson": ""} {
		inBubble(t, starting(hang), func(g *rig) {
			g.apply(server("a", func(s *config.Server) {
				s.StartupTimeout, s.Restart.MaxAttempts, s.Framing = 20*time.Second, 0, framing
			}))
			advance(21 * time.Second)
			if st := g.want("a", core.StateFailed); !strings.Contains(st.Hint, want) || (st.Hint == "") != (want == "") {
				t.Errorf("framing %s: %q", framing, st.Hint)
			}
		})
	}
}

func TestCallStartsStoppedServerButNotManualOne(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("m", func(s *config.Server) { s.Start = config.StartManual }),
			server("off", func(s *config.Server) { s.Disabled = true }))
		must(t, g.Stop(context.Background(), "a"))
		g.want("a", core.StateStopped)
		advance(time.Hour)
		g.want("a", core.StateStopped)
		if _, err := g.For(context.Background(), call("a")); err != nil {
			t.Fatal(err)
		}
		g.want("a", core.StateRunning)

		g.want("m", core.StateStopped)
		if _, err := g.For(context.Background(), call("m")); core.CodeOf(err) != core.CodeUnavailable {
			t.Fatalf("a manual server: %v", err)
		} else if _, hint := core.Describe(err); !strings.Contains(hint, "drawbridge start m") {
			t.Errorf("a manual server: %s", hint)
		}
		must(t, g.Start(context.Background(), "m"))
		synctest.Wait()
		g.want("m", core.StateRunning)

		g.want("off", core.StateDisabled)
		if _, err := g.For(context.Background(), call("off")); core.CodeOf(err) != core.CodeUnavailable {
			t.Fatalf("a disabled server: %v", err)
		}
		if err := g.Start(context.Background(), "off"); core.CodeOf(err) != core.CodeConflict {
			t.Fatalf("starting a disabled server: %v", err)
		}
		if err := g.Start(context.Background(), "nobody"); core.CodeOf(err) != core.CodeNotFound {
			t.Fatalf("starting nobody: %v", err)
		}
	})
}

func TestConcurrentStartsAreBounded(t *testing.T) {
	inBubble(t, starting(func(_ context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
		if strings.HasPrefix(r.Server.ID, "slow") {
			time.Sleep(time.Minute)
		} else {
			time.Sleep(time.Second)
		}
		return nil, nil
	}), func(g *rig) {
		var all []config.Server
		for i := range 4 {
			all = append(all, server(fmt.Sprintf("slow%d", i)))
		}
		for i := range 16 {
			all = append(all, server(fmt.Sprintf("s%d", i)))
		}
		g.apply(all...)
		if g.atOnce() > 4 {
			t.Fatalf("%d starts at once", g.atOnce())
		}
		advance(startSlotTime + 5*time.Second)
		for i := range 16 {
			g.want(fmt.Sprintf("s%d", i), core.StateRunning)
		}
		g.want("slow0", core.StateStarting)
	})
}

func TestSilentServerDegradesAndIsRestarted(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(10 * time.Minute)
		if n := len(g.started("a")); n != 1 {
			t.Fatalf("a healthy server was started %d times", n)
		}
		g.conn("a").silence()
		advance(36 * time.Second)
		if st := g.want("a", core.StateDegraded); !strings.HasPrefix(st.Reason, "has not responded for") {
			t.Fatalf("got %q", st.Reason)
		}
		advance(65 * time.Second)
		g.want("a", core.StateRunning)
		if n := len(g.started("a")); n != 2 {
			t.Fatalf("%d starts, want a second one", n)
		}
	})
}

// Each new process is reported, whoever started it: its circuit breaker must not wait for it.
func TestEachNewProcessIsReported(t *testing.T) {
	var mu sync.Mutex
	connected := map[string]int{}
	inBubble(t, func(_ *rig, o *Options) {
		o.Connected = func(server, account string) {
			mu.Lock()
			defer mu.Unlock()
			connected[server+"/"+account]++
		}
	}, func(g *rig) {
		g.apply(server("a"))
		g.want("a", core.StateRunning)
		g.conn("a").silence()
		advance(2 * time.Minute) // restarted by the heartbeat
		g.want("a", core.StateRunning)
		g.conn("a").die()
		advance(time.Minute) // restarted after a crash
		g.want("a", core.StateRunning)
		mu.Lock()
		defer mu.Unlock()
		if connected["a/"] != 3 || len(connected) != 1 {
			t.Errorf("reported %v", connected)
		}
	})
}

func TestBusyServerIsNotTreatedAsDead(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		ctx, cancel := context.WithCancel(context.Background())
		ended := g.hangingCall(ctx, call("a"))
		g.conn("a").silence()
		advance(5 * time.Minute)
		if g.want("a", core.StateDegraded); len(g.started("a")) != 1 {
			t.Fatal("ended in the middle of a call")
		}
		cancel()
		<-ended
		advance(2 * time.Minute)
		if len(g.started("a")) != 2 {
			t.Fatal("silent for ever, and never restarted")
		}
	})
}

func TestServerWaitsForExternalDependency(t *testing.T) {
	inBubble(t, starting(failing(100, fmt.Errorf("no such container: %w", upstream.ErrDependencyMissing))), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Type = core.Docker }))
		advance(time.Minute)
		if st := g.want("a", core.StateWaiting); !strings.Contains(st.Reason, "no such container") {
			t.Fatalf("got %q", st.Reason)
		}
		if _, err := g.For(context.Background(), call("a")); core.CodeOf(err) != core.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
		advance(100 * 4 * time.Second)
		g.want("a", core.StateRunning)
	})
}

// TestWatchedDependencyIsPolledRarely: while Docker's events are watched, each start only disturbs.
func TestWatchedDependencyIsPolledRarely(t *testing.T) {
	for name, failed := range map[string]error{"watched": nil, "cannot be watched": errors.New("no permission")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, starting(func(context.Context, upstream.Request, int) (*core.Catalog, error) {
				return nil, &upstream.MissingDependency{Cause: upstream.ErrDependencyMissing, Wait: func(ctx context.Context) error {
					if failed == nil {
						<-ctx.Done()
					}
					return failed
				}}
			}), func(g *rig) {
				g.apply(server("a", func(s *config.Server) { s.Type = core.Docker }))
				advance(2 * time.Minute)
				g.want("a", core.StateWaiting)
				n := len(g.started("a"))
				if rarely := n < 8; rarely != (failed == nil) || n < 3 {
					t.Errorf("%d starts in 2 minutes", n)
				}
			})
		})
	}
}

// TestFailingOnDemandServersDoNotStartTogether: the first client needs the lists of all servers,
// and each exits as soon as it runs.
func TestFailingOnDemandServersDoNotStartTogether(t *testing.T) {
	inBubble(t, starting(func(context.Context, upstream.Request, int) (*core.Catalog, error) {
		time.Sleep(10 * time.Millisecond)
		return nil, errors.New("exited at once")
	}), func(g *rig) {
		var all []config.Server
		for i := range 300 {
			all = append(all, server(fmt.Sprintf("s%d", i), func(s *config.Server) { s.Start = config.StartOnDemand }))
		}
		g.apply(all...)
		for _, s := range all {
			go func() { _, _ = g.For(context.Background(), call(s.ID)) }()
		}
		advance(time.Minute)
		if n := len(g.started("s299")); n == 0 {
			t.Error("the last one was never started")
		}
		if n := g.atOnce(); n != 4 {
			t.Errorf("%d starts at once, not 4", n)
		}
	})
}

func TestPauseHoldsEveryServerUntilResumed(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		lazy := server("lazy")
		lazy.Start = config.StartOnDemand
		off := server("off")
		off.Disabled = true
		g.apply(server("a"), lazy, off)
		advance(time.Second)
		g.want("a", core.StateRunning)
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		for _, id := range []string{"a", "lazy"} {
			if st := g.want(id, core.StatePaused); st.Reason != "" {
				t.Errorf("%s: %q", id, st.Reason)
			}
		}
		g.want("off", core.StateDisabled)
		before := len(g.started("a")) + len(g.started("lazy"))
		_, err := g.Supervisor.For(context.Background(), &core.Call{Server: "lazy"})
		if core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call gets %v", err)
		}
		if err := g.Supervisor.Start(context.Background(), "a"); err == nil {
			t.Error("a command starts a server in the pause")
		}
		changed := server("a")
		changed.Args = []string{"other"}
		g.apply(changed, lazy, off, server("new"))
		advance(time.Hour)
		g.want("a", core.StatePaused)
		g.want("new", core.StatePaused)
		if after := len(g.started("a")) + len(g.started("lazy")); after != before || len(g.started("new")) != 0 {
			t.Fatalf("%d starts in the pause", after-before)
		}
		must(t, g.Supervisor.SetPaused(context.Background(), false))
		advance(time.Second)
		g.want("a", core.StateRunning)
		g.want("new", core.StateRunning)
		if _, err := g.Supervisor.For(context.Background(), &core.Call{Server: "lazy"}); err != nil {
			t.Error(err)
		}
	})
}

func TestPauseHoldsBackPerCallServer(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerCall)))
		advance(time.Second)
		earlier, err := g.Supervisor.For(context.Background(), call("a"))
		must(t, err)
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		if _, err := g.Supervisor.For(context.Background(), call("a")); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call during the pause gets %v", err)
		}
		// A call that got its upstream before the pause must not start a process either.
		if _, err := earlier.Send(context.Background(), call("a"), nil); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call that was admitted before the pause gets %v", err)
		}
		if n := g.processes(); n != 0 {
			t.Errorf("%d processes during the pause", n)
		}
		must(t, g.Supervisor.SetPaused(context.Background(), false))
		up, err := g.Supervisor.For(context.Background(), call("a"))
		if err == nil {
			_, err = up.Send(context.Background(), call("a"), nil)
		}
		if err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
}

func TestPauseEndsPerCallProcesses(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerCall)))
		advance(time.Second)
		ended := g.hangingCall(context.Background(), call("a"))
		advance(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		must(t, g.Supervisor.SetPaused(ctx, true))
		if n := g.processes(); n != 0 {
			t.Errorf("%d processes run when the pause is reported as done", n)
		}
		if err := <-ended; err == nil {
			t.Error("the call that was running reports success")
		}
	})
}

func TestInterruptedPauseIsCompletedByNextRequest(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("b"))
		advance(time.Second)
		over, cancel := context.WithCancel(context.Background())
		cancel() // the client of the pause request has disconnected
		_ = g.Supervisor.SetPaused(over, true)
		advance(time.Minute)
		for _, id := range []string{"a", "b"} {
			if _, err := g.Supervisor.For(context.Background(), call(id)); err == nil || !strings.Contains(err.Error(), "paused") {
				t.Errorf("%s serves a call although all servers are paused: %v", id, err)
			}
		}
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		if n := g.processes(); n != 0 {
			t.Errorf("%d processes run when the second request returns", n)
		}
	})
}

func TestPauseForAnHourResumesServers(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		must(t, g.Supervisor.PauseFor(context.Background(), time.Hour))
		until := time.Now().Add(time.Hour)
		if at := g.Supervisor.PausedUntil(); !at.Equal(until) {
			t.Errorf("paused until %v, want %v", at, until)
		}
		_, err := g.Supervisor.For(context.Background(), call("a"))
		if err == nil || !strings.Contains(err.Error(), "paused until "+until.Format("15:04")) {
			t.Errorf("a call gets %v", err)
		}
		advance(time.Hour - time.Second)
		g.want("a", core.StatePaused)
		advance(2 * time.Second)
		g.want("a", core.StateRunning)
		if g.Supervisor.Paused() || !g.Supervisor.PausedUntil().IsZero() {
			t.Error("the pause has not ended")
		}
	})
}

func TestNewerPauseReplacesHourOfPause(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		must(t, g.Supervisor.PauseFor(context.Background(), time.Hour))
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		advance(2 * time.Hour)
		g.want("a", core.StatePaused)
		if !g.Supervisor.PausedUntil().IsZero() {
			t.Error("the unlimited pause has an end")
		}
	})
}

func TestPauseIsANotice(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		for _, on := range []bool{true, false} {
			must(t, g.Supervisor.SetPaused(context.Background(), on))
			n := g.Supervisor.Notices()
			if shown := len(n) == 1 && n[0].Subject == PausedSubject; shown != on {
				t.Errorf("paused %v: %+v", on, n)
			}
		}
	})
}

// A remote server runs no command, so its presence does not mean that commands have been seen
// before.
func TestFirstConfigDoesNotRestartRemoteServer(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("far", func(s *config.Server) { s.Command, s.Type, s.URL = "", core.HTTP, "https://far.test/mcp" }))
		g.want("a", core.StateRunning)
		if list := g.Notices(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
	})
}

func TestNewCommandIsAppliedWithNotice(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		sub := g.o.Bus.Subscribe(1000)
		defer sub.Close()
		told := func() (list []core.Notice) {
			for {
				select {
				case e := <-sub.Events():
					if n, ok := e.Data.(core.Notice); ok && e.Kind == core.NoticeEvent {
						list = append(list, n)
					}
				default:
					return list
				}
			}
		}
		runs := func(command string) config.Server {
			return server("a", func(s *config.Server) { s.Command = command })
		}
		g.apply(runs("one"))
		g.want("a", core.StateRunning)
		if list := g.Notices(); len(list) != 0 || len(told()) != 0 {
			t.Fatalf("the first configuration is no news: %v", list)
		}
		g.apply(runs("two"))
		g.want("a", core.StateRunning)
		want := core.Notice{Subject: "command:a", Message: `Server "a" has a new command: two (before: one)`}
		if list := g.Notices(); len(list) != 1 || list[0] != want {
			t.Fatalf("got %+v", list)
		}
		if heard := told(); len(heard) != 1 || heard[0] != want {
			t.Errorf("told %+v", heard)
		}
		g.apply(runs("two"), server("far", func(s *config.Server) { s.Command, s.Type, s.URL = "", core.HTTP, "https://far.test/mcp" }))
		if list := g.Notices(); len(list) != 1 || len(told()) != 0 {
			t.Errorf("another change took the notice away: %+v", list)
		}
		if !g.Dismiss("command:a") || g.Dismiss("command:a") || len(g.Notices()) != 0 {
			t.Error("a notice that was seen stays")
		}
		if heard := told(); len(heard) != 1 || heard[0] != (core.Notice{Subject: "command:a"}) {
			t.Errorf("told %+v", heard)
		}
		g.apply(server("a", func(s *config.Server) { s.Command, s.Cwd = "two", "/tmp" }))
		if list := g.Notices(); len(list) != 1 || list[0].Message != `Server "a" has a new command: two (cwd unset is now /tmp)` || !g.Dismiss("command:a") {
			t.Errorf("only the folder changed: %+v", list)
		}
		g.apply(runs("two"))
		told()
		for notices, command := range []string{"mine", "theirs"} {
			mine := runs("mine")
			g.ExpectCommand(&mine)
			g.Dismiss("command:a")
			g.apply(runs(command))
			if list := g.Notices(); len(list) != notices {
				t.Errorf("%s, while the user writes mine: %+v", command, list)
			}
		}
		g.apply(runs("two"))
		g.Dismiss("command:a")
		told()

		// A change that is undone leaves no notice: the old command runs again.
		g.apply(runs("three"))
		if list := g.Notices(); len(list) != 1 || len(told()) != 1 {
			t.Errorf("got %+v", list)
		}
		g.apply(runs("two"))
		if list, heard := g.Notices(), told(); len(list) != 0 || len(heard) != 1 || heard[0].Message != "" {
			t.Errorf("the notice of a change that was undone stays: %+v, told %+v", list, heard)
		}

		// The user who adds a server knows its command.
		g.SuppressCommandNotice("b")
		g.apply(runs("two"), server("b"))
		if list := g.Notices(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
		// A removed server loses its notice. A change that is not in the command makes none.
		g.apply(runs("two"), server("b"), server("c"))
		if list := g.Notices(); len(list) != 1 {
			t.Errorf("got %+v", list)
		}
		g.apply(runs("two"), server("b", func(s *config.Server) { s.IdleStop = 5 }))
		if list := g.Notices(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
	})
}

// The command of a server that the user has just moved, imported or confirmed otherwise is no news.
func TestConfirmedCommandMakesNoNotice(t *testing.T) {
	confirmed := func(s *config.Server) bool { return s.ID == "moved" }
	inBubble(t, func(_ *rig, o *Options) { o.Confirmed = confirmed }, func(g *rig) {
		g.apply(server("a"))
		g.apply(server("a"), server("moved"), server("new"))
		if list := g.Notices(); len(list) != 1 || list[0].Subject != "command:new" {
			t.Errorf("got %+v", list)
		}
	})
}

func TestLongestExpectedStartComesFirstOfThoseThatWait(t *testing.T) {
	inBubble(t, func(g *rig, o *Options) {
		g.start = slow(time.Second)
		o.ExpectedStart = func(server string) time.Duration {
			return map[string]time.Duration{"short": time.Second, "long": time.Minute}[server]
		}
	}, func(g *rig) {
		g.apply(server("a"), server("b"), server("c"), server("d"))
		g.apply(server("a"), server("b"), server("c"), server("d"), server("e"), server("f"), server("g"), server("short"), server("long"))
		advance(1500 * time.Millisecond)
		if len(g.started("long")) != 1 || len(g.started("short")) != 1 {
			t.Fatal("they still wait")
		}
		advance(5 * time.Second)
		g.want("g", core.StateRunning)
	})
}
