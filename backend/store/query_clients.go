package store

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// ClientUse summarizes the calls of one client.
type ClientUse struct {
	Client   core.Client
	Calls    int64
	LastSeen time.Time
}

// Clients returns the clients that have calls in the history, the most recently seen first, at
// most 500.
func (s *Store) Clients(ctx context.Context) (list []ClientUse, err error) {
	s.waitForRecent(ctx)
	err = s.queryRows(ctx, func(row scanner) error {
		var u ClientUse
		var last int64
		err := row.Scan(&u.Client.Token, &u.Client.Name, &u.Client.Version, &u.Calls, &last)
		if u.LastSeen = time.UnixMicro(last).UTC(); u.Calls > 0 {
			list = append(list, u)
		}
		return err
	}, `SELECT k.token, k.name, k.version,
		(SELECT count(*) FROM call c WHERE c.client_id = k.id) - (SELECT count(*) FROM call c WHERE c.client_id = k.id AND c.task_call_id IS NOT NULL), coalesce((SELECT max(id) FROM call c WHERE c.client_id = k.id), 0) AS last
		FROM client k ORDER BY last DESC LIMIT 500`)
	return list, err
}
