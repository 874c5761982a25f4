package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callWith is a call with these arguments.
func callWith(n int, arguments string) *core.Call {
	c := aCall(n)
	c.Params = []byte(`{"name":"echo","arguments":` + arguments + `}`)
	c.Arguments = core.Span{Start: len(`{"name":"echo","arguments":`), End: len(c.Params) - 1}
	return c
}

func TestPreviewsShowArgumentsAndWhatASearchFound(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	long := strings.Repeat("é lorem ", 500)
	b.Recorder().Record(callWith(0, `{"path":"/tmp/a"}`), textReply(`Dear Ada\nthe INVOICE of May`))
	b.Recorder().Record(callWith(1, `{"text":"`+long+`invoice `+long+`"}`), textReply(`ok`))
	b.Recorder().Record(callWith(2, `{"q":"invoice"}`), textReply(`ok`))
	flushed(t, b)
	ids := []int64{aCall(0).ID, aCall(2).ID, aCall(1).ID, 1}
	for _, packed := range []bool{false, true} {
		if packed {
			packAll(t, b)
		}
		got, err := b.Previews(t.Context(), ids, "")
		if err != nil || len(got) != 3 || string(got[2].Arguments) != `{"path":"/tmp/a"}` || got[2].Match != "" || len(got[1].Arguments) != 4*PreviewBytes {
			t.Fatalf("packed %v: %+v, %v", packed, got, err)
		}
		got, err = b.Previews(t.Context(), ids, "Invoice may*")
		require.NoErrorf(t, err, "packed %v", packed)
		require.Lenf(t, got, 3, "packed %v", packed)
		p := got[2]
		assert.Truef(t, p.InReply && strings.HasSuffix(p.Match, `Dear Ada the INVOICE of May"}]}`), "packed %v: in the reply: %+v", packed, p)
		if p := got[1]; p.InReply || !strings.Contains(p.Match, "lorem invoice é lorem") || len(p.Match) > PreviewBytes {
			t.Errorf("packed %v: in the arguments: %+v", packed, p)
		}
		assert.Emptyf(t, got[0].Match, "packed %v", packed)
	}
	_, err := b.Previews(t.Context(), slices.Repeat(ids, 26), "")
	assert.Equal(t, core.CodeValidation, core.CodeOf(err), "104 ids")
}
