package store

import (
	"context"
	"encoding/json"
	"slices"
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
	Servers       []string // that it called, in alphabetical order
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
	last := int64(0)
	err = s.queryRows(ctx, func(row scanner) error {
		var st SessionSummary
		var id, first, latest int64
		var servers []byte
		if err := row.Scan(&id, &st.Session, &st.Calls, &st.Errors, &first, &latest, &st.Client.Token, &st.Client.Name, &st.Client.Version, &st.Workspace, &servers); err != nil {
			return err
		}
		if err := json.Unmarshal(servers, &st.Servers); err != nil {
			return err
		}
		slices.Sort(st.Servers)
		if len(sessions) == limit {
			next = last
			return errEnough
		}
		last = id
		st.First, st.Last = time.UnixMicro(first).UTC(), time.UnixMicro(latest).UTC()
		sessions = append(sessions, st)
		return nil
	}, `SELECT e.id, e.name, a.calls, a.failed, a.first, a.last, k.token, k.name, k.version, coalesce(w.name, ''),
			(SELECT json_group_array(DISTINCT coalesce(current_name, name)) FROM server WHERE name <> '' AND id IN (SELECT value FROM json_each('[' || a.servers || ']')))
		FROM (`+withCalls+`) p
		JOIN session e ON e.id = p.id
		JOIN (SELECT session_id, count(*) calls, sum(outcome <> 1) failed, min(at) first, max(at) last, max(id) newest, group_concat(DISTINCT server_id) servers FROM call
			WHERE session_id IN (`+withCalls+`) AND task_call_id IS NULL GROUP BY session_id) a ON a.session_id = e.id
		JOIN call c ON c.id = a.newest
		JOIN client k ON k.id = c.client_id
		LEFT JOIN workspace w ON w.id = c.workspace_id
		ORDER BY e.id DESC`, before, limit+1, before, limit+1)
	return sessions, next, err
}
