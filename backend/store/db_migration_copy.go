package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

const (
	// migrationCopyBytes is the size of the largest database that is copied before a migration:
	// the copy delays the start.
	migrationCopyBytes = 2 << 30
	// migrationCopyAge is how long the copy is kept. It contains calls that may since have expired.
	migrationCopyAge = 7 * 24 * time.Hour
)

// migrationCopy returns the path of the copy that is made of the database at path before a
// migration, so that a user can return to the earlier version.
func migrationCopy(path string) string { return path + ".before-update" }

// migrationObserver returns what is done while the file is migrated.
func (s *Store) migrationObserver() migrationObserver {
	return migrationObserver{s.copyBeforeMigration, s.opts.Migrating}
}

// copyBeforeMigration copies the database with this schema to its migrationCopy, which replaces an
// earlier copy. No other connection may write to it. A database that is too large, or for whose
// copy there is no space, is not copied: the migration is a transaction, so nothing is lost then
// either.
func (s *Store) copyBeforeMigration(ctx context.Context, db *sql.DB, schema int64) {
	to := migrationCopy(s.opts.Path)
	if err := s.copyDatabase(ctx, db, to); err != nil {
		removeFiles(to)
		s.opts.Log.Warn("The history was not backed up before its migration", "error", err)
		return
	}
	s.opts.Log.Info("The history was copied before its migration", "copy", to, "schema", schema)
}

func (s *Store) copyDatabase(ctx context.Context, db *sql.DB, to string) error {
	var busy, logged, moved int
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return fmt.Errorf("another program is using the file")
	}
	info, err := os.Stat(s.opts.Path)
	if err != nil {
		return err
	}
	if info.Size() > migrationCopyBytes {
		return fmt.Errorf("its size of %d bytes exceeds the limit of %d bytes", info.Size(), int64(migrationCopyBytes))
	}
	removeFiles(to)
	return copyPrivate(s.opts.Path, to)
}

// expireMigrationCopy deletes a copy that is older than migrationCopyAge.
func (s *Store) expireMigrationCopy() {
	to := migrationCopy(s.opts.Path)
	if info, err := os.Stat(to); err == nil && s.opts.Now().Sub(info.ModTime()) > migrationCopyAge {
		removeFiles(to)
	}
}
