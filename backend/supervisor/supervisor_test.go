package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"drawbridge/backend/hub"
	"drawbridge/backend/mcptest"
	"drawbridge/config"
)

func TestMain(m *testing.M) {
	mcptest.MainIfAsked()
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

func always(err error) func(context.Context, Request, int) (*hub.Catalog, error) {
	return func(context.Context, Request, int) (*hub.Catalog, error) { return nil, err }
}

func TestRunningMeansListed(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(context.Context, Request, int) (*hub.Catalog, error) {
			time.Sleep(time.Second / 2)
			return nil, nil
		}
	}, func(g *rig) {
		sub := g.bus.Subscribe(16)
		defer sub.Close()
		g.apply(server("a"))
		g.want("a", hub.StateStarting)
		pass(time.Second)
		st := g.want("a", hub.StateRunning)
		if st.Tools != 1 || st.PID != 1001 || st.Era != hub.Legacy || st.Command != "fake" {
			t.Fatalf("got %+v", st)
		}
		if _, ok := g.registry.All().Lookup(hub.Tools, "a__read"); !ok {
			t.Fatal("running, but its tool is not there")
		}
		pass(time.Hour)
		if again := g.want("a", hub.StateRunning); !again.Since.Equal(st.Since) {
			t.Fatal("the age of a state starts again without a change")
		}
		var states []hub.State
		for len(sub.Events()) > 0 {
			if st, ok := (<-sub.Events()).Data.(hub.ServerStatus); ok {
				states = append(states, st.State)
			}
		}
		if fmt.Sprint(states) != "[starting running]" && fmt.Sprint(states) != "[running]" {
			t.Fatalf("the bus told %v", states)
		}
	})
}

func TestServerThatExitsAtOnceIsTriedFiveTimesWithGrowingPausesThenLeftAlone(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(_ context.Context, r Request, _ int) (*hub.Catalog, error) {
			if r.Server.ID == "bad" {
				return nil, errBoom
			}
			return nil, nil
		}
	}, func(g *rig) {
		g.apply(server("bad"), server("good"))
		pass(24 * time.Hour)
		starts := g.started("bad")
		if len(starts) != 5 {
			t.Fatalf("%d starts in a day, want 5", len(starts))
		}
		for i, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			got := starts[i+1].Sub(starts[i])
			if got < want*8/10 || got > want*12/10 {
				t.Errorf("pause %d is %s, want %s ±20%%", i+1, got, want)
			}
		}
		st := g.want("bad", hub.StateCrashed)
		if st.Reason != "exited with status 3; gave up after 5 starts" || st.Detail != "last words" || st.ExitCode == nil || *st.ExitCode != 3 {
			t.Errorf("got %+v", st)
		}
		g.want("good", hub.StateRunning)
		if len(g.started("good")) != 1 {
			t.Error("the other server was touched")
		}
	})
}

// Servers that fell together must not rise together.
func TestPausesAreSpreadByAFifth(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for range 2000 {
		d := jitter(time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < 800*time.Millisecond || least > 850*time.Millisecond || most > 1200*time.Millisecond || most < 1150*time.Millisecond {
		t.Errorf("pauses of a second last from %s to %s", least, most)
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	c := config.Restart{Backoff: time.Second, MaxBackoff: time.Minute}
	for failures, want := range []time.Duration{0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60} {
		if got := backoff(c, failures); got != want*time.Second {
			t.Errorf("after %d failures: %s", failures, got)
		}
	}
	c.Strategy = config.RestartFixed
	if got := backoff(c, 7); got != time.Second {
		t.Errorf("fixed: %s", got)
	}
}

func TestHalfAMinuteForgivesNothing(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		for range 5 {
			pass(30 * time.Second)
			g.want("a", hub.StateRunning)
			g.conn("a").die()
		}
		pass(time.Minute)
		g.want("a", hub.StateCrashed)
	})
}

func TestHealthyMinuteForgivesEarlierFailures(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(_ context.Context, _ Request, n int) (*hub.Catalog, error) {
			if n <= 3 {
				return nil, errBoom
			}
			return nil, nil
		}
	}, func(g *rig) {
		g.apply(server("a"))
		pass(10 * time.Minute)
		g.want("a", hub.StateRunning)
		before := time.Now()
		g.conn("a").die()
		pass(time.Minute)
		g.want("a", hub.StateRunning)
		starts := g.started("a")
		if len(starts) != 5 || starts[4].Sub(before) > time.Second {
			t.Fatalf("restarted %s after the crash", starts[len(starts)-1].Sub(before))
		}
	})
}

func TestWrongCommandIsNotTriedAgainUntilTheConfigChanges(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(_ context.Context, r Request, _ int) (*hub.Catalog, error) {
			if r.Server.Command == "wrong" {
				return nil, &hub.Error{Code: hub.CodeValidation, Message: "executable not found", Hint: "Correct the command."}
			}
			return nil, nil
		}
	}, func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Command = "wrong" }))
		pass(time.Hour)
		if st := g.want("a", hub.StateCrashed); st.Reason != "executable not found" || len(g.started("a")) != 1 {
			t.Fatalf("%d starts; %+v", len(g.started("a")), st)
		}
		if st, _ := g.Status("a"); st.Hint != "Correct the command." {
			t.Errorf("the status advises %q", st.Hint)
		}
		// The one start that a call causes changes nothing of that, and the call is told what to do.
		_, err := g.For(context.Background(), &hub.Call{Server: "a"})
		if message, hint := hub.Describe(err); message != `server "a" is crashed: executable not found` || hint != "Correct the command." {
			t.Errorf("a call is told %q, %q", message, hint)
		}
		g.apply(server("a"))
		g.want("a", hub.StateRunning)
	})
}

func TestCallToACrashedServerTriesOneStartEveryHalfMinute(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(_ context.Context, _ Request, n int) (*hub.Catalog, error) {
			if n < 8 {
				return nil, errBoom
			}
			return nil, nil
		}
	}, func(g *rig) {
		g.apply(server("a"))
		pass(time.Hour)
		for range 10 {
			if _, err := g.For(context.Background(), call("a")); hub.CodeOf(err) != hub.CodeUnavailable || !strings.Contains(err.Error(), "crashed") {
				t.Fatalf("got %v", err)
			}
		}
		if n := len(g.started("a")); n != 6 {
			t.Fatalf("%d starts, want one more than 5", n)
		}
		pass(31 * time.Second)
		_, _ = g.For(context.Background(), call("a"))
		pass(31 * time.Second)
		if up, err := g.For(context.Background(), call("a")); err != nil || up == nil {
			t.Fatalf("the start that works is no use: %v", err)
		}
		g.want("a", hub.StateRunning)
	})
}

func TestCallWaitsForAStartingServerWithinItsStartupTimeout(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(ctx context.Context, r Request, _ int) (*hub.Catalog, error) {
			if r.Server.ID == "slow" {
				time.Sleep(40 * time.Second)
				return nil, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, func(g *rig) {
		g.apply(server("slow"), server("never", func(s *config.Server) { s.StartupTimeout = 20 * time.Second }))
		begin := time.Now()
		c := call("slow")
		if _, err := g.For(context.Background(), c); err != nil || time.Since(begin) != 40*time.Second || c.Instance != "slow#1" {
			t.Fatalf("%v after %s, instance %q", err, time.Since(begin), c.Instance)
		}
		g.apply(server("slow"), server("later", func(s *config.Server) { s.StartupTimeout = 20 * time.Second }))
		begin = time.Now()
		_, err := g.For(context.Background(), call("later"))
		if hub.CodeOf(err) != hub.CodeUnavailable || time.Since(begin) != 20*time.Second {
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
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(ctx context.Context, _ Request, _ int) (*hub.Catalog, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.StartupTimeout, s.Restart.MaxAttempts = 20*time.Second, 0 }))
		pass(21 * time.Second)
		if st := g.want("a", hub.StateCrashed); st.Reason != "did not answer within 20s (startupTimeoutMs)" {
			t.Fatalf("got %q", st.Reason)
		}
	})
}

func TestStoppedServerStartsWithACallAndAManualOneDoesNot(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("m", func(s *config.Server) { s.Start = config.StartManual }),
			server("off", func(s *config.Server) { s.Disabled = true }))
		if err := g.Stop(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
		g.want("a", hub.StateStopped)
		pass(time.Hour)
		g.want("a", hub.StateStopped)
		if _, err := g.For(context.Background(), call("a")); err != nil {
			t.Fatal(err)
		}
		g.want("a", hub.StateRunning)

		g.want("m", hub.StateStopped)
		if _, err := g.For(context.Background(), call("m")); hub.CodeOf(err) != hub.CodeUnavailable {
			t.Fatalf("a manual server: %v", err)
		}
		if err := g.Start(context.Background(), "m"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		g.want("m", hub.StateRunning)

		g.want("off", hub.StateDisabled)
		if _, err := g.For(context.Background(), call("off")); hub.CodeOf(err) != hub.CodeUnavailable {
			t.Fatalf("a disabled server: %v", err)
		}
		if err := g.Start(context.Background(), "off"); hub.CodeOf(err) != hub.CodeConflict {
			t.Fatalf("starting a disabled server: %v", err)
		}
		if err := g.Start(context.Background(), "nobody"); hub.CodeOf(err) != hub.CodeNotFound {
			t.Fatalf("starting nobody: %v", err)
		}
	})
}

func TestRestartFailsCallsInFlightOnceEach(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 2 * time.Second }, func(g *rig) {
		g.apply(server("a"))
		results := make(chan error, 20)
		for range 10 {
			go func() {
				c := call("a")
				c.Name = "hang"
				up, err := g.For(context.Background(), c)
				if err == nil {
					_, err = up.Send(context.Background(), c, nil)
				}
				results <- err
			}()
		}
		synctest.Wait()
		if st := g.want("a", hub.StateRunning); st.InFlight != 10 {
			t.Fatalf("%d calls in flight", st.InFlight)
		}
		if err := g.Restart(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
		if st := g.want("a", hub.StateStarting); st.Reason != "restarting" {
			t.Fatalf("got %q", st.Reason)
		}
		pass(3 * time.Second)
		if len(results) != 10 {
			t.Fatalf("%d of 10 calls ended", len(results))
		}
		for range 10 {
			if err := <-results; hub.CodeOf(err) != hub.CodeUnavailable {
				t.Fatalf("got %v", err)
			}
		}
		if st := g.want("a", hub.StateRunning); st.Restarts != 1 {
			t.Fatalf("%d restarts", st.Restarts)
		}
	})
}

func TestStartsAreBoundedAndASlowOneHoldsUpNobody(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(_ context.Context, r Request, _ int) (*hub.Catalog, error) {
			if strings.HasPrefix(r.Server.ID, "slow") {
				time.Sleep(time.Minute)
			} else {
				time.Sleep(time.Second)
			}
			return nil, nil
		}
	}, func(g *rig) {
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
		pass(slotTime + 5*time.Second)
		for i := range 16 {
			g.want(fmt.Sprintf("s%d", i), hub.StateRunning)
		}
		g.want("slow0", hub.StateStarting)
	})
}

func TestSilentServerDegradesAndIsRestarted(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		pass(10 * time.Minute)
		if n := len(g.started("a")); n != 1 {
			t.Fatalf("a healthy server was started %d times", n)
		}
		g.conn("a").silence()
		pass(36 * time.Second)
		if st := g.want("a", hub.StateDegraded); !strings.HasPrefix(st.Reason, "has not answered for") {
			t.Fatalf("got %q", st.Reason)
		}
		pass(65 * time.Second)
		g.want("a", hub.StateRunning)
		if n := len(g.started("a")); n != 2 {
			t.Fatalf("%d starts, want a second one", n)
		}
	})
}

func TestBusyServerIsNotTakenForDead(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		c := call("a")
		c.Name = "hang"
		up, _ := g.For(context.Background(), c)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = up.Send(ctx, c, nil)
		}()
		g.conn("a").silence()
		pass(5 * time.Minute)
		if g.want("a", hub.StateDegraded); len(g.started("a")) != 1 {
			t.Fatal("ended in the middle of a call")
		}
		cancel()
		<-ended
		pass(2 * time.Minute)
		if len(g.started("a")) != 2 {
			t.Fatal("silent for ever, and never restarted")
		}
	})
}

func TestServerWaitsForWhatIsOutside(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.start = func(_ context.Context, _ Request, n int) (*hub.Catalog, error) {
			if n <= 100 {
				return nil, fmt.Errorf("no such container: %w", ErrAbsent)
			}
			return nil, nil
		}
	}, func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Type = hub.Docker }))
		pass(time.Minute)
		if st := g.want("a", hub.StateWaiting); !strings.Contains(st.Reason, "no such container") {
			t.Fatalf("got %q", st.Reason)
		}
		if _, err := g.For(context.Background(), call("a")); hub.CodeOf(err) != hub.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
		pass(100 * 4 * time.Second)
		g.want("a", hub.StateRunning)
	})
}
