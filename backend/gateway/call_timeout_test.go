package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSilentServerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.startDelay = time.Minute // a slow start does not count
		f.send = func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			<-ctx.Done()
			return core.Reply{}, ctx.Err()
		}
		call := toolCall()
		_, err := f.Call(context.Background(), call, nil)
		if core.CodeOf(err) != core.CodeTimeout || call.Outcome != core.OutcomeTimeout || call.Took != 90*time.Second || call.Queued != time.Minute {
			t.Fatalf("%v; %+v", err, call)
		}
		message, hint := core.Describe(err)
		require.Truef(t, message == `server "files" did not respond to tool "read" within 30s (requestTimeoutMs)` && hint != "", "%s / %s", message, hint)
	})
}

func TestTimeoutNamesWhatTheServerSentInstead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			<-ctx.Done()
			if core.CodeOf(context.Cause(ctx)) != core.CodeTimeout { // the server gets it as the reason of the cancellation
				t.Errorf("cancelled with %v", context.Cause(ctx))
			}
			return core.Reply{}, &wire.UnusableOutputError{Problem: "it sent nonsense", Hint: "Correct the server.", Cause: context.Cause(ctx)}
		}
		_, err := f.Call(context.Background(), toolCall(), nil)
		if message, hint := core.Describe(err); core.CodeOf(err) != core.CodeTimeout || hint != "Correct the server." ||
			message != `server "files" did not respond to tool "read" within 30s (requestTimeoutMs): it sent nonsense` {
			t.Fatalf("%s / %s", message, hint)
		}
	})
}

func TestProgressResetsTheTimeoutUpToTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			for {
				select {
				case <-ctx.Done():
					return core.Reply{}, ctx.Err()
				case <-time.After(21 * time.Second):
					sink.Notify("notifications/progress", nil)
				}
			}
		}
		call := toolCall()
		_, err := f.Call(context.Background(), call, nil)
		if core.CodeOf(err) != core.CodeTimeout || call.Took != 10*time.Minute || call.Progress != 28 {
			t.Fatalf("%v after %s with %d progress notifications", err, call.Took, call.Progress)
		}
	})
}

// answeringSink is a sink that answers requests of the server after a delay.
type answeringSink struct{ after time.Duration }

func (answeringSink) Notify(string, json.RawMessage) {}
func (a answeringSink) Ask(ctx context.Context, _ string, _ json.RawMessage) (core.Reply, error) {
	select {
	case <-time.After(a.after):
		return core.Reply{Result: json.RawMessage(`{"action":"accept"}`)}, nil
	case <-ctx.Done():
		return core.Reply{}, ctx.Err()
	}
}

func TestTimeoutPausesDuringClientInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			if _, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"Sure?"}`)); err != nil {
				return core.Reply{}, err
			}
			<-ctx.Done()
			return core.Reply{}, ctx.Err()
		}
		call := toolCall()
		call.Client.Name, call.Session = "cursor", "s1"
		_, err := f.Call(context.Background(), call, answeringSink{100 * time.Second})
		require.Equal(t, core.CodeTimeout, core.CodeOf(err))
		require.Equal(t, 130*time.Second, call.Took)
		asked := f.recorded[0]
		if !asked.FromServer || asked.Method != "elicitation/create" || asked.Client.Name != "cursor" || asked.Session != "s1" ||
			asked.Server != "files" || asked.Outcome != core.OutcomeOK || asked.Took != 100*time.Second || asked.ID == call.ID || asked.Instance != "files#1" {
			t.Fatalf("recorded %+v", asked)
		}
	})
}

func TestClientInputHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			_, err := sink.Ask(ctx, "elicitation/create", nil)
			assert.Equal(t, core.CodeTimeout, core.CodeOf(err), "asking ended")
			return core.Reply{Result: json.RawMessage(`{}`)}, nil
		}
		call := toolCall()
		if _, err := f.Call(context.Background(), call, answeringSink{time.Hour}); err != nil || call.Took != policy.AnswerTimeout+answerGrace {
			t.Fatalf("%v after %s", err, call.Took)
		}
		require.Equal(t, core.OutcomeTimeout, f.recorded[0].Outcome)
	})
}

func TestDisconnectedCallerIsCancelledNotTimedOut(t *testing.T) {
	f := newFixture()
	ctx, cancel := context.WithCancel(context.Background())
	f.send = func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		cancel()
		<-ctx.Done()
		return core.Reply{}, ctx.Err()
	}
	call := toolCall()
	if _, err := f.Call(ctx, call, nil); !errors.Is(err, context.Canceled) || call.Outcome != core.OutcomeCancelled {
		t.Fatalf("%v, %q", err, call.Outcome)
	}
}
