package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
)

type noHistory struct{ err error }

func (h noHistory) Calls(context.Context, store.Query) ([]core.Call, int64, error) {
	return nil, 0, h.err
}
func (h noHistory) Call(context.Context, int64) (*store.Record, error) { return nil, h.err }

// An internal failure is not a tool result: it ends the call with an error code and does not
// reveal the cause to the client. A mistake of the caller is a tool result.
func TestInternalErrorEndsCallWithItsCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code core.Code // "": returned as a tool result
	}{
		"a mistake of ours": {errors.New("no such table: verdict"), core.CodeInternal},
		"history is paused": {core.Errorf(core.CodeUnavailable, "cannot use the history"), core.CodeUnavailable},
		"too slow":          {context.DeadlineExceeded, core.CodeTimeout},
		"wrong arguments":   {core.Errorf(core.CodeValidation, "the time is wrong"), ""},
		"no such call":      {core.Errorf(core.CodeNotFound, "there is no call 7"), ""},
	} {
		o := NewServer(Options{History: noHistory{c.err}, Status: func() []core.ServerStatus { return nil }})
		call := &core.Call{Method: "tools/call", Name: "history_search", Client: core.Client{Token: "a"}, Params: []byte(`{}`), Arguments: core.Span{End: 2}}
		reply, err := o.Send(t.Context(), call, nil)
		message, _ := core.Describe(err)
		assert.Truef(t, core.CodeOf(err) == c.code && !(err != nil && strings.Contains(message, "table")), "%s: %v", name, err)
		assert.Equal(t, strings.Contains(string(reply.Result), `"isError":true`), c.code == "", name)
	}
}
