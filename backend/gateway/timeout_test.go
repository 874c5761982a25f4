package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/policy"
)

func TestSilentServerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.wait = time.Minute // a slow start is not the call's own time
		f.send = func(ctx context.Context, _ *hub.Call, _ hub.Sink) (hub.Reply, error) {
			<-ctx.Done()
			return hub.Reply{}, ctx.Err()
		}
		call := toolCall()
		_, err := f.Call(context.Background(), call, nil)
		if hub.CodeOf(err) != hub.CodeTimeout || call.Outcome != hub.OutcomeTimeout || call.Took != 90*time.Second || call.Queued != time.Minute {
			t.Fatalf("%v; %+v", err, call)
		}
		if message, hint := hub.Describe(err); message != `server "files" did not answer tool "read" within 30s (requestTimeoutMs)` || hint == "" {
			t.Fatalf("%s / %s", message, hint)
		}
	})
}

func TestProgressResetsTheTimeoutUpToTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *hub.Call, sink hub.Sink) (hub.Reply, error) {
			for {
				select {
				case <-ctx.Done():
					return hub.Reply{}, ctx.Err()
				case <-time.After(21 * time.Second):
					sink.Notify("notifications/progress", nil)
				}
			}
		}
		call := toolCall()
		_, err := f.Call(context.Background(), call, nil)
		if hub.CodeOf(err) != hub.CodeTimeout || call.Took != 10*time.Minute || call.Progress != 28 {
			t.Fatalf("%v after %s with %d progress notifications", err, call.Took, call.Progress)
		}
	})
}

// asker answers requests of the server after a while.
type asker struct{ after time.Duration }

func TestTheClockStandsWhileTheClientIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *hub.Call, sink hub.Sink) (hub.Reply, error) {
			if _, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"Sure?"}`)); err != nil {
				return hub.Reply{}, err
			}
			<-ctx.Done()
			return hub.Reply{}, ctx.Err()
		}
		call := toolCall()
		call.Client.Name, call.Session = "cursor", "s1"
		_, err := f.Call(context.Background(), call, asker{100 * time.Second})
		if hub.CodeOf(err) != hub.CodeTimeout || call.Took != 130*time.Second {
			t.Fatalf("%v after %s", err, call.Took)
		}
		asked := f.recorded[0]
		if !asked.FromServer || asked.Method != "elicitation/create" || asked.Client.Name != "cursor" || asked.Session != "s1" ||
			asked.Server != "files" || asked.Outcome != hub.OutcomeOK || asked.Took != 100*time.Second || asked.ID == call.ID || asked.Instance != "files#1" {
			t.Fatalf("recorded %+v", asked)
		}
	})
}

func TestAClientThatDoesNotAnswerHasADeadlineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.send = func(ctx context.Context, _ *hub.Call, sink hub.Sink) (hub.Reply, error) {
			_, err := sink.Ask(ctx, "elicitation/create", nil)
			if hub.CodeOf(err) != hub.CodeTimeout {
				t.Errorf("asking ended with %v", err)
			}
			return hub.Reply{Result: json.RawMessage(`{}`)}, nil
		}
		call := toolCall()
		if _, err := f.Call(context.Background(), call, asker{time.Hour}); err != nil || call.Took != policy.AnswerTimeout+grace {
			t.Fatalf("%v after %s", err, call.Took)
		}
		if f.recorded[0].Outcome != hub.OutcomeTimeout {
			t.Fatalf("recorded %+v", f.recorded[0])
		}
	})
}

func TestACallerThatGivesUpIsCancelledNotTimedOut(t *testing.T) {
	f := newFixture()
	ctx, cancel := context.WithCancel(context.Background())
	f.send = func(ctx context.Context, _ *hub.Call, _ hub.Sink) (hub.Reply, error) {
		cancel()
		<-ctx.Done()
		return hub.Reply{}, ctx.Err()
	}
	call := toolCall()
	if _, err := f.Call(ctx, call, nil); !errors.Is(err, context.Canceled) || call.Outcome != hub.OutcomeCancelled {
		t.Fatalf("%v, %q", err, call.Outcome)
	}
}
