package gateway

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newRetryFixture returns a gateway with a real policy that has the given rules for "files". send
// gets the number of the attempt, from 1.
func newRetryFixture(t *testing.T, rules string, send func(ctx context.Context, try int) (core.Reply, error)) (*Gateway, *fixture) {
	t.Helper()
	views := registry.New(registry.Options{})
	views.Set("files", "", &core.Catalog{Tools: []core.Item{{Name: "read", Raw: []byte(`{"name":"read","annotations":{"readOnlyHint":true}}`)}}})
	p := policy.New(policy.Options{Views: views})
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {"files": {"command": "x"`+rules+`}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	p.Apply(c)
	f := newFixture()
	tries := 0
	f.send = func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		tries++
		return send(ctx, tries)
	}
	return New(Options{Upstreams: f, Policy: p, Recorder: f, Bus: new(core.Bus)}), f
}

var (
	away   = &core.Error{Code: core.CodeUnavailable, Message: "away", Retriable: true}
	unsent = &core.Error{Code: core.CodeUnavailable, Message: "not sent", Retriable: true, Unsent: true}
	fine   = core.Reply{Result: []byte(`{"content":[]}`)}
)

// A call is retried with the configured delays and limits. It has one row in the history, which
// counts the attempts, and counts once for the breaker.
func TestCallIsRetriedByRules(t *testing.T) {
	const twice = `, "retry": {"delaysMs": [1000, 4000]}`
	for name, c := range map[string]struct {
		rules string
		fail  func(try int) error
		tries int
		took  time.Duration
		code  core.Code
	}{
		"nothing configured":        {``, func(int) error { return unsent }, 1, 0, core.CodeUnavailable},
		"it works the first time":   {twice, func(int) error { return nil }, 1, 0, ""},
		"it works the second time":  {twice, func(try int) error { return errorIf(try < 2, unsent) }, 2, time.Second, ""},
		"it works the third time":   {twice, func(try int) error { return errorIf(try < 3, unsent) }, 3, 5 * time.Second, ""},
		"it never works":            {twice, func(int) error { return unsent }, 3, 5 * time.Second, core.CodeUnavailable},
		"it may have been done":     {twice, func(int) error { return away }, 1, 0, core.CodeUnavailable},
		"trusted and read-only":     {twice + `, "trust": true`, func(int) error { return away }, 3, 5 * time.Second, core.CodeUnavailable},
		"first unsent, then unsure": {twice, func(try int) error { return map[bool]error{true: unsent, false: away}[try == 1] }, 2, time.Second, core.CodeUnavailable},
		"a mistake of ours":         {twice + `, "trust": true`, func(int) error { return errors.New("oops") }, 1, 0, core.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, f := newRetryFixture(t, c.rules, func(_ context.Context, try int) (core.Reply, error) {
					if err := c.fail(try); err != nil {
						return core.Reply{}, err
					}
					return fine, nil
				})
				call := toolCall()
				_, err := g.Call(t.Context(), call, nil)
				if core.CodeOf(err) != c.code || call.Attempts != c.tries || call.Took != c.took {
					t.Errorf("%v after %d tries and %s", err, call.Attempts, call.Took)
				}
				if len(f.recorded) != 1 || f.recorded[0].Attempts != c.tries || f.recorded[0].Code != c.code {
					t.Errorf("recorded %+v", f.recorded)
				}
			})
		})
	}
}

func errorIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

func TestLostCallThatMayHaveBeenExecutedIsNotRetriable(t *testing.T) {
	for name, c := range map[string]struct {
		rules     string
		err       error
		retriable bool
	}{
		"it may have been executed": {``, away, false},
		"it was not sent":           {``, unsent, true},
		"trusted and read-only":     {`, "trust": true`, away, true},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := newRetryFixture(t, c.rules, func(context.Context, int) (core.Reply, error) { return core.Reply{}, c.err })
			_, err := g.Call(t.Context(), toolCall(), nil)
			e, ok := errors.AsType[*core.Error](err)
			require.True(t, ok, err)
			assert.Equal(t, c.retriable, e.Retriable)
			assert.Equal(t, !c.retriable, strings.Contains(e.Message, core.UnknownEffect))
		})
	}
}

// Cancelling a call ends its backoff, and the call is not sent again.
func TestCallCancelledDuringBackoffIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		g, _ := newRetryFixture(t, `, "retry": {"delaysMs": [60000]}`, func(context.Context, int) (core.Reply, error) {
			sent++
			return core.Reply{}, unsent
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		call := toolCall()
		if _, err := g.Call(ctx, call, nil); err == nil || call.Took != time.Second || sent != 1 {
			t.Errorf("%v after %s, sent %d times", err, call.Took, sent)
		}
	})
}

// Each attempt has the whole timeout, and a failed call counts once for the breaker, whatever the
// number of attempts.
func TestRetriesCountOnceInBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newRetryFixture(t, `, "trust": true, "retry": {"attempts": 3, "delaysMs": [1]}, "breaker": {"failures": 2}`, func(context.Context, int) (core.Reply, error) {
			return core.Reply{}, away
		})
		for n, want := range []core.Code{core.CodeUnavailable, core.CodeUnavailable, core.CodeBreakerOpen} {
			_, err := g.Call(t.Context(), toolCall(), nil)
			assert.Equalf(t, want, core.CodeOf(err), "call %d", n+1)
		}
	})
}

// A panic ends only its own call: the call is recorded as internal, its slot is released, and the
// log and the history have the stack, which no client sees.
func TestPanicEndsOnlyItsOwnCall(t *testing.T) {
	var log bytes.Buffer
	g, f := newRetryFixture(t, `, "concurrency": {"max": 1, "queue": 1}`, func(_ context.Context, try int) (core.Reply, error) {
		if try == 1 {
			panic("secret detail")
		}
		return fine, nil
	})
	g.log = slog.New(slog.NewTextHandler(&log, nil))
	_, err := g.Call(t.Context(), toolCall(), nil)
	message, _ := core.Describe(err)
	require.True(t, core.CodeOf(err) == core.CodeInternal && !strings.Contains(message, "secret"), err)
	if len(f.recorded) != 1 || f.recorded[0].Code != core.CodeInternal || f.recorded[0].Outcome != core.OutcomeProtocolError || len(f.replies[0].Result) > 0 {
		t.Errorf("recorded %+v", f.recorded)
	}
	require.Contains(t, log.String(), "secret detail", "the log")
	require.Contains(t, log.String(), "retry_test.go", "the log")
	stack := f.recorded[0].Stack
	assert.Truef(t, strings.Contains(stack, "retry_test.go") && !strings.Contains(stack, "secret detail"), "recorded with the stack %q", stack)
	assert.Empty(t, g.Running(), "it still counts as running")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = g.Call(ctx, toolCall(), nil)
	assert.NoError(t, err, "the next call")
}
