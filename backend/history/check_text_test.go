package history

import (
	"context"
	"testing"

	"drawbridge/backend/hub"
)

type answers string

func (a answers) Call(_ context.Context, call *hub.Call, _ hub.Sink) (hub.Reply, error) {
	call.Outcome = hub.OutcomeOK
	return hub.Reply{Result: []byte(a)}, nil
}

// TestExpectedTextThatEndsInAQuoteNeedsTheQuote and not only the backslash before it.
func TestExpectedTextThatEndsInAQuoteNeedsTheQuote(t *testing.T) {
	t.Parallel()
	step := Step{Server: "files", Tool: "read", Expect: Expect{Contains: []string{`say "hi"`}}}
	for answer, want := range map[string]bool{
		`{"content":[{"type":"text","text":"say \"hi\""}]}`: true,
		`{"content":[{"type":"text","text":"say \"hi\n"}]}`: false,
	} {
		if r := step.run(t.Context(), answers(answer), hub.Client{}); r.OK != want {
			t.Errorf("%s: %v", answer, r.Wrong)
		}
	}
}
