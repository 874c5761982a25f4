package history

import (
	"context"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

type answers string

func (a answers) Call(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	call.Outcome = core.OutcomeOK
	return core.Reply{Result: []byte(a)}, nil
}

// TestExpectedTextMayEndInQuote and not only the backslash before it.
func TestExpectedTextMayEndInQuote(t *testing.T) {
	t.Parallel()
	step := Step{Server: "files", Tool: "read", Expect: Expect{Contains: []string{`say "hi"`}}}
	for answer, want := range map[string]bool{
		`{"content":[{"type":"text","text":"say \"hi\""}]}`: true,
		`{"content":[{"type":"text","text":"say \"hi\n"}]}`: false,
	} {
		assert.Equal(t, want, step.run(t.Context(), answers(answer), core.Client{}).OK, answer)
	}
}
