package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A batch is written again if its commit succeeded but was reported as failed.
func TestCallIsWrittenAndCountedOnce(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	for range 2 {
		record(t, s, 0, 40)
		s.Recorder().Flush(t.Context())
	}
	s.Recorder().Record(aCall(41), aReply)
	assert.Equal(t, 41, count(t, s))
	u, err := s.Usage(t.Context(), UsageQuery{From: aCall(0).At, To: aCall(60_000).At})
	require.NoError(t, err)
	require.EqualValues(t, 41, u.Total.Calls)
	st := s.Recorder().Stats()
	assert.Truef(t, st.Dropped <= 0, "%+v", st)
}

// Calls with common values are inserted by separate statements.
func TestUnusualCallsRoundTrip(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	long := core.Reply{Result: []byte(`{"text":"` + strings.Repeat("more of it; ", MaxField/10) + `"}`)}
	packed := core.Reply{Result: []byte(`{"text":"` + strings.Repeat("more of it; ", 1000) + `"}`)}
	refused := core.Reply{Error: []byte(`{"code":-1,"message":"no"}`)}
	var want []*core.Call
	for n, but := range []func(*core.Call, *core.Reply){
		func(*core.Call, *core.Reply) {},
		func(c *core.Call, _ *core.Reply) { c.Session = "" },
		func(c *core.Call, _ *core.Reply) { c.Workspace = "/home/somebody" },
		func(c *core.Call, _ *core.Reply) { c.FromServer = true },
		func(c *core.Call, _ *core.Reply) { c.Era = core.Legacy },
		func(c *core.Call, _ *core.Reply) { c.Code, c.Outcome = core.CodeTimeout, core.OutcomeTimeout },
		func(c *core.Call, _ *core.Reply) { c.Outcome, c.Reason = core.OutcomeToolError, "it failed" },
		func(c *core.Call, _ *core.Reply) { c.Attempts = 2 },
		func(c *core.Call, _ *core.Reply) { c.Attempts = 0 },
		func(c *core.Call, _ *core.Reply) { c.Progress = 3 },
		func(c *core.Call, _ *core.Reply) { c.TraceID = "abc" },
		func(c *core.Call, _ *core.Reply) { c.Shim = "shim-1" },
		func(_ *core.Call, r *core.Reply) { *r = refused },
		func(_ *core.Call, r *core.Reply) { *r = long },
		func(_ *core.Call, r *core.Reply) { *r = packed },
	} {
		c, reply := aCall(n), aReply
		c.Progress, c.TraceID, c.Shim = 0, "", ""
		but(c, &reply)
		want = append(want, c)
		s.Recorder().Record(c, reply)
	}
	s.Recorder().Flush(t.Context())
	last, err := s.LastCallID(t.Context())
	assert.Truef(t, err == nil && last == want[len(want)-1].ID, "LastCallID = %d, %v", last, err)
	for digits, code := range map[string]core.Code{"01000": "", "1000": core.CodeValidation, "0007": core.CodeNotFound} {
		if id, err := s.CallWithSuffix(t.Context(), digits); core.CodeOf(err) != code || code == "" && (err != nil || id != aCall(1).ID) {
			t.Errorf("the suffix %s finds %d, %v", digits, id, err)
		}
	}
	_, err = s.Call(t.Context(), 5)
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "an unknown call")
	for n, w := range want {
		got, err := s.Call(t.Context(), w.ID)
		require.NoErrorf(t, err, "call %d", n)
		plain := *w
		plain.Params, plain.Arguments = nil, core.Span{}
		assert.Equalf(t, fmt.Sprintf("%+v", plain), fmt.Sprintf("%+v", got.Call), "call %d", n)
		assert.Equalf(t, string(w.Params[w.Arguments.Start:w.Arguments.End]), string(got.Arguments), "call %d", n)
		switch cut := len(got.Result) < len(long.Result); {
		case n == 12 && string(got.Error) != string(refused.Error), n != 12 && got.Error != nil:
			t.Errorf("call %d: error %q", n, got.Error)
		case n == 13 && (!cut || len(got.Result) < MaxField-8), n == 14 && string(got.Result) != string(packed.Result), n < 12 && string(got.Result) != string(aReply.Result):
			t.Errorf("call %d: result of %d bytes", n, len(got.Result))
		}
	}
}

func TestErrorTextIsCut(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	c := aCall(0)
	c.Reason = strings.Repeat("é", MaxError-4) + " token=ghp_cnry17A1b2C3d4E5f6G7h8I9j0 and more"
	b.Recorder().Record(c, aReply)
	flushed(t, b)
	r, err := b.Call(t.Context(), c.ID)
	if err != nil || utf8.RuneCountInString(r.Reason) != MaxError || !utf8.ValidString(r.Reason) || strings.Contains(r.Reason, "ghp") {
		t.Errorf("%d characters are kept, %v", utf8.RuneCountInString(r.Reason), err)
	}
}

// A long payload is hashed completely, and truncated before it is queued: the queue is bounded by
// the truncated payloads.
func TestLongPayloadIsHashedAndTruncatedBeforeItIsQueued(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	r := s.Recorder() // its Run is not running yet
	c := aCall(0)
	c.Params = []byte(`{"name":"x","arguments":{"text":"` + strings.Repeat("a", 1<<20) + `"}}`)
	c.Arguments = core.Span{Start: 23, End: len(c.Params) - 1}
	arguments := sha256.Sum256(c.Params[c.Arguments.Start:c.Arguments.End])
	reply := core.Reply{Result: bytes.Repeat([]byte("x"), 1<<20)}
	result := sha256.Sum256(reply.Result)
	r.Record(c, reply)
	clear(c.Params) // Record retains neither
	clear(reply.Result)
	assert.Truef(t, r.bytes <= 2*MaxField, "%d bytes are queued", r.bytes)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = r.Run(ctx) // writes the queue
	got, err := s.Call(t.Context(), c.ID)
	if err != nil || got.ReplyCut == nil || !bytes.Equal(got.ReplyCut.Hash, result[:]) || got.ReplyCut.Size != 1<<20 {
		t.Errorf("the result is %+v, %v", got.ReplyCut, err)
	}
	cut := got.ArgumentsCut
	assert.Truef(t, cut != nil && bytes.Equal(cut.Hash, arguments[:]) && cut.Size == c.Arguments.End-c.Arguments.Start, "the arguments are %+v", cut)
}

func TestLongPayloadIsCutAndMarked(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	whole := []byte(`{"text":"` + strings.Repeat("é", MaxField) + `","password":"` + canary + `"}`)
	straddling := `{"text":"` + strings.Repeat("x", MaxField-20) + ` ghp_` + strings.Repeat("a1", 20) + canary + `"}`
	c := aCall(1)
	c.Params, c.Arguments = []byte(straddling), core.Span{End: len(straddling)}
	b.Recorder().Record(c, core.Reply{Result: whole})
	got, err := b.Call(t.Context(), c.ID)
	require.NoError(t, err)
	if len(got.Result) > MaxField || len(got.Result) < MaxField-4 || !strings.HasSuffix(string(got.Result), "é") {
		t.Errorf("%d bytes are kept, ending in %q", len(got.Result), got.Result[len(got.Result)-4:])
	}
	if got.ReplyCut == nil || got.ReplyCut.Size != len(whole) || len(got.ReplyCut.Hash) != 32 {
		t.Errorf("the cut is %+v", got.ReplyCut)
	}
	require.NotContains(t, string(got.Arguments), "ghp_a1", "a secret across the cut is kept")
	require.NotNil(t, got.ArgumentsCut, "a secret across the cut is kept")
}
