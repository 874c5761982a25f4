package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
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
	args := []any{key.server, core.CutBytes(key.Name, maxName), core.CutBytes(key.ServedBy.Version, maxName), core.CutBytes(key.Package, maxName), definition, at.UnixMicro()}
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

// VersionStart is when a version of a server answered its first call.
type VersionStart struct {
	At      time.Time `json:"at"`
	Server  string    `json:"server"`
	Name    string    `json:"name" doc:"Name that the server reports"`
	Version string    `json:"version" doc:"Version that the server reports"`
	Package string    `json:"package" doc:"Package with its version, or image, if known"`
}

// versionStarts returns the newest versions that answered their first call in a time range, oldest
// first: those of server, or without one, those that replaced another version of their server.
func versionStarts(ctx context.Context, db queryer, from, to time.Time, server string) (list []VersionStart, err error) {
	const maxStarts = 50
	err = eachRow(ctx, db, func(row scanner) error {
		var v VersionStart
		var at int64
		err := row.Scan(&v.Server, &v.Name, &v.Version, &v.Package, &at)
		v.At = time.UnixMicro(at).UTC()
		list = append(list, v)
		return err
	}, `SELECT coalesce(s.current_name, s.name) AS server, p.name, p.version, p.package, min(p.first_at) AS began
		FROM version p JOIN server s ON s.id = p.server_id WHERE p.first_at > 0 GROUP BY p.server_id, p.name, p.version, p.package
		HAVING began >= ?1 AND began < ?2 AND (server = ?3 OR ?3 = '' AND EXISTS (SELECT 1 FROM version o WHERE o.server_id = p.server_id AND o.first_at > 0 AND o.first_at < began))
		ORDER BY began DESC LIMIT ?4`, from.UnixMicro(), to.UnixMicro(), server, maxStarts)
	slices.Reverse(list)
	return list, err
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
