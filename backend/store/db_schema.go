package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

// checkSchema reads the tables that migrate relies on, because goose treats a table that cannot be
// read as missing. It returns errForeign for the database of another program.
func checkSchema(ctx context.Context, db *sql.DB) error {
	var id, tables, versions, n int
	if err := db.QueryRowContext(ctx, `SELECT application_id, count(s.name), count(s.name) FILTER (WHERE s.name = 'schema_version')
		FROM pragma_application_id() LEFT JOIN sqlite_schema s ON s.type = 'table' AND s.name NOT LIKE 'sqlite_%'`).Scan(&id, &tables, &versions); err != nil {
		return err
	}
	if tables > versions && id != applicationID {
		return errForeign
	}
	if versions == 0 {
		return nil
	}
	return db.QueryRowContext(ctx, `SELECT count(*) FROM schema_version WHERE is_applied`).Scan(&n)
}

// migrationObserver is told about the migrations of an existing database. Its functions may be nil.
type migrationObserver struct {
	before func(ctx context.Context, db *sql.DB, schema int64) // the first one, of a database with this schema
	step   func(step, steps int)                               // before each, from 1
}

// migrate applies the pending migrations, each in a transaction. It returns errNewer and changes
// nothing if the schema is newer than this program.
func migrate(ctx context.Context, db *sql.DB, observer migrationObserver) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	versions, err := database.NewStore(database.DialectSQLite3, "schema_version")
	if err != nil {
		return err
	}
	steps, err := goose.NewProvider("", db, files, goose.WithStore(versions), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	have, want, err := steps.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return fmt.Errorf("%w (schema %d; this version supports %d)", errNewer, have, want)
	}
	if have == want {
		return nil
	}
	if have == 0 { // only for new files: setting the id writes the file even if it is unchanged
		if _, err := db.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)); err != nil {
			return err
		}
	} else if observer.before != nil {
		observer.before(ctx, db, have)
	}
	if have == 0 || observer.step == nil {
		_, err = steps.Up(ctx)
		return err
	}
	pending := slices.DeleteFunc(steps.ListSources(), func(m *goose.Source) bool { return m.Version <= have })
	for i := range pending {
		observer.step(i+1, len(pending))
		if _, err := steps.UpByOne(ctx); err != nil {
			return err
		}
	}
	return nil
}
