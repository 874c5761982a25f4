//go:build large && linux

package store

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// TestKilledLargeMigrationLosesNothing kills the program with SIGKILL again and again while it migrates
// the history of an older version, later each time, until it has recorded calls. DRAWBRIDGE_LARGE_OLD is
// such a history, which is changed; by default, one with 2,000 calls is created.
func TestKilledLargeMigrationLosesNothing(t *testing.T) {
	path := os.Getenv("DRAWBRIDGE_LARGE_OLD")
	if path == "" {
		path = olderLargeHistory(t)
	}
	newest := func() (id int64, calls, schema int) {
		t.Helper()
		db := otherProgram(t, path, "immediate")
		defer func() { _ = db.Close() }()
		must(t, db.QueryRow(`SELECT max(id), count(*), (SELECT max(version_id) FROM schema_version) FROM call`).Scan(&id, &calls, &schema))
		return id, calls, schema
	}
	last, before, schema := newest()
	t.Logf("%d calls with schema %d", before, schema)
	if schema >= newestSchema(t) {
		t.Fatal("the history is not of an older version")
	}
	kills, interrupted := 0, 0
	for patience := 10 * time.Millisecond; ; patience = patience * 5 / 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hammerEnv+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		began := time.Now()
		must(t, cmd.Start())
		ready := make(chan time.Duration, 1)
		go func() {
			defer close(ready)
			if bufio.NewScanner(out).Scan() {
				ready <- time.Since(began)
			}
		}()
		var took time.Duration
		select {
		case took = <-ready:
		case <-time.After(patience):
		}
		_ = cmd.Process.Kill()
		if more, ok := <-ready; ok && took == 0 {
			took = more
		}
		_ = cmd.Wait()
		kills++
		_, calls, now := newest()
		if calls < before {
			t.Fatalf("%d of %d calls are left after a kill at %v", calls, before, patience)
		}
		if now > schema && now < newestSchema(t) {
			interrupted++
		}
		if took > 0 {
			t.Logf("open and recording after %v, %d kills, %d of them between two migrations", took.Round(time.Millisecond), kills, interrupted)
			break
		}
	}
	db := otherProgram(t, path, "immediate")
	defer func() { _ = db.Close() }()
	var calls, bodies, now int
	var sound string
	if err := db.QueryRow(`SELECT count(*), (SELECT count(*) FROM body WHERE id <= ?1), (SELECT max(version_id) FROM schema_version) FROM call WHERE id <= ?1`, last).Scan(&calls, &bodies, &now); err != nil ||
		calls != before || bodies != before || now != newestSchema(t) {
		t.Errorf("%d calls and %d payloads of %d with schema %d, %v", calls, bodies, before, now, err)
	}
	if err := db.QueryRow(`PRAGMA quick_check`).Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("the file is not sound: %s, %v", sound, err)
	}
}

// olderLargeHistory creates a history with the schema before versions were recorded.
func olderLargeHistory(t *testing.T) string {
	t.Helper()
	const schema = 8
	path := filepath.Join(t.TempDir(), "history.db")
	b := open(t, path)
	for i := range 2000 {
		b.Recorder().Record(aCall(i), aReply)
		if i%100 == 0 {
			flushed(t, b)
		}
	}
	flushed(t, b)
	b.stop()
	db := otherProgram(t, path, "immediate")
	defer func() { _ = db.Close() }()
	files, err := fs.Sub(migrations, "migrations")
	must(t, err)
	versions, err := database.NewStore(database.DialectSQLite3, "schema_version")
	must(t, err)
	steps, err := goose.NewProvider("", db, files, goose.WithStore(versions), goose.WithDisableGlobalRegistry(true))
	must(t, err)
	if _, err := steps.DownTo(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	return path
}
