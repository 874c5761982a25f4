package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

// Trusted is the trust record of one definition (tool, prompt, resource …) of a server.
type Trusted struct {
	Kind, Name     string
	FirstAt        time.Time
	AddedLater     bool // first seen after the baseline of its server was recorded
	Hash           []byte
	PreviousHashes []byte // concatenated hashes of earlier trusted definitions
	Always         bool
	Blocked        bool
	// Definition is the trusted definition, of which Hash is the hash. Trust does not return it.
	// SaveTrust keeps the stored one if it is nil.
	Definition []byte
	PendingAt  time.Time // when the pending definition was seen; zero: none is pending
	// PendingHash and PendingDefinition are the hash and text of a definition that is pending review.
	PendingHash       []byte
	PendingDefinition []byte
}

// TrustEvent is an event in the life of a definition.
type TrustEvent struct {
	ID               int64
	At               time.Time
	Server           string
	Kind, Name       string
	Action, Detail   string
	OldHash, NewHash []byte
}

// Limits of trust events.
const (
	trustEvents         = 20_000 // maximum number of events
	maxTrustDetail      = 2000   // maximum length of TrustEvent.Detail in bytes
	trustTrimInterval   = 256    // number of inserts between two deletions of old events
	maxTrustEventsLimit = 500
)

// Trust returns the trust records of server, without the trusted definitions.
func (s *records) Trust(ctx context.Context, server string) (list []Trusted, err error) {
	err = s.queryRows(ctx, func(row scanner) error {
		var t Trusted
		var first int64
		var at, enc sql.NullInt64
		err := row.Scan(&t.Kind, &t.Name, &first, &t.AddedLater, &t.Hash, &t.PreviousHashes, &t.Always, &t.Blocked, &at, &t.PendingHash, &enc, &t.PendingDefinition)
		t.FirstAt = time.UnixMicro(first).UTC()
		if err == nil && at.Valid {
			t.PendingAt = time.UnixMicro(at.Int64).UTC()
			t.PendingDefinition, err = payload.Decompress(t.PendingDefinition, int(enc.Int64))
		}
		list = append(list, t)
		return err
	}, `SELECT kind, name, first_at, added_later, hash, previous_hashes, always, blocked, pending_at, pending_hash, pending_enc, pending_definition FROM trust WHERE server = ?`, server)
	return list, err
}

// TrustedDefinition returns the trusted definition, or nil if there is none.
func (s *records) TrustedDefinition(ctx context.Context, server, kind, name string) (definition []byte, err error) {
	var enc int
	found, err := s.queryRow(ctx, []any{&definition, &enc}, `SELECT definition, definition_enc FROM trust WHERE server = ? AND kind = ? AND name = ?`, server, kind, name)
	if !found {
		return nil, err
	}
	return payload.Decompress(definition, enc)
}

// SaveTrust inserts or updates the trust records in list, deletes those whose kind and name are in
// gone, and inserts events, in one transaction.
func (s *records) SaveTrust(ctx context.Context, server string, list []Trusted, gone [][2]string, events []TrustEvent) error {
	return s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		for _, key := range gone {
			if _, err := tx.ExecContext(ctx, `DELETE FROM trust WHERE server = ? AND kind = ? AND name = ?`, server, key[0], key[1]); err != nil {
				return err
			}
		}
		var p payload.Compressor
		save, err := tx.PrepareContext(ctx, `INSERT INTO trust (server, kind, name, first_at, added_later, hash, previous_hashes, always, blocked, definition_enc, definition, pending_at, pending_hash, pending_enc, pending_definition)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
			ON CONFLICT (server, kind, name) DO UPDATE SET hash = excluded.hash, previous_hashes = excluded.previous_hashes, always = excluded.always, blocked = excluded.blocked,
				definition_enc = CASE WHEN excluded.definition IS NULL THEN definition_enc ELSE excluded.definition_enc END,
				definition = coalesce(excluded.definition, definition),
				pending_at = excluded.pending_at, pending_hash = excluded.pending_hash, pending_enc = excluded.pending_enc, pending_definition = excluded.pending_definition`)
		if err != nil {
			return err
		}
		defer func() { _ = save.Close() }()
		for i := range list {
			t := &list[i]
			definition, enc := p.Compress(t.Definition)
			pending, pendingEnc := p.Compress(t.PendingDefinition)
			var at, hash any
			if !t.PendingAt.IsZero() {
				at, hash = t.PendingAt.UnixMicro(), t.PendingHash
			}
			previous := t.PreviousHashes
			if previous == nil {
				previous = []byte{}
			}
			if _, err := save.ExecContext(ctx, server, t.Kind, core.CutBytes(t.Name, maxName), t.FirstAt.UnixMicro(), t.AddedLater, t.Hash, previous, t.Always, t.Blocked,
				enc, definition, at, hash, pendingEnc, pending); err != nil {
				return err
			}
			p.Reset()
		}
		return s.insertTrustEvents(ctx, tx, events)
	})
}

// insertTrustEvents inserts events and deletes the oldest ones beyond trustEvents.
func (s *records) insertTrustEvents(ctx context.Context, tx *transaction, events []TrustEvent) error {
	var last int64
	for _, e := range events {
		result, err := tx.ExecContext(ctx, `INSERT INTO trust_event (at, server, kind, name, action, detail, old_hash, new_hash) VALUES (?,?,?,?,?,?,?,?)`,
			e.At.UnixMicro(), e.Server, e.Kind, core.CutBytes(e.Name, maxName), e.Action, core.CutBytes(e.Detail, maxTrustDetail), e.OldHash, e.NewHash)
		if err != nil {
			return err
		}
		if last, err = result.LastInsertId(); err != nil {
			return err
		}
	}
	if last <= trustEvents || last%trustTrimInterval >= int64(len(events)) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM trust_event WHERE id <= ?`, last-trustEvents)
	return err
}

// TrustEvents returns events, newest first, of one server or, if server is "", of all. before is
// the next of the previous page, or 0; next is 0 after the last page.
func (s *records) TrustEvents(ctx context.Context, server string, before int64, limit int) (list []TrustEvent, next int64, err error) {
	limit = max(1, min(limit, maxTrustEventsLimit))
	if before <= 0 {
		before = 1 << 62
	}
	err = s.queryRows(ctx, func(row scanner) error {
		var e TrustEvent
		var at int64
		err := row.Scan(&e.ID, &at, &e.Server, &e.Kind, &e.Name, &e.Action, &e.Detail, &e.OldHash, &e.NewHash)
		e.At = time.UnixMicro(at).UTC()
		list = append(list, e)
		return err
	}, `SELECT id, at, server, kind, name, action, detail, old_hash, new_hash FROM trust_event
		WHERE id < ? AND (? = '' OR server = ?) ORDER BY id DESC LIMIT ?`, before, server, server, limit+1)
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return list, next, err
}
