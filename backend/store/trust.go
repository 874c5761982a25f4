package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Trusted is what is trusted of one thing that a server offers.
type Trusted struct {
	Kind, Name string
	FirstAt    time.Time
	Late       bool // it came when its server was known already
	Hash       []byte
	Earlier    []byte // hashes that were trusted before, one after the other
	Always     bool
	Blocked    bool
	// Definition is what Hash is of. Trust leaves it out, and SaveTrust keeps the one
	// that is there when it is nil.
	Definition []byte
	WaitingAt  time.Time // zero: nothing waits
	// WaitingHash and Waiting are of a definition that waits for the user.
	WaitingHash []byte
	Waiting     []byte
}

// TrustEvent is something that happened to a definition.
type TrustEvent struct {
	ID               int64
	At               time.Time
	Server           string
	Kind, Name       string
	What, Detail     string
	OldHash, NewHash []byte
}

// Bounds of what is kept of events.
const (
	trustEvents     = 20_000 // in all
	maxTrustDetail  = 2000   // bytes
	trustTrimmed    = 256    // how many inserts pass between two looks at the bound
	maxTrustReading = 500
)

// Trust returns what is trusted of server, without the trusted definitions.
func (s *Store) Trust(ctx context.Context, server string) (list []Trusted, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT kind, name, first_at, late, hash, earlier, always, blocked, waiting_at, waiting_hash, waiting_enc, waiting
			FROM trust WHERE server = ?`, server)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var t Trusted
			var first int64
			var at, enc sql.NullInt64
			if err := rows.Scan(&t.Kind, &t.Name, &first, &t.Late, &t.Hash, &t.Earlier, &t.Always, &t.Blocked, &at, &t.WaitingHash, &enc, &t.Waiting); err != nil {
				return err
			}
			t.FirstAt = time.UnixMicro(first).UTC()
			if at.Valid {
				t.WaitingAt = time.UnixMicro(at.Int64).UTC()
				if t.Waiting, err = unpack(t.Waiting, int(enc.Int64)); err != nil {
					return err
				}
			}
			list = append(list, t)
		}
		return rows.Err()
	})
	return list, err
}

// TrustedDefinition returns the definition that is trusted, or nil.
func (s *Store) TrustedDefinition(ctx context.Context, server, kind, name string) (definition []byte, err error) {
	var enc int
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT definition, definition_enc FROM trust WHERE server = ? AND kind = ? AND name = ?`, server, kind, name).Scan(&definition, &enc)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return unpack(definition, enc)
}

// SaveTrust keeps what is trusted of server, forgets what is named in gone, and notes
// what happened, all or nothing.
func (s *Store) SaveTrust(ctx context.Context, server string, list []Trusted, gone [][2]string, happened []TrustEvent) error {
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, key := range gone {
			if _, err := tx.ExecContext(ctx, `DELETE FROM trust WHERE server = ? AND kind = ? AND name = ?`, server, key[0], key[1]); err != nil {
				return err
			}
		}
		var p packer
		save, err := tx.PrepareContext(ctx, `INSERT INTO trust (server, kind, name, first_at, late, hash, earlier, always, blocked, definition_enc, definition, waiting_at, waiting_hash, waiting_enc, waiting)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
			ON CONFLICT (server, kind, name) DO UPDATE SET hash = excluded.hash, earlier = excluded.earlier, always = excluded.always, blocked = excluded.blocked,
				definition_enc = CASE WHEN excluded.definition IS NULL THEN definition_enc ELSE excluded.definition_enc END,
				definition = coalesce(excluded.definition, definition),
				waiting_at = excluded.waiting_at, waiting_hash = excluded.waiting_hash, waiting_enc = excluded.waiting_enc, waiting = excluded.waiting`)
		if err != nil {
			return err
		}
		defer func() { _ = save.Close() }()
		for i := range list {
			t := &list[i]
			definition, enc := p.pack(t.Definition)
			waiting, waitingEnc := p.pack(t.Waiting)
			var at, hash any
			if !t.WaitingAt.IsZero() {
				at, hash = t.WaitingAt.UnixMicro(), t.WaitingHash
			}
			earlier := t.Earlier
			if earlier == nil {
				earlier = []byte{}
			}
			if _, err := save.ExecContext(ctx, server, t.Kind, shorten(t.Name, maxName), t.FirstAt.UnixMicro(), t.Late, t.Hash, earlier, t.Always, t.Blocked,
				enc, definition, at, hash, waitingEnc, waiting); err != nil {
				return err
			}
			p.reset()
		}
		return s.noteTrust(ctx, tx, happened)
	})
}

// noteTrust inserts events, and forgets the oldest beyond what is kept.
func (s *Store) noteTrust(ctx context.Context, tx *sql.Tx, happened []TrustEvent) error {
	var last int64
	for _, e := range happened {
		result, err := tx.ExecContext(ctx, `INSERT INTO trust_event (at, server, kind, name, what, detail, old_hash, new_hash) VALUES (?,?,?,?,?,?,?,?)`,
			e.At.UnixMicro(), e.Server, e.Kind, shorten(e.Name, maxName), e.What, shorten(e.Detail, maxTrustDetail), e.OldHash, e.NewHash)
		if err != nil {
			return err
		}
		if last, err = result.LastInsertId(); err != nil {
			return err
		}
	}
	if last <= trustEvents || last%trustTrimmed >= int64(len(happened)) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM trust_event WHERE id <= ?`, last-trustEvents)
	return err
}

// TrustEvents returns what happened to definitions, newest first: of one server, or of
// all for "". before is the id that an earlier answer ended with, or 0.
func (s *Store) TrustEvents(ctx context.Context, server string, before int64, limit int) (list []TrustEvent, next int64, err error) {
	limit = max(1, min(limit, maxTrustReading))
	if before <= 0 {
		before = 1 << 62
	}
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT id, at, server, kind, name, what, detail, old_hash, new_hash FROM trust_event
			WHERE id < ? AND (? = '' OR server = ?) ORDER BY id DESC LIMIT ?`, before, server, server, limit+1)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var e TrustEvent
			var at int64
			if err := rows.Scan(&e.ID, &at, &e.Server, &e.Kind, &e.Name, &e.What, &e.Detail, &e.OldHash, &e.NewHash); err != nil {
				return err
			}
			e.At = time.UnixMicro(at).UTC()
			list = append(list, e)
		}
		return rows.Err()
	})
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return list, next, err
}
