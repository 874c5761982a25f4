package supervisor

import (
	"context"
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

func accounts(tokens map[string]string) func(*config.Server) {
	return func(s *config.Server) {
		s.Env, s.Accounts = map[string]string{"TOKEN": "own"}, map[string]config.Account{}
		for name, token := range tokens {
			s.Accounts[name] = config.Account{Env: map[string]string{"TOKEN": token}}
		}
	}
}

func as(account string) *core.Call {
	c := call("a")
	c.Account = account
	return c
}

// startedAccounts are the accounts of all starts with their tokens, in order.
type startedAccounts struct {
	mu  sync.Mutex
	all []string
}

func (s *startedAccounts) record(g *rig) {
	g.several = true
	g.start = func(_ context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, r.Server.Account+"="+r.Server.Env["TOKEN"])
		return &core.Catalog{Tools: []core.Item{{Name: "t", Raw: []byte(`{"name":"t"}`)}}}, nil
	}
}

func (s *startedAccounts) want(t *testing.T, all ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Equal(t, all, s.all)
}

func TestEachAccountHasItsOwnProcessWithItsOwnCredentials(t *testing.T) {
	var starts startedAccounts
	inBubble(t, func(g *rig, _ *Options) { starts.record(g) }, func(g *rig) {
		g.apply(server("a", accounts(map[string]string{"work": "w", "home": "h"})))
		starts.want(t, "=own")
		own, work, home := g.served(as("default")), g.served(as("work")), g.served(as("home"))
		require.True(t, own != work && work != home && own != home, "two accounts share a process")
		starts.want(t, "=own", "work=w", "home=h")
		advance(5 * time.Minute)
		require.True(t, g.served(as("default")) == own && g.served(as("work")) == work && g.served(as("home")) == home, "an account was moved")
		synctest.Wait()
		st := g.want("a", core.StateRunning)
		require.Truef(t, len(st.Instances) == 2 && st.Instances[0].Account == "work" && st.Instances[0].Name == "account work", "%+v", st.Instances)
	})
}

func TestUnknownAndRemovedAccountsAreErrors(t *testing.T) {
	var starts startedAccounts
	inBubble(t, func(g *rig, _ *Options) { starts.record(g) }, func(g *rig) {
		for _, kind := range []string{config.SessionShared, config.SessionPerClient} {
			g.apply(server("a", session(kind), accounts(map[string]string{"work": "w"})))
			g.served(as("work"))
			g.apply(server("a", session(kind), accounts(map[string]string{"job": "w"}))) // renamed
			for _, name := range []string{"work", "wrok"} {
				_, err := g.For(context.Background(), as(name))
				require.Equal(t, core.CodeNotFound, core.CodeOf(err), kind)
				require.Contains(t, err.Error(), `no account "`+name+`"`, kind)
			}
			synctest.Wait()
			require.Equal(t, 1, g.processes())
		}
	})
}

func TestCallInFlightOfRenamedAccountEndsWithError(t *testing.T) {
	var starts startedAccounts
	inBubble(t, func(g *rig, _ *Options) { starts.record(g) }, func(g *rig) {
		g.apply(server("a", accounts(map[string]string{"work": "w"})))
		ended := g.hangingCall(context.Background(), as("work"))
		synctest.Wait()
		g.apply(server("a", accounts(map[string]string{"job": "w"})))
		synctest.Wait()
		err := <-ended
		require.Error(t, err, "the call did not fail")
		starts.want(t, "=own", "work=w")
	})
}

func TestChangedAccountRestartsOnlyItsOwnProcess(t *testing.T) {
	var starts startedAccounts
	inBubble(t, func(g *rig, _ *Options) { starts.record(g) }, func(g *rig) {
		g.apply(server("a", accounts(map[string]string{"work": "w", "home": "h"})))
		own, work, home := g.served(as("")), g.served(as("work")), g.served(as("home"))
		g.apply(server("a", accounts(map[string]string{"work": "new", "home": "h"})))
		synctest.Wait()
		require.Equal(t, own, g.served(as("")), "another account was restarted")
		require.Equal(t, home, g.served(as("home")), "another account was restarted")
		require.NotEqual(t, work, g.served(as("work")), "the changed account was not restarted")
		starts.want(t, "=own", "work=w", "home=h", "work=new")
		g.apply(server("a", accounts(map[string]string{"work": "new", "home": "h"}), func(s *config.Server) { s.Env["TOKEN"] = "own2" }))
		synctest.Wait()
		require.Equal(t, home, g.served(as("home")), "a change of the server's own credentials restarted another account, or not its own")
		require.NotEqual(t, own, g.served(as("")), "a change of the server's own credentials restarted another account, or not its own")
	})
}

func TestCrashedAccountLeavesOthersRunning(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) {
		g.several = true
		g.start = failingIf(func(r upstream.Request) bool { return r.Server.Account == "work" }, core.Errorf(core.CodeValidation, "the token is wrong"))
	}, func(g *rig) {
		g.apply(server("a", accounts(map[string]string{"work": "w", "home": "h"})))
		home := g.served(as("home"))
		_, err := g.For(context.Background(), as("work"))
		require.ErrorContains(t, err, `account "work" of server "a" is not available (failed): the token is wrong`)
		require.Equal(t, home, g.served(as("home")), "the crash of one account moved another one")
		require.NotEqual(t, home, g.served(as("default")), "the crash of one account moved another one")
		assert.Contains(t, g.want("a", core.StateDegraded).Reason, "one of its instances")
	})
}

func TestSessionsOfOneAccountStayApart(t *testing.T) {
	in := func(account, session string) *core.Call {
		c := from(as(account), "ann")
		c.Session = session
		return c
	}
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerSession), accounts(map[string]string{"work": "w"})))
		seen := map[string]bool{}
		for _, c := range []*core.Call{in("work", "1"), in("work", "2"), in("default", "1"), in("default", "2")} {
			seen[g.served(c)] = true
		}
		require.Len(t, seen, 4)
		g.EndSession("1")
		synctest.Wait()
		if n := g.processes(); n != 3 { // its own, and those of session 2
			t.Fatalf("%d processes after the end of a session", n)
		}
	})
}
