package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The database of another program is read while that program writes it, and after it has ended; nothing is
// written, and a database that is locked, foreign or hostile is an error.
func TestForeignDatabaseIsOnlyRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "their 100%.db")
	theirs, err := sql.Open("sqlite", dsn(path, "immediate", "journal_mode(wal)"))
	require.NoError(t, err)
	theirs.SetMaxOpenConns(1)
	do := func(statement string) {
		t.Helper()
		if _, err := theirs.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE TABLE a (x, y); INSERT INTO a VALUES ('one', 1), (NULL, x'00')`)
	do(`CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT max(i) FROM n`)
	check := func(when string) {
		t.Helper()
		rows, err := ReadForeign(path, `SELECT * FROM a`)
		assert.Truef(t, err == nil && len(rows) == 2 && rows[0]["x"] == "one" && rows[0]["y"] == int64(1) && rows[1]["x"] == nil, "%s: %v %v", when, rows, err)
	}
	check("while it is open")
	for query, want := range map[string]string{
		`SELECT * FROM endless`:       "deadline exceeded",
		`SELECT zeroblob(1<<23)`:      "too big",
		`INSERT INTO a VALUES (1, 2)`: "readonly",
		`SELECT * FROM none`:          "no such table",
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n`: "more than 10000 rows",
	} {
		if _, err := ReadForeign(path, query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	do(`PRAGMA locking_mode = exclusive; INSERT INTO a VALUES (3, 3); DELETE FROM a WHERE x = 3`)
	_, err = ReadForeign(path, `SELECT * FROM a`)
	assert.ErrorIs(t, err, ErrInUse)
	require.NoError(t, theirs.Close())
	check("after it was closed")
	left, _ := os.ReadDir(dir)
	assert.Len(t, left, 1, "files were created")
	for name, text := range map[string]string{"short": "SQLite", "other": strings.Repeat("x", 100)} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := ReadForeign(path, `SELECT 1`); err == nil || !strings.Contains(err.Error(), "not an SQLite database") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = ReadForeign(dir, `SELECT 1`)
	assert.Error(t, err, "a folder was read")
}
