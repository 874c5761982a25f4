package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// A call that created a task is one call: requests about the task are recorded as rows that refer
// to it. They are not listed or counted, and the last of them sets the outcome and the duration of
// the call. The payload of the call stays as it was recorded, because the full-text index and the
// blocks contain it; the result of the task is read from the payload of the request that returned
// it.

// saveTask stores the task of a call that has created one or is a request about one.
func (w *writer) saveTask(e *entry, r *callRefs) error {
	c, t := &e.call, e.call.Task
	end := c.At.Add(c.Took)
	ttl := any(nil)
	if t.TTL >= 0 {
		ttl = t.TTL.Milliseconds()
	}
	if !c.IsTaskRequest() {
		_, err := w.tx.ExecContext(w.ctx, `INSERT INTO task (call_id, task_id, status, reason, ttl_ms, updated_at, ended)
			SELECT id, ?, ?, '', ?, ?, 0 FROM call WHERE id = ? ON CONFLICT (call_id) DO NOTHING`, t.ID, t.Status, ttl, end.UnixMicro(), c.ID)
		return err
	}
	var before taskRow
	err := before.scan(w.tx.QueryRowContext(w.ctx, taskRowQuery, t.Call))
	if errors.Is(err, sql.ErrNoRows) { // the call was not recorded, or is deleted: the request is a call of its own
		w.sums.count(r, c, sizeOf(e.reply(), c.BytesOut))
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := w.tx.ExecContext(w.ctx, `UPDATE call SET task_call_id = ? WHERE id = ?`, t.Call, c.ID); err != nil {
		return err
	}
	if c.Outcome == core.OutcomeRejected || c.Outcome == core.OutcomeTimeout || e.isError && !t.Ended {
		if before.ended || c.Outcome == core.OutcomeRejected || c.Method != "tasks/get" && c.Method != "tasks/result" {
			return nil // tells nothing about the task
		}
		_, err := w.tx.ExecContext(w.ctx, `UPDATE task SET reason = ? WHERE call_id = ?`, "the last request about the task failed: "+cmp.Or(c.Reason, string(c.Outcome)), t.Call)
		return err
	}
	after := before.after(e)
	if _, err := w.tx.ExecContext(w.ctx, `UPDATE task SET status = ?, reason = ?, ttl_ms = coalesce(?, ttl_ms), updated_at = max(updated_at, ?), ended = ?, result_id = ? WHERE call_id = ?`,
		after.status, after.reason, ttl, end.UnixMicro(), after.ended, after.result, t.Call); err != nil {
		return err
	}
	if after.outcome == before.outcome && after.took == before.took && after.bytes == before.bytes {
		return nil
	}
	var replaced, size resultSize
	if after.bytes != before.bytes {
		replaced, size = resultSize{bytes: before.bytes}, sizeOf(e.reply(), int(after.bytes))
	}
	w.sums.countOutcome(before.target, before.client, before.at, before.outcome, before.took-before.queued, replaced, -1)
	w.sums.countOutcome(before.target, before.client, before.at, after.outcome, after.took-after.queued, size, 1)
	_, err = w.tx.ExecContext(w.ctx, `UPDATE call SET outcome = ?, took_ns = ?, bytes_out = ? WHERE id = ?`, after.outcome, int64(after.took), after.bytes, t.Call)
	return err
}

// taskRow is the state of a call that created a task.
type taskRow struct {
	target, client int64
	at             int64
	outcome        int
	took, queued   time.Duration
	bytes          int64
	status, reason string
	ended          bool
	result         sql.NullInt64
}

const taskRowQuery = `SELECT c.target_id, c.client_id, c.at, c.outcome, c.took_ns, c.queued_ns, c.bytes_out, t.status, t.reason, t.ended, t.result_id
	FROM task t JOIN call c ON c.id = t.call_id WHERE t.call_id = ?`

func (t *taskRow) scan(row scanner) error {
	return row.Scan(&t.target, &t.client, &t.at, &t.outcome, &t.took, &t.queued, &t.bytes, &t.status, &t.reason, &t.ended, &t.result)
}

// after returns the state after a request. The first end of a task counts, as the protocol has only
// one, until a request returns the result of the call.
func (t taskRow) after(e *entry) taskRow {
	c := &e.call
	if t.ended && (t.result.Valid || !c.Task.HasResult || e.isError && t.status == "cancelled") {
		return t
	}
	if c.Task.Status != "" {
		t.status = c.Task.Status
	}
	cancelled := c.Method == "tasks/cancel" && c.Outcome == core.OutcomeOK && !t.ended
	if !c.Task.Ended && !cancelled {
		if !t.ended && t.outcome == outcomes[core.OutcomeOK] {
			t.reason = "" // of a request that failed
		}
		return t
	}
	if !t.ended {
		t.took = time.Duration(c.At.Add(c.Took).UnixMicro()-t.at) * time.Microsecond
	}
	t.outcome, t.reason = outcomes[c.Outcome], c.Reason
	if cancelled { // the server has only promised to try
		t.outcome = outcomes[core.OutcomeCancelled]
	}
	t.ended = c.Task.Ended
	if c.Task.HasResult {
		t.result = sql.NullInt64{Int64: c.ID, Valid: true}
		t.bytes = int64(c.BytesOut)
	}
	return t
}

// TaskState is what is recorded of the task that a call created.
type TaskState struct {
	core.Task
	Created  []byte        // the first reply to the call, JSON text; nil while it is the result of the record
	Requests []TaskRequest // about the task, oldest first; at most maxTaskRequests
}

// TaskRequest is a recorded request about a task.
type TaskRequest struct {
	ID      int64
	At      time.Time
	Method  string
	Outcome core.Outcome
}

const maxTaskRequests = 50

// loadTask sets the task of a record, and its result to that of the task if that has ended.
func (r *Record) loadTask(ctx context.Context, db queryer, from payloadReader) error {
	if r.Task == nil || r.IsTaskRequest() {
		return nil
	}
	r.TaskState = &TaskState{}
	err := eachRow(ctx, db, func(row scanner) error {
		var step TaskRequest
		var at int64
		var outcome int
		err := row.Scan(&step.ID, &at, &step.Method, &outcome)
		step.At, step.Outcome = time.UnixMicro(at).UTC(), outcomeNames[outcome]
		r.TaskState.Requests = append(r.TaskState.Requests, step)
		return err
	}, `SELECT c.id, c.at, t.method, c.outcome FROM call c JOIN target t ON t.id = c.target_id WHERE c.task_call_id = ? ORDER BY c.id LIMIT ?`, r.ID, maxTaskRequests)
	if err != nil {
		return err
	}
	var method string
	var isError bool
	var args, reply storedPayload
	var size sql.NullInt64
	var hash []byte
	err = db.QueryRowContext(ctx, `SELECT m.method, b.reply_is_error, b.arguments, b.arguments_enc, b.reply, b.reply_enc, b.reply_size, b.reply_hash
		FROM task t JOIN call c ON c.id = t.result_id JOIN target m ON m.id = c.target_id JOIN body b ON b.id = c.id WHERE t.call_id = ?`, r.ID).
		Scan(&method, &isError, &args.data, &args.enc, &reply.data, &reply.enc, &size, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it has not ended, or the request is deleted
	}
	if err != nil {
		return err
	}
	_, response, err := from.read(ctx, args, reply)
	if err != nil {
		return err
	}
	r.TaskState.Created, r.ReplyCut = r.Result, scanCut(size, hash)
	r.Result, r.Error = nil, nil
	var state struct{ Result, Error json.RawMessage }
	switch {
	case isError:
		r.Error = response
	case method == "tasks/result" || r.ReplyCut != nil || json.Unmarshal(response, &state) != nil:
		r.Result = response
	default:
		r.Result, r.Error = state.Result, state.Error
	}
	return nil
}

// Tasks returns the tasks that were updated after since, oldest first: at most limit of the newest
// ones.
func (s *records) Tasks(ctx context.Context, since time.Time, limit int) (tasks []core.TaskOwner, err error) {
	err = s.queryRows(ctx, func(row scanner) error {
		var t core.TaskOwner
		var modern bool
		var created, updated int64
		var ttl sql.NullInt64
		err := row.Scan(&t.Call, &t.ID, &t.Status, &ttl, &updated, &t.HasResult, &created, &modern, &t.Server, &t.Name, &t.PublicName,
			&t.Client.Token, &t.Client.Name, &t.Client.Version, &t.Workspace, &t.Account)
		t.Era, t.Created, t.Updated, t.TTL = core.Legacy, time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC(), -1
		if modern {
			t.Era = core.Modern
		}
		if ttl.Valid {
			t.TTL = time.Duration(ttl.Int64) * time.Millisecond
		}
		tasks = append(tasks, t)
		return err
	}, `SELECT * FROM (SELECT z.call_id, z.task_id, z.status, z.ttl_ms, z.updated_at, z.result_id IS NOT NULL, c.at, c.modern, coalesce(s.current_name, s.name), t.name, b.public_name,
			k.token, k.name, k.version, coalesce(w.name, ''), coalesce(a.name, '')
		FROM task z JOIN call c ON c.id = z.call_id JOIN server s ON s.id = c.server_id JOIN target t ON t.id = c.target_id JOIN client k ON k.id = c.client_id
		JOIN body b ON b.id = c.id LEFT JOIN workspace w ON w.id = c.workspace_id LEFT JOIN account a ON a.id = c.account_id
		WHERE z.updated_at > ? ORDER BY z.updated_at DESC LIMIT ?) ORDER BY call_id`, since.UnixMicro(), limit)
	return tasks, err
}

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
