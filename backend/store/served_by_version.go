package store

import (
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// versionKey identifies a row of version.
type versionKey struct {
	server int64
	core.ServedBy
}

// maxVersions is the number of rows of version beyond which those without calls are deleted.
// Finding them reads all calls.
const maxVersions = 2000

// versionID looks up or inserts a row of version.
func (w *writer) versionID(key versionKey, at time.Time) (any, error) {
	if id, ok := w.in.versions[key]; ok {
		return id, nil
	}
	definition := key.Definition[:]
	if key.Definition == [16]byte{} {
		definition = []byte{}
	}
	args := []any{key.server, truncateBytes(key.Name, maxName), truncateBytes(key.ServedBy.Version, maxName), truncateBytes(key.Package, maxName), definition, at.UnixMicro()}
	var id int64
	err := w.tx.QueryRowContext(w.ctx, `SELECT id FROM version WHERE server_id = ? AND name = ? AND version = ? AND package = ? AND definition = ?`, args[:5]...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		var res sql.Result
		if res, err = w.tx.ExecContext(w.ctx, `INSERT INTO version (server_id, name, version, package, definition, first_at) VALUES (?,?,?,?,?,?)`, args...); err == nil {
			id, err = res.LastInsertId()
		}
	}
	if err == nil {
		w.in.versions[key] = id
	}
	return id, err
}

// versionFilter selects rows of version by the version that the server reports, by the package with
// or without its name, or by the beginning of the hash of a definition.
const versionFilter = `(p.version = ?1 OR p.package = ?1 OR p.package <> '' AND substr(p.package, -length(?1) - 1) = '@' || ?1
	OR length(?1) >= 8 AND substr(hex(p.definition), 1, length(?1)) = upper(?1))`

func scanServedBy(name, version, packageName sql.NullString, definition []byte) *core.ServedBy {
	if !name.Valid {
		return nil
	}
	by := &core.ServedBy{Name: name.String, Version: version.String, Package: packageName.String}
	copy(by.Definition[:], definition)
	return by
}

// FormatDefinition returns the hash of a definition as text, or "" if there is none.
func FormatDefinition(hash [16]byte) string {
	if hash == [16]byte{} {
		return ""
	}
	return hex.EncodeToString(hash[:])
}
