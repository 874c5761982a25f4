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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
					require.Equalf(t, err == nil, m.admit(next, time.Now()), "seed %d, step %d", seed, step)
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
		assert.Equal(t, c.want, classifyOutcome(c.err, c.sent), name)
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
			_, err := s.make(call("plain", ""), "", late)
			require.NoError(t, err)
		}
		_, err := s.make(call("plain", ""), "", nil)
		if message, hint := core.Describe(err); core.CodeOf(err) != core.CodeBreakerOpen || message != `server "files" failed 5 times in a row; its circuit breaker is open` || hint != "Try again in 30s." {
			t.Fatalf("%v, %s", err, hint)
		}
		list := s.Breakers()
		assert.Truef(t, len(list) == 1 && list[0].State == BreakerOpen && list[0].Reason != "", "%+v", list)
		time.Sleep(30 * time.Second)
		list = s.Breakers()
		assert.Truef(t, len(list) == 1 && list[0].State == BreakerHalfOpen, "%+v", list)
		if _, err := s.make(call("plain", ""), "{}", nil); err != nil || len(s.Breakers()) != 0 {
			t.Error(err, s.Breakers())
		}
		assert.Truef(t, len(told) == 3 && told[0] == BreakerOpen && told[2] == BreakerClosed, "told %v", told)
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
		_, resting := b.currentStatus()
		require.False(t, resting, "it rests though it did not crash five times")
	}
	crash(1)
	_, err := b.admit()
	assert.Equal(t, core.CodeBreakerOpen, core.CodeOf(err), "after five crashes")
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
	assert.Len(t, s.Breakers(), 1, "another setting ends the rest")
	s.Reset("files")
	_, err := s.make(call("plain", ""), "{}", nil)
	assert.NoError(t, err)
	fail()
	s.apply(`, "breaker": {"failures": 0}`, ``)
	fail()
	_, err = s.make(call("plain", ""), "{}", nil)
	assert.NoError(t, err)
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
			_, err := s.make(call("plain", ""), "{}", nil)
			require.Equal(t, core.CodeBreakerOpen, core.CodeOf(err))
			s.Connected("files", "")
			_, err = s.make(call("plain", ""), "{}", c.err)
			assert.NotEqual(t, core.CodeBreakerOpen, core.CodeOf(err), "the new process gets no call")
			b, open := s.Breaker("files")
			assert.Equalf(t, c.want == BreakerOpen, open, "after the test call with %v: %+v", c.err, b)
		}
	})
}

// Each account has a connection of its own: a broken one must not stop the calls of the others.
func TestEachAccountHasItsOwnBreaker(t *testing.T) {
	cfg := func(accounts string) *config.Config {
		c, problems := config.Parse("c.json", []byte(`{"mcpServers":{"hub":{"command":"h","breaker":{"failures":2,"openMs":60000},"accounts":{`+accounts+`}}}}`))
		require.NotNil(t, c, problems)
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
		require.NoError(t, admit("work"))
	}
	err := admit("work")
	assert.Truef(t, core.CodeOf(err) == core.CodeBreakerOpen && strings.Contains(err.Error(), `account "work" of server "hub"`), "the broken account: %v", err)
	for _, account := range []string{"default", "home", ""} {
		assert.NoErrorf(t, admit(account), "account %q", account)
	}
	list := p.Breakers()
	assert.Truef(t, len(list) == 1 && list[0].Account == "work" && list[0].State == BreakerOpen, "%+v", list)
	b, open := p.Breaker("hub")
	assert.Truef(t, open && strings.HasPrefix(b.Reason, `account "work" failed 2 times`), "%+v", b)
	p.Apply(cfg(`"work":{},"more":{}`)) // other changes leave it open
	assert.Equal(t, core.CodeBreakerOpen, core.CodeOf(admit("work")), "after a change of another account")
	changes := 0
	p.ObserveBreakers(func(b BreakerStatus) {
		if b.Account == "work" && b.State == BreakerClosed {
			changes++
		}
	})
	p.Apply(cfg(`"more":{}`))
	list = p.Breakers()
	assert.Truef(t, len(list) == 0 && changes == 1, "a removed account: %+v, announced %d times", list, changes)
}
