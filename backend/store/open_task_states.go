package store

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The call of a task that has not ended is neither a success nor a failure yet. Filters and facets name it
// by the state of the task instead of its outcome. Rollups count it as ok.
const (
	TaskWorking core.Outcome = "working" // any state of an open task but the others
	TaskInput   core.Outcome = "input_required"
)

func isOpenTaskState(o core.Outcome) bool {
	return o == TaskWorking || o == TaskInput || o == core.TaskExpired
}

// openTaskState is the state of the open task o of the call c. Its parameter is the current time. It follows
// core.TaskExpiry: 24 hours, at most 7 days.
const openTaskState = `CASE WHEN ? > iif(o.ttl_ms IS NULL, o.updated_at + 86400000000, c.at + min(o.ttl_ms, 604800000) * 1000) THEN 'expired'
	WHEN o.status = 'input_required' THEN 'input_required' ELSE 'working' END`

// countOpenTasks counts the calls with open tasks by their states, and no longer as ok.
func (t *tally) countOpenTasks(ctx context.Context, db queryer, from, to time.Time) error {
	return eachRow(ctx, db, func(row scanner) error {
		var target, client int64
		var open core.Outcome
		err := row.Scan(&target, &client, &open)
		t.add(target, client, core.OutcomeOK, -1)
		t.add(target, client, open, 1)
		return err
	}, `SELECT c.target_id, c.client_id, `+openTaskState+` FROM task o JOIN call c ON c.id = o.call_id WHERE o.ended = 0 AND c.outcome = 1 AND c.at >= ? AND c.at < ?`,
		t.q.now.UnixMicro(), from.UnixMicro(), to.UnixMicro())
}
