package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

type noHistory struct{ err error }

func (h noHistory) Calls(context.Context, store.Query) ([]core.Call, int64, error) {
	return nil, 0, h.err
}
func (h noHistory) Call(context.Context, int64) (*store.Record, error) { return nil, h.err }

// What goes wrong with us is not an answer of a tool: it ends the call with its code, and
// says nothing of its cause to a client. A mistake of the caller is the tool's to tell.
func TestInternalErrorEndsCallWithItsCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code core.Code // "": a result of the tool
	}{
		"a mistake of ours": {errors.New("no such table: verdict"), core.CodeInternal},
		"history is paused": {core.Errorf(core.CodeUnavailable, "the history cannot be used"), core.CodeUnavailable},
		"too slow":          {context.DeadlineExceeded, core.CodeTimeout},
		"wrong arguments":   {core.Errorf(core.CodeValidation, "the time is wrong"), ""},
		"no such call":      {core.Errorf(core.CodeNotFound, "there is no call 7"), ""},
	} {
		o := NewOwn(Options{History: noHistory{c.err}, Status: func() []core.ServerStatus { return nil }})
		call := &core.Call{Method: "tools/call", Name: "history_search", Client: core.Client{Token: "a"}, Params: []byte(`{}`), Arguments: core.Span{End: 2}}
		reply, err := o.Send(t.Context(), call, nil)
		message, _ := core.Describe(err)
		if core.CodeOf(err) != c.code || err != nil && strings.Contains(message, "table") {
			t.Errorf("%s: %v", name, err)
		}
		if (c.code == "") != strings.Contains(string(reply.Result), `"isError":true`) {
			t.Errorf("%s: %s", name, reply.Result)
		}
	}
}
