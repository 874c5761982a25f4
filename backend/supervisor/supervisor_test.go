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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		require.Truef(t, st.Tools == 1 && st.PID == 1001 && st.Era == core.Legacy && st.Command == "fake", "got %+v", st)
		_, ok := g.registry.All().Lookup(core.Tools, "a__read")
		require.True(t, ok, "running, but its tool is not there")
		advance(time.Hour)
		require.True(t, g.want("a", core.StateRunning).Since.Equal(st.Since), "the age of a state starts again without a change")
		var states []core.State
		for len(sub.Events()) > 0 {
			if st, ok := (<-sub.Events()).Data.(core.ServerStatus); ok {
				states = append(states, st.State)
			}
		}
		require.Falsef(t, fmt.Sprint(states) != "[starting running]" && fmt.Sprint(states) != "[running]", "the bus told %v", states)
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
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
		require.Equal(t, 20*time.Second, time.Since(begin))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = g.For(ctx, call("later"))
		require.ErrorIs(t, err, context.DeadlineExceeded, "a caller that gives up")
	})
}

func TestSlowStartIsNamedWithItsKey(t *testing.T) {
	inBubble(t, starting(hang), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.StartupTimeout, s.Restart.MaxAttempts = 20*time.Second, 0 }))
		advance(21 * time.Second)
		require.Equal(t, "did not respond within 20s (startupTimeoutMs)", g.want("a", core.StateFailed).Reason)
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
		assert.Contains(t, log.String(), want, "the log lacks")
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
			st := g.want("a", core.StateFailed)
			assert.Truef(t, strings.Contains(st.Hint, want) && (st.Hint == "") == (want == ""), "framing %s: %q", framing, st.Hint)
		})
	}
}

func TestCallStartsStoppedServerButNotManualOne(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("m", func(s *config.Server) { s.Start = config.StartManual }),
			server("off", func(s *config.Server) { s.Disabled = true }))
		require.NoError(t, g.Stop(context.Background(), "a"))
		g.want("a", core.StateStopped)
		advance(time.Hour)
		g.want("a", core.StateStopped)
		_, err := g.For(context.Background(), call("a"))
		require.NoError(t, err)
		g.want("a", core.StateRunning)

		g.want("m", core.StateStopped)
		if _, err := g.For(context.Background(), call("m")); core.CodeOf(err) != core.CodeUnavailable {
			t.Fatalf("a manual server: %v", err)
		} else if _, hint := core.Describe(err); !strings.Contains(hint, "drawbridge start m") {
			t.Errorf("a manual server: %s", hint)
		}
		require.NoError(t, g.Start(context.Background(), "m"))
		synctest.Wait()
		g.want("m", core.StateRunning)

		g.want("off", core.StateDisabled)
		_, err = g.For(context.Background(), call("off"))
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "a disabled server")
		require.Equal(t, core.CodeConflict, core.CodeOf(g.Start(context.Background(), "off")), "starting a disabled server")
		require.Equal(t, core.CodeNotFound, core.CodeOf(g.Start(context.Background(), "nobody")), "starting nobody")
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
		require.Truef(t, g.atOnce() <= 4, "%d starts at once", g.atOnce())
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
		require.Equal(t, 1, len(g.started("a")), "a healthy server was started")
		g.conn("a").silence()
		advance(36 * time.Second)
		st := g.want("a", core.StateDegraded)
		require.Truef(t, strings.HasPrefix(st.Reason, "has not responded for"), "got %q", st.Reason)
		advance(65 * time.Second)
		g.want("a", core.StateRunning)
		require.Equal(t, 2, len(g.started("a")))
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
		assert.Equal(t, 3, connected["a/"])
		assert.Len(t, connected, 1)
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
		require.Len(t, g.started("a"), 2, "silent for ever, and never restarted")
	})
}

func TestServerWaitsForExternalDependency(t *testing.T) {
	inBubble(t, starting(failing(100, fmt.Errorf("no such container: %w", upstream.ErrDependencyMissing))), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Type = core.Docker }))
		advance(time.Minute)
		require.Contains(t, g.want("a", core.StateWaiting).Reason, "no such container")
		_, err := g.For(context.Background(), call("a"))
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
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
				rarely := n < 8
				assert.Truef(t, rarely == (failed == nil) && n >= 3, "%d starts in 2 minutes", n)
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
		assert.NotEqual(t, 0, len(g.started("s299")), "the last one was never started")
		assert.Equal(t, 4, g.atOnce())
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
		require.NoError(t, g.Supervisor.SetPaused(context.Background(), true))
		for _, id := range []string{"a", "lazy"} {
			assert.Empty(t, g.want(id, core.StatePaused).Reason, id)
		}
		g.want("off", core.StateDisabled)
		before := len(g.started("a")) + len(g.started("lazy"))
		_, err := g.Supervisor.For(context.Background(), &core.Call{Server: "lazy"})
		assert.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "paused"), "a call gets %v", err)
		assert.Error(t, g.Supervisor.Start(context.Background(), "a"), "a command starts a server in the pause")
		changed := server("a")
		changed.Args = []string{"other"}
		g.apply(changed, lazy, off, server("new"))
		advance(time.Hour)
		g.want("a", core.StatePaused)
		g.want("new", core.StatePaused)
		after := len(g.started("a")) + len(g.started("lazy"))
		require.Truef(t, after == before && len(g.started("new")) == 0, "%d starts in the pause", after-before)
		require.NoError(t, g.Supervisor.SetPaused(context.Background(), false))
		advance(time.Second)
		g.want("a", core.StateRunning)
		g.want("new", core.StateRunning)
		_, err = g.Supervisor.For(context.Background(), &core.Call{Server: "lazy"})
		assert.NoError(t, err)
	})
}

func TestPauseHoldsBackPerCallServer(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerCall)))
		advance(time.Second)
		earlier, err := g.Supervisor.For(context.Background(), call("a"))
		require.NoError(t, err)
		require.NoError(t, g.Supervisor.SetPaused(context.Background(), true))
		_, err = g.Supervisor.For(context.Background(), call("a"))
		assert.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "paused"), "a call during the pause gets %v", err)
		// A call that got its upstream before the pause must not start a process either.
		if _, err := earlier.Send(context.Background(), call("a"), nil); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call that was admitted before the pause gets %v", err)
		}
		assert.Equal(t, 0, g.processes())
		require.NoError(t, g.Supervisor.SetPaused(context.Background(), false))
		up, err := g.Supervisor.For(context.Background(), call("a"))
		if err == nil {
			_, err = up.Send(context.Background(), call("a"), nil)
		}
		assert.NoError(t, err, "after the pause")
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
		require.NoError(t, g.Supervisor.SetPaused(ctx, true))
		assert.Equal(t, 0, g.processes())
		err := <-ended
		assert.Error(t, err, "the call that was running reports success")
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
			_, err := g.Supervisor.For(context.Background(), call(id))
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "paused"), "%s serves a call although all servers are paused: %v", id, err)
		}
		require.NoError(t, g.Supervisor.SetPaused(context.Background(), true))
		assert.Equal(t, 0, g.processes())
	})
}

func TestPauseForAnHourResumesServers(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		require.NoError(t, g.Supervisor.PauseFor(context.Background(), time.Hour))
		until := time.Now().Add(time.Hour)
		at := g.Supervisor.PausedUntil()
		assert.Truef(t, at.Equal(until), "paused until %v, want %v", at, until)
		_, err := g.Supervisor.For(context.Background(), call("a"))
		assert.ErrorContains(t, err, "paused until "+until.Format("15:04"), "a call gets")
		advance(time.Hour - time.Second)
		g.want("a", core.StatePaused)
		advance(2 * time.Second)
		g.want("a", core.StateRunning)
		assert.True(t, !g.Supervisor.Paused() && g.Supervisor.PausedUntil().IsZero(), "the pause has not ended")
	})
}

func TestNewerPauseReplacesHourOfPause(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		require.NoError(t, g.Supervisor.PauseFor(context.Background(), time.Hour))
		require.NoError(t, g.Supervisor.SetPaused(context.Background(), true))
		advance(2 * time.Hour)
		g.want("a", core.StatePaused)
		assert.True(t, g.Supervisor.PausedUntil().IsZero(), "the unlimited pause has an end")
	})
}

func TestPauseIsANotice(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		for _, on := range []bool{true, false} {
			require.NoError(t, g.Supervisor.SetPaused(context.Background(), on))
			n := g.Supervisor.Notices()
			shown := len(n) == 1 && n[0].Subject == PausedSubject
			assert.Equal(t, on, shown, n)
		}
	})
}

// A remote server runs no command, so its presence does not mean that commands have been seen
// before.
func TestFirstConfigDoesNotRestartRemoteServer(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("far", func(s *config.Server) { s.Command, s.Type, s.URL = "", core.HTTP, "https://far.test/mcp" }))
		g.want("a", core.StateRunning)
		assert.Empty(t, g.Notices())
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
		list := g.Notices()
		require.Truef(t, len(list) == 0 && len(told()) == 0, "the first configuration is no news: %v", list)
		g.apply(runs("two"))
		g.want("a", core.StateRunning)
		want := core.Notice{Subject: "command:a", Message: `Server "a" has a new command: two (before: one)`}
		list = g.Notices()
		require.Truef(t, len(list) == 1 && list[0] == want, "got %+v", list)
		heard := told()
		assert.Truef(t, len(heard) == 1 && heard[0] == want, "told %+v", heard)
		g.apply(runs("two"), server("far", func(s *config.Server) { s.Command, s.Type, s.URL = "", core.HTTP, "https://far.test/mcp" }))
		list = g.Notices()
		assert.Truef(t, len(list) == 1 && len(told()) == 0, "another change took the notice away: %+v", list)
		assert.True(t, g.Dismiss("command:a") && !g.Dismiss("command:a") && len(g.Notices()) == 0, "a notice that was seen stays")
		heard = told()
		assert.Truef(t, len(heard) == 1 && heard[0] == (core.Notice{Subject: "command:a"}), "told %+v", heard)
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
			assert.Len(t, g.Notices(), notices, command)
		}
		g.apply(runs("two"))
		g.Dismiss("command:a")
		told()

		// A change that is undone leaves no notice: the old command runs again.
		g.apply(runs("three"))
		list = g.Notices()
		assert.Truef(t, len(list) == 1 && len(told()) == 1, "got %+v", list)
		g.apply(runs("two"))
		list, heard = g.Notices(), told()
		assert.Truef(t, len(list) == 0 && len(heard) == 1 && heard[0].Message == "", "the notice of a change that was undone stays: %+v, told %+v", list, heard)

		// The user who adds a server knows its command.
		g.SuppressCommandNotice("b")
		g.apply(runs("two"), server("b"))
		assert.Empty(t, g.Notices())
		// A removed server loses its notice. A change that is not in the command makes none.
		g.apply(runs("two"), server("b"), server("c"))
		assert.Len(t, g.Notices(), 1)
		g.apply(runs("two"), server("b", func(s *config.Server) { s.IdleStop = 5 }))
		assert.Empty(t, g.Notices())
	})
}

// The command of a server that the user has just moved, imported or confirmed otherwise is no news.
func TestConfirmedCommandMakesNoNotice(t *testing.T) {
	confirmed := func(s *config.Server) bool { return s.ID == "moved" }
	inBubble(t, func(_ *rig, o *Options) { o.Confirmed = confirmed }, func(g *rig) {
		g.apply(server("a"))
		g.apply(server("a"), server("moved"), server("new"))
		list := g.Notices()
		assert.Truef(t, len(list) == 1 && list[0].Subject == "command:new", "got %+v", list)
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
		require.Len(t, g.started("long"), 1, "they still wait")
		require.Len(t, g.started("short"), 1, "they still wait")
		advance(5 * time.Second)
		g.want("g", core.StateRunning)
	})
}
