package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Catalog returns the catalog that server had when it was last started with the same key, or nil
// if there is none.
func (s *records) Catalog(ctx context.Context, server, key string) (*core.Catalog, error) {
	return s.loadCatalog(ctx, server, `SELECT catalog FROM catalog WHERE server = ? AND key = ?`, server, key)
}

// LastCatalog returns the catalog that server had when it was last started, even if it was removed
// since, or nil if there is none.
func (s *records) LastCatalog(ctx context.Context, server string) (*core.Catalog, error) {
	return s.loadCatalog(ctx, server, `SELECT catalog FROM catalog WHERE server = ?`, server)
}

func (s *records) loadCatalog(ctx context.Context, server, query string, args ...any) (*core.Catalog, error) {
	var blob []byte
	found, err := s.queryRow(ctx, []any{&blob}, query, args...)
	if !found {
		return nil, err
	}
	c := &core.Catalog{}
	if err := gob.NewDecoder(bytes.NewReader(blob)).Decode(c); err != nil {
		return nil, fmt.Errorf("cannot read catalog of %q: %w", server, err)
	}
	return c, nil
}

// SaveCatalog stores the catalog of server and replaces the previous one. Raw JSON is kept byte
// for byte.
func (s *records) SaveCatalog(ctx context.Context, server, key string, c *core.Catalog) error {
	var blob bytes.Buffer
	if err := gob.NewEncoder(&blob).Encode(c); err != nil { // gob keeps raw JSON unchanged, encoding/json would compact it
		return err
	}
	return s.exec(ctx, `INSERT INTO catalog (server, key, saved_at, catalog) VALUES (?,?,?,?)
		ON CONFLICT (server) DO UPDATE SET key = excluded.key, saved_at = excluded.saved_at, catalog = excluded.catalog`,
		server, key, s.opts.Now().UnixMicro(), blob.Bytes())
}

// RenameServer renames a server in all stored data: calls, rollups, the saved catalog, trust
// records and recording rules. Full-text search finds the earlier calls by the words of the old
// name only. back reverts the renaming.
func (s *records) RenameServer(ctx context.Context, from, to string) (back func(context.Context) error, err error) {
	s.waitForRecent(ctx) // later calls are recorded under the new name
	s.recorder.rename(from, to)
	var rows []any
	err = s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		if rows, err = queryIDs(ctx, tx, `SELECT id FROM server WHERE coalesce(current_name, name) = ?`, from); err != nil {
			return err
		}
		return renameServer(ctx, tx, rows, from, to)
	})
	if err == nil {
		err = s.renameRules(ctx, from, to)
	}
	s.namesGen.Add(1)
	if err != nil {
		s.recorder.rename(to, from)
		return nil, err
	}
	return func(ctx context.Context) error {
		s.recorder.rename(to, from)
		defer s.namesGen.Add(1)
		err := s.transact(ctx, func(ctx context.Context, tx *transaction) error { return renameServer(ctx, tx, rows, to, from) })
		if err != nil {
			return err
		}
		return s.renameRules(ctx, to, from)
	}, nil
}

func renameServer(ctx context.Context, tx *transaction, rows []any, from, to string) error {
	for _, id := range rows {
		if _, err := tx.ExecContext(ctx, `UPDATE server SET current_name = nullif(?1, name) WHERE id = ?2`, to, id); err != nil {
			return err
		}
	}
	for _, stmt := range []string{
		// Replaces what an earlier server with the new name has left.
		`UPDATE OR REPLACE catalog SET server = ?2 WHERE server = ?1`,
		`UPDATE OR REPLACE metadata SET key = 'era/' || ?2 WHERE key = 'era/' || ?1`,
		`UPDATE OR REPLACE metadata SET key = 'version/' || ?2 WHERE key = 'version/' || ?1`,
		`UPDATE OR REPLACE metadata SET key = 'approved/' || ?2 || substr(key, length('approved/' || ?1) + 1) WHERE substr(key, 1, length('approved/' || ?1 || '/')) = 'approved/' || ?1 || '/'`,
		`UPDATE OR REPLACE trust SET server = ?2 WHERE server = ?1`,
		`UPDATE trust_event SET server = ?2 WHERE server = ?1`,
		`UPDATE OR REPLACE destination SET server = ?2 WHERE server = ?1`,
	} {
		if _, err := tx.ExecContext(ctx, stmt, from, to); err != nil {
			return err
		}
	}
	return nil
}

// renameRules renames the server in the user's recording rules.
func (s *records) renameRules(ctx context.Context, from, to string) error {
	want := s.Recording()
	if !slices.ContainsFunc(want.Rules, func(r Rule) bool { return r.Server == from }) {
		return nil
	}
	want.Rules = slices.Clone(want.Rules)
	for i := range want.Rules {
		if want.Rules[i].Server == from {
			want.Rules[i].Server = to
		}
	}
	return s.SaveRecording(ctx, want)
}

// rename makes Record store the calls in flight of a renamed server under its new name.
func (r *Recorder) rename(from, to string) {
	updateRules(&r.rules, func(n *rules) {
		renamed := maps.Clone(n.renamed)
		if renamed == nil {
			renamed = make(map[string]string)
		}
		delete(renamed, to)
		for old, now := range renamed {
			if now == from {
				renamed[old] = to
			}
		}
		renamed[from] = to
		delete(renamed, to)
		n.renamed = renamed
	})
}

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

// Metadata returns the value stored under key. ok is false if there is none.
func (s *database) Metadata(ctx context.Context, key string) (value []byte, ok bool, err error) {
	ok, err = s.queryRow(ctx, []any{&value}, `SELECT value FROM metadata WHERE key = ?`, key)
	return value, ok, err
}

// SaveMetadata stores value under key and replaces the previous one.
func (s *database) SaveMetadata(ctx context.Context, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return s.exec(ctx, upsertMetadata, key, value, s.opts.Now().UnixMicro())
}

const upsertMetadata = `INSERT INTO metadata (key, value, saved_at) VALUES (?,?,?)
	ON CONFLICT (key) DO UPDATE SET value = excluded.value, saved_at = excluded.saved_at`

// DualEra returns whether server supports both protocol eras. known is false if that was not
// stored for the same key.
func (s *records) DualEra(ctx context.Context, server, key string) (dual, known bool, err error) {
	value, ok, err := s.Metadata(ctx, "era/"+server)
	if err != nil || !ok {
		return false, false, err
	}
	answer, of, _ := strings.Cut(string(value), " ")
	if of != key {
		return false, false, nil
	}
	return answer == "dual", true, nil
}

// SaveDualEra stores whether server supports both protocol eras.
func (s *records) SaveDualEra(ctx context.Context, server, key string, dual bool) error {
	answer := "legacy"
	if dual {
		answer = "dual"
	}
	return s.SaveMetadata(ctx, "era/"+server, []byte(answer+" "+key))
}
