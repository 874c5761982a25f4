package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// LastCallID returns the id of the newest call, or 0 if the history is empty.
func (s *Store) LastCallID(ctx context.Context) (int64, error) {
	var id int64
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM call`).Scan(&id)
	})
	return id, err
}

// ClientUse summarizes the calls of one client.
type ClientUse struct {
	Client   core.Client
	Calls    int64
	LastSeen time.Time
}

// Clients returns the clients that have calls in the history, the most recently seen first, at
// most 500.
func (s *Store) Clients(ctx context.Context) ([]ClientUse, error) {
	s.waitForRecent(ctx)
	var out []ClientUse
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT k.token, k.name, k.version,
			(SELECT count(*) FROM call c WHERE c.client_id = k.id), coalesce((SELECT max(id) FROM call c WHERE c.client_id = k.id), 0) AS last
			FROM client k ORDER BY last DESC LIMIT 500`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var u ClientUse
			var last int64
			if err := rows.Scan(&u.Client.Token, &u.Client.Name, &u.Client.Version, &u.Calls, &last); err != nil {
				return err
			}
			if u.LastSeen = time.UnixMicro(last).UTC(); u.Calls > 0 {
				out = append(out, u)
			}
		}
		return rows.Err()
	})
	return out, err
}

// queryer is implemented by *sql.DB and *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
