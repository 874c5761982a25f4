package history

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompareReportsEveryDifference(t *testing.T) {
	a := `{"n":1.0,"same":[1,2],"list":[1,2,3],"gone":null,"a/b":"x","deep":{"k":12345678901234567890}}`
	b := `{"n":1.00,"same":[1,2],"list":[1,5],"new":true,"a/b":"y","deep":{"k":12345678901234567891}}`
	changes, more := Compare([]byte(a), []byte(b))
	var got []string
	for _, c := range changes {
		got = append(got, c.Kind+" "+c.Path+" "+c.Before+">"+c.After)
	}
	want := "changed /a~1b \"x\">\"y\"\nchanged /deep/k 12345678901234567890>12345678901234567891\nremoved /gone null>\nchanged /list/1 2>5\nremoved /list/2 3>\nchanged /n 1.0>1.00\nadded /new >true"
	assert.Truef(t, strings.Join(got, "\n") == want && !more, "got\n%s", strings.Join(got, "\n"))
	if changes, _ := Compare([]byte(`{"cut of`), []byte(`{"a":1}`)); len(changes) != 1 || changes[0].Before != `"{\"cut of"` {
		t.Errorf("a text that was cut: %+v", changes)
	}
	if changes, _ := Compare(nil, nil); len(changes) != 0 {
		t.Errorf("nothing: %+v", changes)
	}
}

func TestCSVFormulasAreEscaped(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\t=1": "'\t=1", "＝1": "'＝1", "a=1": "a=1", "": "", "1": "1", "a\x00b": "a\ufffdb", "\x00=1": "\ufffd=1",
	} {
		assert.Equalf(t, want, escapeCell(cell), "%q", cell)
	}
}

// TestExportContainsEveryCallOnceWithoutSecrets writes more calls than one page has.
func TestExportContainsEveryCallOnceWithoutSecrets(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Recorder().Run(ctx) }()
	defer func() { cancel(); <-done; _ = s.Close() }()
	now := time.Now()
	for i := range 2*exportPage + 7 {
		at := now.Add(time.Duration(i) * time.Millisecond)
		s.Recorder().Record(&core.Call{ID: at.UnixMicro(), At: at, Server: "files", Method: "tools/call", Name: "echo", Outcome: core.OutcomeOK},
			core.Reply{Result: []byte(`{"password":"qwxSecret","url":"https://me:qwxSecret@x.org/?token=qwxSecret"}`)})
	}
	s.Recorder().Flush(t.Context())
	for limit, want := range map[int]int{0: 2*exportPage + 7, 3: 3, exportPage + 1: exportPage + 1} {
		var jsonl, csv bytes.Buffer
		require.NoError(t, JSONL(t.Context(), &jsonl, s, store.Query{Limit: limit}))
		require.NoError(t, CSV(t.Context(), &csv, s, store.Query{Limit: limit}))
		a, b := strings.Count(jsonl.String(), "\n"), strings.Count(csv.String(), "\n")-1
		assert.Truef(t, a == want && b == want, "limit %d: %d and %d lines", limit, a, b)
		assert.NotContains(t, jsonl.String()+csv.String(), "qwxSecret", "a secret is written out")
	}
}
