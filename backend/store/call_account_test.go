package store

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallsKnowWhichAccountTheyUsed(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer b.stop()
	accounts := []string{"", "default", "work", "work", "home"}
	for i, account := range accounts {
		c := aCall(i)
		if i%2 == 0 {
			c.Progress = 0 // written by another statement unless it has an account
		}
		c.Account = account
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	for i, want := range accounts {
		got, err := b.Call(t.Context(), aCall(i).ID)
		require.NoErrorf(t, err, "call %d", i)
		require.Equalf(t, want, got.Account, "call %d", i)
	}
	for account, want := range map[string][]int64{"work": {aCall(3).ID, aCall(2).ID}, "default": {aCall(1).ID}, "gone": nil} {
		calls, _, err := b.Calls(t.Context(), Query{Account: account})
		ids := slices.Collect(func(yield func(int64) bool) {
			for _, c := range calls {
				if !yield(c.ID) {
					return
				}
			}
		})
		assert.NoError(t, err, account)
		assert.Equal(t, want, ids, account)
	}
	u, err := b.Facets(t.Context(), Query{Account: "work"})
	assert.Truef(t, err == nil && u.Total == 2, "facets: %+v, %v", u, err)
}
