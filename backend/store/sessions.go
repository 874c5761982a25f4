package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SessionSummary summarizes the calls of one session.
type SessionSummary struct {
	Session       string
	Client        core.Client
	Workspace     string
	First, Last   time.Time
	Calls, Errors int64
}

// Sessions returns sessions, the most recently started first. before and next are cursors: next is
// the value of before for the next page, or 0 if there is none.
func (s *Store) Sessions(ctx context.Context, before int64, limit int) (sessions []SessionSummary, next int64, err error) {
	if limit <= 0 || limit > MaxLimit {
		limit = defaultLimit
	}
	if before <= 0 {
		before = 1 << 62
	}
	// A session may remain for a while after its calls were deleted.
	const withCalls = `SELECT id FROM session s WHERE id < ? AND EXISTS (SELECT 1 FROM call WHERE session_id = s.id) ORDER BY id DESC LIMIT ?`
	s.waitForRecent(ctx)
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT e.id, e.name, a.calls, a.failed, a.first, a.last, k.token, k.name, k.version, coalesce(w.name, '')
			FROM (`+withCalls+`) p
			JOIN session e ON e.id = p.id
			JOIN (SELECT session_id, count(*) calls, sum(outcome <> 1) failed, min(at) first, max(at) last, max(id) newest FROM call
				WHERE session_id IN (`+withCalls+`) GROUP BY session_id) a ON a.session_id = e.id
			JOIN call c ON c.id = a.newest
			JOIN client k ON k.id = c.client_id
			LEFT JOIN workspace w ON w.id = c.workspace_id
			ORDER BY e.id DESC`, before, limit+1, before, limit+1)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		last := int64(0)
		for rows.Next() {
			var st SessionSummary
			var id, first, latest int64
			if err := rows.Scan(&id, &st.Session, &st.Calls, &st.Errors, &first, &latest, &st.Client.Token, &st.Client.Name, &st.Client.Version, &st.Workspace); err != nil {
				return err
			}
			if len(sessions) == limit {
				next = last
				break
			}
			last = id
			st.First, st.Last = time.UnixMicro(first).UTC(), time.UnixMicro(latest).UTC()
			sessions = append(sessions, st)
		}
		return rows.Err()
	})
	return sessions, next, err
}

// Check returns the saved check with this name, or nil if there is none.
func (s *Store) Check(ctx context.Context, name string) ([]byte, error) {
	var document []byte
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT document FROM saved_check WHERE name = ?`, name).Scan(&document)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return document, err
}

// Checks returns all saved checks, sorted by name.
func (s *Store) Checks(ctx context.Context) (documents [][]byte, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT document FROM saved_check ORDER BY name`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var document []byte
			if err := rows.Scan(&document); err != nil {
				return err
			}
			documents = append(documents, document)
		}
		return rows.Err()
	})
	return documents, err
}

// SaveCheck stores a check and replaces the previous one of the same name.
func (s *Store) SaveCheck(ctx context.Context, name string, document []byte) error {
	return s.exec(ctx, `INSERT INTO saved_check (name, saved_at, document) VALUES (?,?,?)
		ON CONFLICT (name) DO UPDATE SET saved_at = excluded.saved_at, document = excluded.document`, name, s.opts.Now().UnixMicro(), document)
}

// DeleteCheck deletes a saved check. It returns a *core.Error with CodeNotFound if there is none.
func (s *Store) DeleteCheck(ctx context.Context, name string) error {
	var n int64
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM saved_check WHERE name = ?`, name)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	if err == nil && n == 0 {
		return core.Errorf(core.CodeNotFound, "there is no such check")
	}
	if err != nil {
		return fmt.Errorf("cannot delete a check: %w", err)
	}
	return nil
}
