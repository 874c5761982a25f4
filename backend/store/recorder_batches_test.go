package store

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aBatch returns batchRows calls of one session, beginning with number n.
func aBatch(n int, session string) []entry {
	batch := make([]entry, batchRows)
	for i := range batch {
		payload := []byte(`{"n":1}{"content":[]}`)
		batch[i] = entry{call: *aCall(n + i), payload: payload, arguments: 7}
		batch[i].call.Params, batch[i].call.Arguments = nil, core.Span{}
		batch[i].call.Session = session
	}
	return batch
}

// TestAbandonedBatchIsRolledBackWhole cancels batches at random moments, as a shutdown does: a
// cancelled batch is rolled back completely, and can be written later.
func TestAbandonedBatchIsRolledBackWhole(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	written := func(round int) (calls, bodies, named int) {
		t.Helper()
		first := aCall(round * batchRows).ID
		err := b.withHandle(func(h *handle) error {
			return h.read.QueryRow(`SELECT (SELECT count(*) FROM call WHERE id >= ?1), (SELECT count(*) FROM body WHERE id >= ?1),
				(SELECT count(*) FROM call JOIN session s ON s.id = session_id WHERE call.id >= ?1)`, first).Scan(&calls, &bodies, &named)
		})
		require.NoError(t, err)
		return calls, bodies, named
	}
	took, givenUp := 5*time.Millisecond, 0
	const rounds = 12
	for round := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(rand.N(took), cancel)
		began := time.Now()
		batch := aBatch(round*batchRows, time.Now().String())
		if err := b.write(ctx, batch); err != nil {
			givenUp++
			if calls, bodies, _ := written(round); calls+bodies > 0 {
				t.Fatalf("round %d: %d calls and %d payloads are there of a batch that was given up", round, calls, bodies)
			}
			for i := range batch {
				batch[i].retried = true
			}
			require.NoError(t, b.write(t.Context(), batch))
		} else {
			took = time.Since(began)
		}
		if timer.Stop() {
			took = time.Since(began)
		} else if givenUp == round+1 {
			took *= 2 // no batch has been written yet
		}
		cancel()
		if calls, bodies, named := written(round); calls != batchRows || bodies != batchRows || named != batchRows {
			t.Fatalf("round %d: %d calls, %d payloads, %d with a session are there of %d", round, calls, bodies, named, batchRows)
		}
	}
	assert.NotEqual(t, 0, givenUp, "no batch was given up")
	usage, err := b.Usage(t.Context(), UsageQuery{From: aCall(0).At.Add(-time.Hour), To: aCall(0).At.Add(24 * time.Hour)})
	require.NoError(t, err)
	assert.EqualValues(t, rounds*batchRows, usage.Total.Calls)
	requireIntegrity(t, b)
}
