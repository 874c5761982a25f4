package store

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// later is a time at which all calls of aCall are old enough to be packed.
func later() time.Time { return aCall(0).At.Add(24 * time.Hour) }

func longReply(n int) core.Reply {
	return core.Reply{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":"answer%d %s"}]}`, n, strings.Repeat("words that stand in every answer ", 20))}
}

// unpackedHistory returns a history with n indexed calls that are old enough to be packed.
func unpackedHistory(t *testing.T, n int) *testStore {
	t.Helper()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	for i := range n {
		b.Recorder().Record(aCall(i), longReply(i))
	}
	indexed(t, b)
	return b
}

// packedHistory returns a history with n calls whose payloads are all in blocks.
func packedHistory(t *testing.T, n int) *testStore {
	t.Helper()
	b := unpackedHistory(t, n)
	packAll(t, b)
	return b
}

func packAll(t *testing.T, b *testStore) {
	t.Helper()
	for {
		more, err := b.packStep(t.Context())
		require.NoError(t, err)
		if !more {
			return
		}
	}
}

func countPayloadBlocks(t *testing.T, b *testStore) (packs, calls, loose int) {
	t.Helper()
	err := b.withHandle(func(h *handle) error {
		return h.read.QueryRow(`SELECT (SELECT count(*) FROM payload_block), (SELECT coalesce(sum(calls), 0) FROM payload_block), (SELECT count(*) FROM body WHERE arguments_enc <> 3)`).Scan(&packs, &calls, &loose)
	})
	require.NoError(t, err)
	return packs, calls, loose
}

func TestPackedCallsReadAsRecorded(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	for i := range 300 {
		c := aCall(i)
		c.Reason = fmt.Sprint("because ", i)
		b.Recorder().Record(c, longReply(i))
	}
	indexed(t, b)
	before, err := b.Call(t.Context(), aCall(150).ID)
	require.NoError(t, err)
	packAll(t, b)
	after, err := b.Call(t.Context(), aCall(150).ID)
	assert.Truef(t, err == nil && reflect.DeepEqual(before, after), "a call was\n%+v\nand is\n%+v\n%v", before, after, err)
	if packs, calls, loose := countPayloadBlocks(t, b); packs < 3 || packs > 20 || calls != 300 || loose != 0 {
		t.Fatalf("%d packs hold %d calls, %d are not packed", packs, calls, loose)
	}
	for _, n := range []int{0, 63, 64, 150, 299} {
		r, err := b.Call(t.Context(), aCall(n).ID)
		if err != nil || string(r.Arguments) != fmt.Sprintf(`{"n":%d}`, n) || !bytes.Equal(r.Result, longReply(n).Result) || r.Error != nil {
			t.Errorf("call %d came back as %s, %s, %v", n, r.Arguments, r.Result, err)
		}
	}
	got, _, err := b.Calls(t.Context(), Query{Text: "answer77 every"})
	assert.Truef(t, err == nil && len(got) == 1 && got[0].ID == aCall(77).ID, "a packed call is found as %v, %v", got, err)
	requireIntegrity(t, b)
	b.stop()
	again := openAt(t, b.path, later)
	r, err := again.Call(t.Context(), aCall(5).ID)
	assert.Truef(t, err == nil && bytes.Equal(r.Result, longReply(5).Result), "after a start a packed call came back as %v, %v", r, err)
}

func TestRecentAndUnindexedCallsAreNotPacked(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return aCall(0).At.Add(minPackAge / 2) })
	for i := range 10 {
		b.Recorder().Record(aCall(i), longReply(i))
	}
	indexed(t, b)
	packAll(t, b)
	packs, _, loose := countPayloadBlocks(t, b)
	assert.Truef(t, packs == 0 && loose == 10, "%d packs of young calls, %d loose", packs, loose)
}

func TestPackingHalvesSize(t *testing.T) {
	t.Parallel()
	b := unpackedHistory(t, 2000)
	room := func() (used int64) {
		size, err := b.Size(t.Context())
		require.NoError(t, err)
		err = b.withHandle(func(h *handle) error {
			return h.read.QueryRow(`SELECT sum(pgsize) FROM dbstat WHERE name IN ('body', 'payload_block')`).Scan(&used)
		})
		require.NoError(t, err)
		t.Logf("%d bytes of payloads, %+v", used, size)
		return used
	}
	before := room()
	packAll(t, b)
	after := room()
	assert.Truef(t, after <= before*2/3, "payloads took %d bytes and take %d packed", before, after)
	for { // returns the freed pages to the file system
		more, err := b.vacuumStep(t.Context())
		require.NoError(t, err)
		if !more {
			break
		}
	}
	requireIntegrity(t, b)
}

// TestErasedPayloadsAreInNoBlock decompresses every remaining block.
func TestErasedPayloadsAreInNoBlock(t *testing.T) {
	t.Parallel()
	b := packedHistory(t, 200)
	gone := Selection{IDs: []int64{aCall(3).ID, aCall(70).ID, aCall(199).ID}}
	for n := 100; n < 164; n++ { // most calls of a block
		gone.IDs = append(gone.IDs, aCall(n).ID)
	}
	if n, err := b.Erase(t.Context(), gone); err != nil || n != int64(len(gone.IDs)) {
		t.Fatal(n, err)
	}
	err := b.withHandle(func(h *handle) error {
		rows, err := h.read.Query(`SELECT data FROM payload_block`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				return err
			}
			raw, err := payload.DecompressBlock(data)
			if err != nil {
				return err
			}
			for _, n := range []int{3, 70, 100, 130, 163, 199} {
				assert.Falsef(t, bytes.Contains(raw, fmt.Appendf(nil, "answer%d ", n)), "call %d was erased and is in a pack", n)
			}
		}
		return rows.Err()
	})
	require.NoError(t, err)
	for _, n := range []int{2, 71, 99, 164, 198} {
		if r, err := b.Call(t.Context(), aCall(n).ID); err != nil || !bytes.Equal(r.Result, longReply(n).Result) {
			t.Errorf("call %d, which stayed, came back as %v, %v", n, r, err)
		}
	}
	requireIntegrity(t, b)
}

func TestPruningDeletesPayloadBlocks(t *testing.T) {
	t.Parallel()
	b := packedHistory(t, 400)
	if n, err := b.Prune(t.Context(), RetentionLimits{Age: -1, Bytes: -1, Rows: 30}); err != nil || n != 370 {
		t.Fatal(n, err)
	}
	if packs, calls, _ := countPayloadBlocks(t, b); packs > 2 || calls != 30 {
		t.Errorf("%d packs with %d calls are left of 30 calls", packs, calls)
	}
	err := b.withHandle(func(h *handle) error { // with all their words
		var n int
		err := h.write.QueryRow(`SELECT count(*) FROM search WHERE search MATCH 'every'`).Scan(&n)
		assert.Equal(t, 30, n, "the index")
		return err
	})
	require.NoError(t, err)
	for _, word := range []string{"answer5", "answer369"} {
		if got, _, err := b.Calls(t.Context(), Query{Text: word}); err != nil || len(got) != 0 {
			t.Errorf("search still finds %s: %v, %v", word, got, err)
		}
	}
	requireIntegrity(t, b)
}

// TestCallErasedDuringPackingLeavesNoPayload erases a call after its payload was read for a block
// and before the block is written.
func TestCallErasedDuringPackingLeavesNoPayload(t *testing.T) {
	t.Parallel()
	b := unpackedHistory(t, 10)
	var read blockBuilder
	for i := range 10 {
		read.add(aCall(i).ID, storedPayload{}, storedPayload{data: longReply(i).Result})
	}
	if _, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(4).ID}}); err != nil {
		t.Fatal(err)
	}
	err := b.transact(t.Context(), func(ctx context.Context, tx *transaction) error { return read.save(ctx, tx, []byte("x"), later()) })
	assert.ErrorIs(t, err, errCallDeleted, "a pack with an erased call was written")
	packs, _, loose := countPayloadBlocks(t, b)
	assert.Truef(t, packs == 0 && loose == 9, "%d packs, %d calls that are not packed", packs, loose)
}
