package selfserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"drawbridge/backend/hub"
	"drawbridge/backend/store"
)

type noHistory struct{ err error }

func (h noHistory) Calls(context.Context, store.Query) ([]hub.Call, int64, error) {
	return nil, 0, h.err
}
func (h noHistory) Call(context.Context, int64) (*store.Record, error) { return nil, h.err }

// What goes wrong with us is no answer of a tool: it ends the call with its code, and
// says nothing of its cause to a client. A mistake of the caller is the tool's to tell.
func TestWhatGoesWrongWithUsEndsTheCallWithItsCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code hub.Code // "": a result of the tool
	}{
		"a mistake of ours": {errors.New("no such table: verdict"), hub.CodeInternal},
		"history is paused": {hub.Errorf(hub.CodeUnavailable, "the history cannot be used"), hub.CodeUnavailable},
		"too slow":          {context.DeadlineExceeded, hub.CodeTimeout},
		"wrong arguments":   {hub.Errorf(hub.CodeValidation, "the time is wrong"), ""},
		"no such call":      {hub.Errorf(hub.CodeNotFound, "there is no call 7"), ""},
	} {
		o := NewOwn(Options{History: noHistory{c.err}, Status: func() []hub.ServerStatus { return nil }})
		call := &hub.Call{Method: "tools/call", Name: "history_search", Client: hub.Client{Token: "a"}, Params: []byte(`{}`), Arguments: hub.Span{End: 2}}
		reply, err := o.Send(t.Context(), call, nil)
		message, _ := hub.Describe(err)
		if hub.CodeOf(err) != c.code || err != nil && strings.Contains(message, "table") {
			t.Errorf("%s: %v", name, err)
		}
		if (c.code == "") != strings.Contains(string(reply.Result), `"isError":true`) {
			t.Errorf("%s: %s", name, reply.Result)
		}
	}
}
