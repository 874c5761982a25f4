package policy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesAndURIsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		call core.Call
		ok   bool
	}{
		"a long name":      {core.Call{Method: "tools/call", Name: strings.Repeat("a", MaxName)}, true},
		"a longer name":    {core.Call{Method: "tools/call", Name: strings.Repeat("a", MaxName+1)}, false},
		"a long URI":       {core.Call{Method: "resources/read", Name: strings.Repeat("a", MaxURI)}, true},
		"a longer URI":     {core.Call{Method: "resources/read", Name: strings.Repeat("a", MaxURI+1)}, false},
		"a prompt's name":  {core.Call{Method: "prompts/get", Name: strings.Repeat("a", MaxName+1)}, false},
		"an URI to finish": {core.Call{Method: "completion/complete", Name: strings.Repeat("a", MaxName+1)}, true},
	} {
		err := checkNames(&c.call)
		assert.Equal(t, c.ok, err == nil, name)
		e, ours := errors.AsType[*core.Error](err)
		assert.Falsef(t, err != nil && (!ours || e.Code != core.CodeValidation || len(e.Fields) != 1), "%s: %+v", name, e)
	}
}

func TestInvalidArgumentsAreRefusedByName(t *testing.T) {
	s := withRules(t, `, "validateInput": "reject", "tools": {"put": {"validateInput": "off"}}`, ``, Options{})
	for _, c := range []struct{ tool, arguments, want string }{
		{"read", `{"path":"a"}`, ``},
		{"read", `{"path":"a","n":9007199254740993}`, ``},
		{"read", `{}`, `path is required`},
		{"read", `{"path":7}`, `path must be string, not number`},
		{"read", `{"path":"toolong"}`, `path contains 7 characters; the maximum is 5`},
		{"read", `{"path":"a","n":1.5}`, `n must be integer, not number`},
		{"read", `{"path":"a","how":"secret"}`, `how must be one of ["a","b"]`},
		{"read", `{"path":"a","x":1}`, `x is not a known property`},
		{"read", `{"n":"secret","x":1}`, `path is required|x is not a known property|n must be integer, not string`},
		{"put", `{"anything":1}`, ``},
		{"odd", `{"anything":1}`, ``}, // references to files are unsupported
		{"plain", `{"anything":1}`, ``},
	} {
		_, err := s.make(call(c.tool, c.arguments), "{}", nil)
		if c.want == "" {
			assert.NoErrorf(t, err, "%s %s", c.tool, c.arguments)
			continue
		}
		e, ok := errors.AsType[*core.Error](err)
		if !ok || e.Code != core.CodeValidation || len(e.Fields) != len(strings.Split(c.want, "|")) || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: %+v", c.arguments, e)
			continue
		}
		for _, want := range strings.Split(c.want, "|") {
			assert.Contains(t, e.Message, want, c.arguments)
		}
	}
}

func TestRateLimitHasBucketPerCallerAndTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withRules(t, `, "rateLimit": {"perSecond": 2, "burst": 3}, "tools": {"put": {"rateLimit": {"perSecond": 1, "burst": 1, "by": "session"}}}`, ``, Options{})
		allowed := func(n int, make func() *core.Call) (passed int) {
			for range n {
				if _, err := s.make(make(), "{}", nil); err == nil {
					passed++
				} else if e, _ := errors.AsType[*core.Error](err); e.Code != core.CodeRateLimited || !e.Retriable || e.Hint != "Try again in 500ms." && e.Hint != "Try again in 1s." {
					t.Fatalf("%+v", e)
				}
			}
			return passed
		}
		plain := func() *core.Call { return call("plain", "") }
		other := func() *core.Call { c := call("plain", ""); c.Client.Token = "other"; return c }
		put := func(session string) func() *core.Call {
			return func() *core.Call { c := call("put", ""); c.Session = session; return c }
		}
		a, b, c, d := allowed(9, plain), allowed(9, other), allowed(9, put("s1")), allowed(9, put("s2"))
		assert.Truef(t, a == 3 && b == 3 && c == 1 && d == 1, "passed %d, %d, %d, %d", a, b, c, d)
		time.Sleep(time.Second)
		assert.Equal(t, 2, allowed(9, plain), "a second later")
		s.apply(`, "rateLimit": {"perSecond": 2, "burst": 3}`, ``)
		assert.Equal(t, 0, allowed(1, plain), "a new configuration with the same limit of the server fills the buckets")
		again := plain()
		again.Continues = true
		_, err := s.make(again, "{}", nil)
		assert.NoError(t, err, "a further round of a call counts")
	})
}

func TestLimitsApplyPerClientAndPerTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := `, "rateLimit": {"perSecond": 1, "burst": 5}, "tools": {"put": {"rateLimit": {"perSecond": 1, "burst": 4}, "clients": {"cursor": {"rateLimit": {"perSecond": 0.5, "burst": 1}}}}}`
		root := `"policy": {"clients": {"cursor": {"rateLimit": {"perSecond": 1, "burst": 2}}, "batch": {"rateLimit": {"perSecond": 100, "burst": 50}}}}, `
		s := withRules(t, server, root, Options{})
		made := func(tool, token string) *core.Call { c := call(tool, ""); c.Client.Token = token; return c }
		allowed := func(tool, token string) (passed int, refused string) {
			for range 60 {
				if _, err := s.make(made(tool, token), "{}", nil); err == nil {
					passed++
				} else if refused = err.Error(); core.CodeOf(err) != core.CodeRateLimited {
					t.Fatal(err)
				}
			}
			return passed, refused
		}
		for _, c := range []struct {
			tool, token string
			want        int
			says        string
		}{
			{"plain", "cursor", 2, `1 call per second for client "cursor", in bursts of up to 2 (policy.clients.cursor.rateLimit)`},
			{"put", "cursor", 1, `0.5 calls per second for client "cursor", in bursts of up to 1 (tools.put.clients.cursor.rateLimit)`},
			{"put", "batch", 50, `100 calls per second for client "batch", in bursts of up to 50 (policy.clients.batch.rateLimit)`},
			{"plain", "other", 5, `1 call per second for each client, in bursts of up to 5 (rateLimit)`},
			{"put", "other", 4, `1 call per second for each client, in bursts of up to 4 (tools.put.rateLimit)`},
			{"put", "", 4, `for each client, in bursts of up to 4`},
		} {
			n, says := allowed(c.tool, c.token)
			assert.Truef(t, n == c.want && strings.Contains(says, c.says), "%s of %q: %d passed, then %s", c.tool, c.token, n, says)
		}
		_, err := s.make(made("put", "cursor"), "{}", nil)
		_, hint := core.Describe(err)
		assert.Equal(t, "Try again in 2s.", hint)
		if e, _ := s.Explain(ExplainRequest{Server: "files", Tool: "put", Client: "cursor"}); e.Passes || e.Checks[6].Key != "mcpServers.files.tools.put.clients.cursor.rateLimit" {
			t.Errorf("%+v", e.Checks[6])
		}
		if e, _ := s.Explain(ExplainRequest{Server: "files", Tool: "plain", Client: "cursor"}); e.Passes || e.Checks[6].Key != "policy.clients.cursor.rateLimit" {
			t.Errorf("%+v", e.Checks[6])
		}
		s.apply(server, root)
		n, _ := allowed("put", "cursor")
		assert.Equal(t, 0, n, "a new configuration with the same limits of clients fills the buckets")
		s.apply(server, "")
		n, _ = allowed("plain", "cursor")
		assert.Equal(t, 5, n)
	})
}

func TestClientOnlyLimitApplies(t *testing.T) {
	t.Parallel()
	s := withRules(t, ``, `"policy": {"clients": {"cursor": {"rateLimit": {"perSecond": 0.001, "burst": 1}}}}, `, Options{})
	_, first := s.make(call("plain", ""), "{}", nil)
	_, second := s.make(call("plain", ""), "{}", nil)
	assert.NoError(t, first)
	assert.Equal(t, core.CodeRateLimited, core.CodeOf(second))
}

func TestForgedCallersDoNotFillMemory(t *testing.T) {
	s := withRules(t, `, "rateLimit": {"perSecond": 0.001, "burst": 1}`, ``, Options{})
	for i := range maxBuckets + 100 {
		c := call("plain", "")
		c.Client = core.Client{Name: strings.Repeat("x", i%50) + string(rune('a'+i%26)) + time.Duration(i).String()}
		_, _ = s.make(c, "{}", nil)
	}
	n := len(s.rules.Load().servers["files"].toolDefaults.buckets.limiters)
	assert.Truef(t, n <= maxBuckets+1, "%d buckets", n)
}

func TestConcurrencySlotsAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withRules(t, `, "concurrency": {"max": 2, "queue": 1}, "requestTimeoutMs": 10000`, ``, Options{})
		admit := func() (Plan, error) { return s.Admit(t.Context(), call("plain", ""), nil) }
		first, _ := admit()
		second, _ := admit()
		type got struct {
			plan Plan
			err  error
		}
		queued := make(chan got, 1)
		waiting := call("plain", "")
		go func() { plan, err := s.Admit(t.Context(), waiting, nil); queued <- got{plan, err} }()
		synctest.Wait()
		_, err := admit()
		e, _ := errors.AsType[*core.Error](err)
		require.True(t, e != nil && e.Code == core.CodeRejected && e.Retriable, err)
		loads := s.Loads()
		assert.Truef(t, len(loads) == 1 && loads[0] == (Load{"files", 2, 1, 1}), "%+v", loads)
		time.Sleep(3 * time.Second)
		s.End(first, core.Reply{}, nil, true)
		if g := <-queued; g.err != nil || waiting.Queued != 3*time.Second {
			t.Errorf("%v after %s", g.err, waiting.Queued)
		} else {
			s.End(g.plan, core.Reply{}, nil, true)
		}
		third, _ := admit()
		began := time.Now()
		_, err = admit()
		assert.Truef(t, core.CodeOf(err) == core.CodeRejected && time.Since(began) == 10*time.Second, "%v after %s", err, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Admit(ctx, call("plain", ""), nil)
		assert.ErrorIs(t, err, context.Canceled)
		s.End(second, core.Reply{}, nil, true)
		s.End(third, core.Reply{}, gone, true)
		loads = s.Loads()
		assert.Truef(t, loads[0].Running == 0 && loads[0].Queued == 0, "%+v", loads)
	})
}

func TestRetryableFailures(t *testing.T) {
	unsent := &core.Error{Code: core.CodeUnavailable, Retriable: true, Unsent: true}
	final := &core.Error{Code: core.CodeUnavailable}
	const twice = `, "retry": {"delaysMs": [10, 20]}`
	for _, c := range []struct {
		name, server, tool string
		err                error
		sent               bool
		pauses             []time.Duration
	}{
		{"nothing configured", ``, "read", unsent, true, nil},
		{"not sent", twice, "delete", unsent, true, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}},
		{"the server was away", twice, "delete", gone, false, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}},
		{"it may have been done", twice, "read", gone, true, nil},
		{"trusted and read-only", twice + `, "trust": true`, "read", gone, true, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}},
		{"trusted and idempotent", twice + `, "trust": true`, "put", gone, true, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}},
		{"trusted and neither", twice + `, "trust": true`, "delete", gone, true, nil},
		{"a timeout", twice + `, "trust": true`, "read", late, true, nil},
		{"nothing time would mend", twice, "read", final, false, nil},
		{"the last pause goes on", `, "retry": {"attempts": 3, "delaysMs": [10]}`, "read", unsent, true, []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withRules(t, c.server, ``, Options{})
			plan, err := s.make(call(c.tool, ""), "{}", nil)
			require.NoError(t, err)
			var pauses []time.Duration
			for tries := 1; ; tries++ {
				pause, again := plan.ShouldRetry(call(c.tool, ""), tries, c.err, c.sent)
				if !again {
					break
				}
				pauses = append(pauses, pause)
			}
			require.Len(t, pauses, len(c.pauses))
			for i := range pauses {
				assert.Equal(t, c.pauses[i], pauses[i])
			}
		})
	}
	s := withRules(t, `, "retry": {"attempts": 9, "backoffMs": 100, "maxBackoffMs": 400}`, ``, Options{})
	plan, _ := s.make(call("read", ""), "{}", nil)
	for tries, most := range []time.Duration{0, 100, 200, 400, 400, 400, 400, 400, 400, 400} {
		if tries == 0 {
			continue
		}
		most *= time.Millisecond
		if pause, again := plan.ShouldRetry(call("read", ""), tries, unsent, true); !again || pause < most/2 || pause > most {
			t.Errorf("pause %d is %s, want %s to %s", tries, pause, most/2, most)
		}
	}
}

func TestOnlySuccessfulReadOnlyResultsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = `, "tools": {"read": {"cacheTtlMs": 1000}, "put": {"cacheTtlMs": 1000}}`
		s := withRules(t, keys, ``, Options{})
		hit := func(c *core.Call, reply string) bool {
			plan, err := s.make(c, reply, nil)
			require.NoError(t, err)
			assert.Equal(t, c.Cached, plan.Cached != nil, "a hit is not marked")
			return plan.Cached != nil
		}
		if hit(call("read", `{"path":"a","n":1}`), `{"content":[1]}`) || !hit(call("read", ` { "n" : 1,"path":"\u0061" } `), ``) {
			t.Error("the same arguments in other words miss")
		}
		for name, c := range map[string]*core.Call{
			"other arguments": call("read", `{"path":"b","n":1}`), "another spelling of a number": call("read", `{"path":"a","n":1.0}`),
		} {
			assert.Falsef(t, hit(c, `{"isError":true}`), "%s hit", name)
		}
		other := call("read", `{"path":"a","n":1}`)
		other.Client.Token = "other"
		assert.True(t, !hit(other, `{"resultType":"input_required"}`) && !hit(call("read", `{"path":"b","n":1}`), `{}`), "another client, or an error, hit")
		for range 2 {
			assert.False(t, hit(call("put", `{}`), `{}`), "a tool that is not read-only is kept")
		}
		twice := `{"path":"a","path":"b"}`
		for range 2 {
			assert.False(t, hit(call("read", twice), `{}`), "arguments with two meanings are kept")
		}
		time.Sleep(time.Second)
		assert.False(t, hit(call("read", `{"path":"a","n":1}`), `{}`), "it outlived its time")
		s.apply(keys+`, "trust": true`, ``)
		assert.False(t, hit(call("read", `{"path":"a","n":1}`), `{}`), "it outlived its configuration")
	})
}

func TestResourceCacheFollowsServerTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withRules(t, `, "honorTtl": true`, ``, Options{})
		read := func(uri, reply string) bool {
			c := &core.Call{Server: "files", Method: "resources/read", Name: uri, Era: core.Modern}
			plan, err := s.make(c, reply, nil)
			return err == nil && plan.Cached != nil
		}
		for range 2 {
			assert.True(t, !read("a:0", `{"contents":[],"ttlMs":0}`) && !read("a:none", `{"contents":[]}`), "kept without leave")
		}
		assert.True(t, !read("a:1", `{"contents":[],"ttlMs":500}`) && read("a:1", ``), "not kept")
		time.Sleep(500 * time.Millisecond)
		assert.False(t, read("a:1", ``), "kept too long")
	})
}

func TestCacheIsBounded(t *testing.T) {
	s := withRules(t, `, "tools": {"read": {"cacheTtlMs": 100000}}`, ``, Options{})
	big := `{"content":"` + strings.Repeat("x", 100<<10) + `"}`
	for i := range 600 {
		_, _ = s.make(call("read", `{"path":"`+string(rune('a'+i%26))+time.Duration(i).String()+`"}`), big, nil)
	}
	if s.cache.bytes > maxCacheBytes || len(s.cache.byKey) != s.cache.order.Len() || s.cache.bytes == 0 {
		t.Errorf("%d bytes of %d results", s.cache.bytes, len(s.cache.byKey))
	}
	_, _ = s.make(call("read", `{"path":"huge"}`), `{"content":"`+strings.Repeat("x", maxCachedResult)+`"}`, nil)
	plan, _ := s.make(call("read", `{"path":"huge"}`), `{}`, nil)
	assert.Nil(t, plan.Cached, "a huge result is kept")
}

func TestStrictPreset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withRules(t, ``, `"policy": {"preset": "strict"}, `, Options{})
		plan, err := s.make(call("plain", ""), "", gone)
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, plan.Timeout)
		unsent := &core.Error{Code: core.CodeUnavailable, Retriable: true, Unsent: true}
		for tries, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			pause, again := plan.ShouldRetry(call("plain", ""), tries+1, unsent, true)
			assert.Truef(t, again && pause == want, "pause %d: %s, %v", tries+1, pause, again)
		}
		_, again := plan.ShouldRetry(call("plain", ""), 4, unsent, true)
		assert.False(t, again, "a fourth retry")
		passed := 1
		for range 30 {
			if _, err := s.make(call("plain", ""), "{}", nil); err == nil {
				passed++
			} else if core.CodeOf(err) != core.CodeRateLimited {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		for range 30 {
			if _, err := s.make(call("plain", ""), "", gone); err == nil {
				passed++
			}
		}
		if passed != 25 || len(s.Breakers()) != 1 { // a burst of 20, and 5 of the next 10 until the breaker opens
			t.Errorf("%d passed, %v", passed, s.Breakers())
		}
	})
}

// progressRecorder records the notifications to a client.
type progressRecorder struct {
	mu   sync.Mutex
	said []string
}

func (p *progressRecorder) Notify(_ string, params json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, string(params))
}
func (*progressRecorder) Ask(context.Context, string, json.RawMessage) (core.Reply, error) {
	return core.Reply{}, nil
}

func TestClientIsNotifiedThatCallWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeUser{answer: approvals.Answer{Action: approvals.Accept}, after: 35 * time.Second}
		s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: p})
		c := call("plain", `{"a":1}`)
		at := len(c.Params) - 1
		c.Params = json.RawMessage(string(c.Params[:at]) + `,"_meta":{"progressToken":"t"}}`)
		c.ProgressToken.Start = strings.Index(string(c.Params), `"t"`)
		c.ProgressToken.End = c.ProgressToken.Start + 3
		sink := &progressRecorder{}
		if _, err := s.Admit(t.Context(), c, sink); err != nil || c.Queued != 35*time.Second {
			t.Fatal(err, c.Queued)
		}
		if len(sink.said) != 3 || sink.said[0] != `{"progressToken":"t","progress":0.000001,"message":"waiting for the user's approval"}` {
			t.Errorf("%q", sink.said)
		}
	})
}
