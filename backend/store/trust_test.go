package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTrustDefinitionsSurviveRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "h.db")
	b := open(t, path)
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	long := bytes.Repeat([]byte("a definition. "), 500)
	first := Trusted{Kind: "tool", Name: "read", FirstAt: at, AddedLater: true, Hash: []byte{1, 2}, Definition: long}
	require.NoError(t, b.SaveTrust(t.Context(), "files", []Trusted{first}, nil, []TrustEvent{{At: at, Server: "files", Kind: "tool", Name: "read", Action: "new", NewHash: []byte{1, 2}}}))
	changed := first
	changed.Definition, changed.PendingAt, changed.PendingHash, changed.PendingDefinition, changed.PreviousHashes = nil, at.Add(time.Hour), []byte{3}, []byte("new"), []byte{9, 9}
	require.NoError(t, b.SaveTrust(t.Context(), "files", []Trusted{changed}, nil, nil))
	b.stop()
	b = open(t, path)
	list, err := b.Trust(t.Context(), "files")
	require.NoError(t, err)
	require.Len(t, list, 1)
	if got := list[0]; got.Name != "read" || !got.AddedLater || !got.FirstAt.Equal(at) || !got.PendingAt.Equal(at.Add(time.Hour)) || string(got.PendingDefinition) != "new" || !bytes.Equal(got.PreviousHashes, []byte{9, 9}) {
		t.Errorf("came back as %+v", got)
	}
	d, err := b.TrustedDefinition(t.Context(), "files", "tool", "read")
	assert.Truef(t, err == nil && bytes.Equal(d, long), "the definition came back as %d bytes, %v", len(d), err)
	d, err = b.TrustedDefinition(t.Context(), "files", "tool", "other")
	assert.Truef(t, err == nil && d == nil, "a definition that is not there: %q, %v", d, err)
	require.NoError(t, b.SaveTrust(t.Context(), "files", nil, [][2]string{{"tool", "read"}}, nil))
	if list, err := b.Trust(t.Context(), "files"); err != nil || len(list) != 0 {
		t.Errorf("it is still there: %v, %v", list, err)
	}
}

func TestTrustEventsAreBoundedAndPaged(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	var many []TrustEvent
	for n := range 1000 {
		many = append(many, TrustEvent{At: time.Unix(int64(n), 0), Server: fmt.Sprint("s", n%2), Kind: "tool", Name: fmt.Sprint(n), Action: "changed"})
	}
	for range trustEvents/1000 + 3 {
		require.NoError(t, b.SaveTrust(t.Context(), "s", nil, nil, many))
	}
	var n int
	if err := b.withHandle(func(h *handle) error { return h.read.QueryRow(`SELECT count(*) FROM trust_event`).Scan(&n) }); err != nil || n > trustEvents+1000 {
		t.Errorf("%d events are kept, %v", n, err)
	}
	list, next, err := b.TrustEvents(t.Context(), "s1", 0, 10)
	require.Truef(t, err == nil && len(list) == 10 && next != 0 && list[0].Name == "999" && list[9].Server == "s1", "%v %v %v", len(list), next, err)
	more, _, err := b.TrustEvents(t.Context(), "s1", next, 10)
	assert.Truef(t, err == nil && len(more) == 10 && more[0].ID < list[9].ID, "%v %v", more, err)
}
