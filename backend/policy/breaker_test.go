package policy

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// breakerModel is a simple reference implementation of the breaker.
type breakerModel struct {
	limit               int
	open                time.Duration
	consecutiveFailures int
	isOpen              bool
	until               time.Time
	probeID             int // id of the probe, 0 if there is none
	generation          int // incremented by every change; calls of another age are not counted
	startGeneration     map[int]int
}

func (m *breakerModel) admit(id int, now time.Time) bool {
	if m.isOpen && !now.Before(m.until) && m.until != (time.Time{}) {
		m.until = time.Time{} // half-open
		m.generation++
	}
	if m.isOpen && (m.until != (time.Time{}) || m.probeID != 0) {
		return false
	}
	if m.isOpen {
		m.probeID = id
	}
	m.startGeneration[id] = m.generation
	return true
}

func (m *breakerModel) end(id int, j callOutcome, now time.Time) {
	if m.startGeneration[id] != m.generation {
		return
	}
	rest := func() {
		m.isOpen, m.until, m.probeID, m.consecutiveFailures = true, now.Add(m.open), 0, 0
		m.generation++
	}
	switch {
	case m.probeID == id && j == succeeded:
		m.isOpen, m.probeID, m.consecutiveFailures = false, 0, 0
		m.generation++
	case m.probeID == id && (j == timedOut || j == connectionLost):
		rest()
	case m.probeID == id:
		m.probeID = 0
	case j == succeeded:
		m.consecutiveFailures = 0
	case j == timedOut, j == connectionLost:
		if m.consecutiveFailures++; m.consecutiveFailures >= m.limit {
			rest()
		} else if j == connectionLost {
			m.generation++
		}
	}
}

// For random sequences of calls, results and time, the breaker behaves like the model.
func TestBreakerMatchesModel(t *testing.T) {
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			c := config.Breaker{Failures: 1 + r.IntN(5), Open: time.Duration(1+r.IntN(30)) * time.Second}
			b := newBreaker("s", "", c, nil)
			m := &breakerModel{limit: c.Failures, open: c.Open, startGeneration: map[int]int{}}
			open := map[int]ticket{}
			for step, next := 0, 1; step < 300; step++ {
				switch n := r.IntN(10); {
				case n < 4:
					ticket, err := b.admit()
					if ok := m.admit(next, time.Now()); ok != (err == nil) {
						t.Fatalf("seed %d, step %d: the breaker says %v, the specification %v", seed, step, err, ok)
					}
					if err == nil {
						open[next] = ticket
					} else if core.CodeOf(err) != core.CodeBreakerOpen {
						t.Fatal(err)
					}
					next++
				case n < 9:
					for id, ticket := range open {
						j := []callOutcome{neutral, succeeded, timedOut, connectionLost, timedOut, connectionLost}[r.IntN(6)]
						b.record(ticket, j)
						m.end(id, j, time.Now())
						delete(open, id)
						break
					}
				default:
					time.Sleep(time.Duration(r.IntN(20)) * time.Second)
				}
			}
		})
	}
}

func TestFailuresCountedByBreaker(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		sent bool
		want callOutcome
	}{
		"an answer":             {nil, true, succeeded},
		"a broken connection":   {gone, true, connectionLost},
		"a timeout":             {late, true, timedOut},
		"a server that is away": {gone, false, neutral},
		"a client that left":    {context.Canceled, true, neutral},
		"a login that is due":   {core.Errorf(core.CodeUnauthorized, "no"), true, neutral},
		"a mistake of ours":     {context.DeadlineExceeded, true, neutral},
	} {
		if got := classifyOutcome(c.err, c.sent); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestBreakerOpensAfterFiveFailuresForThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []BreakerState
		s := withRules(t, ``, ``, Options{})
		s.ObserveBreakers(func(b BreakerStatus) { told = append(told, b.State) })
		for range 4 {
			_, _ = s.make(call("plain", ""), "", gone)
		}
		_, _ = s.make(call("plain", ""), `{"isError":true}`, nil) // an error result of a tool is a success
		for range 5 {
			if _, err := s.make(call("plain", ""), "", late); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.make(call("plain", ""), "", nil)
		if message, hint := core.Describe(err); core.CodeOf(err) != core.CodeBreakerOpen || message != `server "files" failed 5 times in a row; its circuit breaker is open` || hint != "Try again in 30s." {
			t.Fatalf("%v, %s", err, hint)
		}
		if list := s.Breakers(); len(list) != 1 || list[0].State != BreakerOpen || list[0].Reason == "" {
			t.Errorf("%+v", list)
		}
		time.Sleep(30 * time.Second)
		if list := s.Breakers(); len(list) != 1 || list[0].State != BreakerHalfOpen {
			t.Errorf("%+v", list)
		}
		if _, err := s.make(call("plain", ""), "{}", nil); err != nil || len(s.Breakers()) != 0 {
			t.Error(err, s.Breakers())
		}
		if len(told) != 3 || told[0] != BreakerOpen || told[2] != BreakerClosed {
			t.Errorf("told %v", told)
		}
	})
}

// A crash fails all calls in flight at once. It counts as one failure.
func TestCrashUnderManyCallsCountsOnce(t *testing.T) {
	b := newBreaker("s", "", config.Breaker{Failures: 5, Open: time.Minute}, nil)
	crash := func(calls int) {
		tickets := make([]ticket, calls)
		for i := range tickets {
			var err error
			if tickets[i], err = b.admit(); err != nil {
				t.Fatal(err)
			}
		}
		for _, ticket := range tickets {
			b.record(ticket, connectionLost)
		}
	}
	for range 4 {
		crash(20)
		if _, resting := b.currentStatus(); resting {
			t.Fatal("it rests though it did not crash five times")
		}
	}
	crash(1)
	if _, err := b.admit(); core.CodeOf(err) != core.CodeBreakerOpen {
		t.Errorf("after five crashes: %v", err)
	}
}

func TestUserResetsBreakerAndChangedServerKeepsIt(t *testing.T) {
	s := withRules(t, ``, ``, Options{})
	fail := func() {
		for range 5 {
			_, _ = s.make(call("plain", ""), "", gone)
		}
	}
	fail()
	s.apply(`, "requestTimeoutMs": 1000`, ``)
	if len(s.Breakers()) != 1 {
		t.Error("another setting ends the rest")
	}
	s.Reset("files")
	if _, err := s.make(call("plain", ""), "{}", nil); err != nil {
		t.Error(err)
	}
	fail()
	s.apply(`, "breaker": {"failures": 0}`, ``)
	fail()
	if _, err := s.make(call("plain", ""), "{}", nil); err != nil {
		t.Error(err)
	}
}

// A new process gets one call at once. Only its success closes the breaker: each call may hang.
func TestNewProcessIsTestedWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withRules(t, ``, ``, Options{})
		s.Connected("files", "")
		s.Connected("unknown", "x")
		for _, c := range []struct {
			err  error
			want BreakerState
		}{{late, BreakerOpen}, {nil, BreakerClosed}} {
			for range 5 {
				_, _ = s.make(call("plain", ""), "", late)
			}
			if _, err := s.make(call("plain", ""), "{}", nil); core.CodeOf(err) != core.CodeBreakerOpen {
				t.Fatal(err)
			}
			s.Connected("files", "")
			if _, err := s.make(call("plain", ""), "{}", c.err); core.CodeOf(err) == core.CodeBreakerOpen {
				t.Error("the new process gets no call:", err)
			}
			if b, open := s.Breaker("files"); open != (c.want == BreakerOpen) {
				t.Errorf("after the test call with %v: %+v", c.err, b)
			}
		}
	})
}

// Each account has a connection of its own: a broken one must not stop the calls of the others.
func TestEachAccountHasItsOwnBreaker(t *testing.T) {
	cfg := func(accounts string) *config.Config {
		c, problems := config.Parse("c.json", []byte(`{"mcpServers":{"hub":{"command":"h","breaker":{"failures":2,"openMs":60000},"accounts":{`+accounts+`}}}}`))
		if c == nil {
			t.Fatal(problems)
		}
		return c
	}
	views := registry.New(registry.Options{})
	views.Configure(registry.Prefixed, []registry.Server{{ID: "hub"}})
	views.Set("hub", "hub", &core.Catalog{})
	p := New(Options{Views: views})
	p.Apply(cfg(`"work":{},"home":{}`))
	admit := func(account string) error {
		plan, err := p.Admit(t.Context(), &core.Call{Server: "hub", Method: "resources/read", Name: "x", Account: account}, nil)
		if err == nil {
			lost := error(nil)
			if account == "work" {
				lost = core.Errorf(core.CodeUnavailable, "it has exited")
			}
			p.End(plan, core.Reply{}, lost, true)
		}
		return err
	}
	for range 2 {
		if err := admit("work"); err != nil {
			t.Fatal(err)
		}
	}
	if err := admit("work"); core.CodeOf(err) != core.CodeBreakerOpen || !strings.Contains(err.Error(), `account "work" of server "hub"`) {
		t.Errorf("the broken account: %v", err)
	}
	for _, account := range []string{"default", "home", ""} {
		if err := admit(account); err != nil {
			t.Errorf("account %q: %v", account, err)
		}
	}
	if list := p.Breakers(); len(list) != 1 || list[0].Account != "work" || list[0].State != BreakerOpen {
		t.Errorf("%+v", list)
	}
	if b, open := p.Breaker("hub"); !open || !strings.HasPrefix(b.Reason, `account "work" failed 2 times`) {
		t.Errorf("%+v", b)
	}
	p.Apply(cfg(`"work":{},"more":{}`)) // other changes leave it open
	if err := admit("work"); core.CodeOf(err) != core.CodeBreakerOpen {
		t.Errorf("after a change of another account: %v", err)
	}
	changes := 0
	p.ObserveBreakers(func(b BreakerStatus) {
		if b.Account == "work" && b.State == BreakerClosed {
			changes++
		}
	})
	p.Apply(cfg(`"more":{}`))
	if list := p.Breakers(); len(list) != 0 || changes != 1 {
		t.Errorf("a removed account: %+v, announced %d times", list, changes)
	}
}
