package store

import (
	"context"
	"database/sql"
	_ "embed" // for schema
	"errors"
	"fmt"
)

// schema creates all tables. Nothing has been released with another one: after a release, a change
// needs a step from each schemaVersion to the next.
//
//go:embed schema.sql
var schema string

// schemaVersion is the user_version of a file with schema.
const schemaVersion = 1

// prepareSchema creates the tables of a new file, in one transaction. It changes nothing and returns
// errForeign for the database of another program, errNewer for that of a newer version and
// errUnreleased for that of a build before the first release.
func prepareSchema(ctx context.Context, db *sql.DB) error {
	var id, version, tables int
	if err := db.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%')
		FROM pragma_application_id(), pragma_user_version()`).Scan(&id, &version, &tables); err != nil {
		return err
	}
	switch {
	case tables > 0 && id != applicationID:
		return errForeign
	case version > schemaVersion:
		return fmt.Errorf("%w (schema %d; this version supports %d)", errNewer, version, schemaVersion)
	case version == schemaVersion:
		return nil
	case tables > 0:
		return errUnreleased
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;\n%s", applicationID, schemaVersion, schema))
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
