package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// oldHistory returns a copy of a database with 120 calls that the version with this schema wrote.
func oldHistory(t *testing.T, schema int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("testdata/history-v%d.db", schema))
	must(t, err)
	path := filepath.Join(t.TempDir(), "history.db")
	must(t, os.WriteFile(path, data, 0o600))
	return path
}

// requireMigratedHistory fails the test unless the database contains everything of oldHistory.
func requireMigratedHistory(t *testing.T, path string) {
	t.Helper()
	b := open(t, path)
	defer b.stop()
	if n := count(t, b); n != 120 {
		t.Fatalf("%d of 120 calls are there", n)
	}
	indexed(t, b)
	got, _, err := b.Calls(t.Context(), Query{Text: "number7 second"})
	if err != nil || len(got) != 1 || got[0].ID != aCall(7).ID {
		t.Fatalf("a call of before is found as %v, %v", got, err)
	}
	day := aCall(0).At
	u, err := b.Usage(t.Context(), UsageQuery{From: day.Add(-time.Hour), To: day.Add(time.Hour)})
	if err != nil || u.Total.Calls != 120 || u.Total.Errors != 12 {
		t.Fatalf("calls of before are counted as %+v, %v", u, err)
	}
	if v, ok, err := b.Metadata(t.Context(), "a"); err != nil || !ok || string(v) != "b" {
		t.Fatalf("a fact came back as %q, %v", v, err)
	}
	requireIntegrity(t, b)
}

// indexed waits until every call is indexed.
func indexed(t testing.TB, b *testStore) {
	t.Helper()
	flushed(t, b)
	eventually.True(t, "the index has every call", func() bool {
		st, err := b.Index(t.Context())
		return err == nil && st.Pending == 0 && st.UpTo.IsZero()
	})
}

// requireIntegrity fails the test unless file and index pass their integrity checks.
func requireIntegrity(t testing.TB, b *testStore) {
	t.Helper()
	err := b.withHandle(func(h *handle) error {
		var said string
		// Not on a connection for reading: its snapshot may be older than a merge of the index.
		if err := h.write.QueryRow(`PRAGMA integrity_check`).Scan(&said); err != nil || said != "ok" {
			t.Errorf("the file is not sound: %s, %v", said, err)
		}
		_, err := h.write.Exec(`INSERT INTO search (search) VALUES ('integrity-check')`)
		return err
	})
	if err != nil {
		t.Errorf("the index is not sound: %v", err)
	}
}

// Each step of a migration is announced, and none if there is nothing to migrate.
func TestStepsOfAMigrationAreAnnounced(t *testing.T) {
	t.Parallel()
	path := oldHistory(t, 8)
	var told []string
	for range 2 {
		s, err := Open(t.Context(), Options{Path: path, Migrating: func(step, steps int) { told = append(told, fmt.Sprint(step, "/", steps)) }})
		must(t, err)
		must(t, s.Close())
	}
	steps := newestSchema(t) - 8
	if len(told) != steps || told[0] != fmt.Sprint("1/", steps) || told[steps-1] != fmt.Sprint(steps, "/", steps) {
		t.Errorf("announced %q, want %d steps", told, steps)
	}
	requireMigratedHistory(t, path)
}

func TestEveryOlderSchemaIsMigrated(t *testing.T) {
	t.Parallel()
	for schema := 1; schema < newestSchema(t); schema++ {
		path := oldHistory(t, schema)
		requireMigratedHistory(t, path)
		if schema < 2 {
			continue
		}
		b := open(t, path)
		got, err := b.Call(t.Context(), aCall(7).ID)
		if err != nil || got.Note.Title != "a title" || got.Note.Text != "a note" || !slices.Equal(got.Note.Tags, []string{"kept"}) {
			t.Errorf("schema %d: a note came back as %+v, %v", schema, got.Note, err)
		}
		if checks, err := b.SavedChecks(t.Context()); err != nil || len(checks) != 1 {
			t.Errorf("schema %d: %d checks, %v", schema, len(checks), err)
		}
		b.stop()
	}
}

// TestHistoryIsCopiedBeforeMigration opens a history of an earlier version, and checks that its
// copy can be used by that version, and that erased calls do not remain in it.
func TestHistoryIsCopiedBeforeMigration(t *testing.T) {
	t.Parallel()
	path := oldHistory(t, newestSchema(t)-1)
	requireMigratedHistory(t, path)
	kept := migrationCopy(path)
	db := otherProgram(t, kept, "immediate")
	var schema, calls int
	if err := db.QueryRow(`SELECT (SELECT max(version_id) FROM schema_version), (SELECT count(*) FROM call)`).Scan(&schema, &calls); err != nil || schema != newestSchema(t)-1 || calls != 120 {
		t.Errorf("the copy has schema %d and %d calls, %v", schema, calls, err)
	}
	_ = db.Close()
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	b := open(t, path)
	defer b.stop()
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a start without a migration lost the copy: %v", err)
	}
	if _, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(7).ID}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("the copy still contains an erased call")
	}
}

// TestNewHistoryIsNotCopied: only an existing file has something to lose.
func TestNewHistoryIsNotCopied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	open(t, path).stop()
	if _, err := os.Stat(migrationCopy(path)); err == nil {
		t.Error("an empty history was copied")
	}
}

// TestRenamedStateSurvivesMigration opens a history whose clock state, late calls and reserved file
// have the names of schema 7.
func TestRenamedStateSurvivesMigration(t *testing.T) {
	t.Parallel()
	path := oldHistory(t, 7)
	db := otherProgram(t, path, "immediate")
	jumped := aCall(0).At.Add(time.Hour)
	for key, value := range map[string]string{"aging": `{"JumpedAt":"` + jumped.Format(time.RFC3339) + `"}`, "moved": "7 9"} {
		if _, err := db.Exec(`INSERT INTO fact (key, value, saved_at) VALUES (?, CAST(? AS BLOB), 0)`, key, value); err != nil {
			t.Fatal(err)
		}
	}
	_ = db.Close()
	must(t, os.WriteFile(path+".ballast", []byte("x"), 0o600))
	b, err := Open(t.Context(), Options{Path: path})
	must(t, err)
	defer func() { _ = b.Close() }()
	if m := b.lateCalls.Load(); m == nil || *m != (clockSetBackRange{7, 9}) {
		t.Errorf("the range of late calls is %v", m)
	}
	if err := b.loadClockSkew(t.Context()); err != nil || !b.clockSkew.JumpedAt.Equal(jumped) {
		t.Errorf("the clock jumped at %v, %v", b.clockSkew.JumpedAt, err)
	}
	if _, err := os.Stat(path + ".ballast"); err == nil {
		t.Error("the reserved file has its old name")
	}
}

func newestSchema(t *testing.T) int {
	t.Helper()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	return len(files)
}

func TestKilledMigrationKeepsOldSchema(t *testing.T) {
	t.Parallel()
	for schema := 2; schema <= newestSchema(t); schema++ {
		killMigration(t, schema)
	}
}

// killMigration opens the files as they are after each statement of one migration.
func killMigration(t *testing.T, schema int) {
	t.Helper()
	names, err := fs.Glob(migrations, fmt.Sprintf("migrations/%05d_*.sql", schema))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	src, err := fs.ReadFile(migrations, names[0])
	must(t, err)
	up, _, _ := strings.Cut(string(src), "-- +goose Down")
	statements := strings.Split(up, ";\n")
	statements = statements[:len(statements)-1]
	if len(statements) == 0 {
		t.Fatalf("migration %d has no statement", schema)
	}
	for n := range len(statements) + 1 {
		if raceDetectorEnabled && len(statements) > 4 && n%4 != 3 {
			continue
		}
		path := oldHistory(t, schema-1)
		db := otherProgram(t, path, "immediate", "journal_mode(wal)", "cache_size(1)")
		db.SetMaxOpenConns(1)
		tx, err := db.BeginTx(context.Background(), nil)
		must(t, err)
		for _, one := range statements[:n] {
			if _, err := tx.Exec(one); err != nil {
				t.Fatalf("%s: %v", one, err)
			}
		}
		killed := filepath.Join(t.TempDir(), "history.db") // the files at this moment
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			must(t, err)
			must(t, os.WriteFile(killed+suffix, data, 0o600))
		}
		_ = tx.Rollback()
		_ = db.Close()
		requireMigratedHistory(t, killed)
	}
}
