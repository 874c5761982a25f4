package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// LastCallID returns the newest id in the history, 0 when it is empty or cannot be used.
func (s *Store) LastCallID(ctx context.Context) (int64, error) {
	var id int64
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM call`).Scan(&id)
	})
	return id, err
}

// ClientUse is what the history knows of one client.
type ClientUse struct {
	Client   core.Client
	Calls    int64
	LastSeen time.Time
}

// Clients returns every client in the history, the most recent first.
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

// queryer is a pool or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
