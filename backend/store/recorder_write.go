package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

// outcomes maps outcomes to the numbers by which the database stores them.
var outcomes = map[core.Outcome]int{
	core.OutcomeOK: 1, core.OutcomeToolError: 2, core.OutcomeProtocolError: 3,
	core.OutcomeTimeout: 4, core.OutcomeCancelled: 5, core.OutcomeRejected: 6,
}

var outcomeNames = func() map[int]core.Outcome {
	m := make(map[int]core.Outcome, len(outcomes))
	for name, n := range outcomes {
		m[n] = name
	}
	return m
}()

const maxName = 1024 // maximum length of a name or URI in bytes

// write writes a batch in one transaction. Calls that exist already are not changed: the commit of
// an earlier attempt may have succeeded although it was reported as failed.
func (s *database) write(ctx context.Context, batch []entry) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	defer s.writes.addSince(time.Now())
	return s.withHandle(func(h *handle) error { return s.insert(ctx, h, batch) })
}

func (s *database) insert(ctx context.Context, h *handle, batch []entry) (err error) {
	tx, err := h.beginCalls(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.namesGen.Add(1) // rows of new names are rolled back
		}
		_ = tx.Rollback()
	}()
	h.insert.refreshCaches(s.namesGen.Load())
	w := &writer{ctx: ctx, tx: tx, in: &h.insert, dimensions: h.insert.dimensions, sums: make(rollups)}
	h.insert.throttle = writeThrottle{mayPause: s.recorder.lowPressure, remaining: maxPauses, resumed: time.Now()}
	h.insert.begin(tx)
	for from := 0; from < len(batch); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := w.resolve(batch[from:])
		if err != nil {
			return err
		}
		if err := w.insertCalls(batch[from : from+n]); err != nil {
			return err
		}
		if err := w.insertAttributes(batch[from : from+n]); err != nil {
			return err
		}
		from += n
	}
	if err := w.sums.save(ctx, tx, s.opts.Now()); err != nil {
		return err
	}
	was := s.lateCalls.Load()
	now := was
	for i := range batch {
		now = now.extend(batch[i].call.ID, batch[i].call.At.UnixMicro())
	}
	if now != was {
		if err := now.save(ctx, tx, s.opts.Now()); err != nil {
			return err
		}
	}
	if err = tx.Commit(); err == nil {
		s.lateCalls.Store(now)
	}
	return err
}

// writer inserts calls in one transaction.
type writer struct {
	ctx        context.Context
	tx         *transaction
	in         *inserter
	sums       rollups
	dimensions map[dimension]int64
	refs       []callRefs // references of the calls that are inserted next
}

// callRefs contains the ids of the rows that a call refers to.
type callRefs struct {
	server, target, client int64
	// int64, or nil if there is none
	session, workspace, version, account any
}

// dimension identifies a row of server, client, target, session, workspace or account by its names.
type dimension struct {
	table   string
	server  int64
	a, b, c string
}

// resolve looks up or inserts the names of as many calls as one statement inserts, and returns
// their number. It must be called outside of conn.Raw, because it uses statements of database/sql.
func (w *writer) resolve(batch []entry) (int, error) {
	w.refs = w.refs[:0]
	for i := range batch[:min(len(batch), insertRows)] {
		c := &batch[i].call
		var r callRefs
		var err error
		if r.server, err = w.dimensionID(dimension{table: "server", a: c.Server}); err != nil {
			return 0, err
		}
		if r.target, err = w.dimensionID(dimension{table: "target", server: r.server, a: c.Method, b: core.CutBytes(c.Name, maxName)}); err != nil {
			return 0, err
		}
		if r.client, err = w.dimensionID(dimension{table: "client", a: c.Client.Token, b: core.CutBytes(c.Client.Name, maxName), c: core.CutBytes(c.Client.Version, maxName)}); err != nil {
			return 0, err
		}
		if c.Session != "" {
			if r.session, err = w.dimensionID(dimension{table: "session", a: c.Session}); err != nil {
				return 0, err
			}
		}
		if c.Workspace != "" {
			if r.workspace, err = w.dimensionID(dimension{table: "workspace", a: core.CutBytes(c.Workspace, maxName)}); err != nil {
				return 0, err
			}
		}
		if c.Account != "" {
			if r.account, err = w.dimensionID(dimension{table: "account", a: core.CutBytes(c.Account, maxName)}); err != nil {
				return 0, err
			}
		}
		if c.ServedBy != nil {
			if r.version, err = w.versionID(versionKey{r.server, *c.ServedBy}, c.At); err != nil {
				return 0, err
			}
		}
		w.refs = append(w.refs, r)
	}
	return len(w.refs), nil
}

// insertCalls inserts the calls for which resolve was called. A call that exists already is
// skipped.
func (w *writer) insertCalls(batch []entry) error {
	defer w.in.clearBuffers()
	for i := range batch {
		c := &batch[i].call
		fresh, err := w.bufferCall(&batch[i], &w.refs[i])
		if err != nil {
			return err
		}
		if fresh && !c.IsTaskRequest() { // saveTask counts these
			w.sums.count(w.refs[i].target, w.refs[i].client, c.At.UnixMicro(), c.Outcome, c.Took, sizeOf(batch[i].reply(), c.BytesOut), 1)
		}
	}
	return w.in.flush()
}

func (w *writer) bufferCall(e *entry, r *callRefs) (fresh bool, err error) {
	c := &e.call
	outcome := int64(outcomes[c.Outcome])
	if !e.retried && r.workspace == nil && r.account == nil && !c.FromServer && c.Code == "" && c.Attempts == 1 && c.Progress == 0 {
		w.in.commonCall.add(c.ID, c.At.UnixMicro(), r.server, r.target, r.client, r.session, c.Era == core.Modern,
			outcome, int64(c.Took), int64(c.Queued), int64(c.BytesIn), int64(c.BytesOut), r.version)
	} else {
		rows := &w.in.call
		if e.retried {
			rows = &w.in.retriedCall // flushed immediately to learn whether the call exists
		}
		rows.add(c.ID, c.At.UnixMicro(), r.server, r.target, r.client, r.session, r.workspace,
			c.Era == core.Modern, c.FromServer, outcome, string(c.Code), int64(c.Took), int64(c.Queued),
			int64(c.BytesIn), int64(c.BytesOut), int64(c.Attempts), int64(c.Progress), r.version, r.account)
		if e.retried {
			if n, err := rows.flush(w.tx); err != nil || n == 0 {
				return false, err
			}
		}
	}
	w.in.pending.add(c.ID)
	packedArgs, argsEnc := w.in.compressor.Compress(e.payload[:e.arguments])
	packedReply, replyEnc := w.in.compressor.Compress(e.reply())
	if c.TraceID == "" && c.Shim == "" && c.Reason == "" && !e.isError && argsEnc == payload.Plain && replyEnc == payload.Plain && e.argsCut == nil && e.replyCut == nil {
		w.in.shortBody.add(c.ID, core.CutBytes(c.PublicName, maxName), c.Instance, packedArgs, packedReply)
		return true, nil
	}
	argsSize, argsHash := e.argsCut.columns()
	replySize, replyHash := e.replyCut.columns()
	w.in.body.add(c.ID, core.CutBytes(c.PublicName, maxName), c.Instance, c.TraceID, c.Shim, c.Reason, e.isError,
		argsEnc, replyEnc, argsSize, argsHash, replySize, replyHash, packedArgs, packedReply)
	return true, nil
}

func (c *Cut) columns() (size, hash any) {
	if c == nil {
		return nil, nil
	}
	if c.Hash == nil {
		return int64(c.Size), nil
	}
	return int64(c.Size), c.Hash
}

// dimensionID returns the id of the row with these names, and inserts the row if it does not exist.
func (w *writer) dimensionID(d dimension) (int64, error) {
	if id, ok := w.dimensions[d]; ok {
		return id, nil
	}
	var find, insert string
	var args []any
	switch d.table {
	case "server":
		// The index contains a row's calls under its name, so a renamed row keeps its name. If
		// that name is taken again by another server, its row is named "name (n)", which the
		// tokenizer splits into the same word and a number.
		find = `SELECT id FROM server WHERE name = ?1 AND current_name IS NULL OR current_name = ?1 AND substr(name, 1, length(?1) + 2) = ?1 || ' ('`
		insert = `INSERT INTO server (name, current_name) SELECT iif(taken, ?1 || ' (' || (SELECT max(id) + 1 FROM server) || ')', ?1), iif(taken, ?1, NULL)
			FROM (SELECT EXISTS (SELECT 1 FROM server WHERE name = ?1) AS taken)`
		args = []any{d.a}
	case "session":
		find, insert = `SELECT id FROM session WHERE name = ?`, `INSERT INTO session (name) VALUES (?)`
		args = []any{d.a}
	case "workspace":
		find, insert = `SELECT id FROM workspace WHERE name = ?`, `INSERT INTO workspace (name) VALUES (?)`
		args = []any{d.a}
	case "account":
		find, insert = `SELECT id FROM account WHERE name = ?`, `INSERT INTO account (name) VALUES (?)`
		args = []any{d.a}
	case "client":
		find = `SELECT id FROM client WHERE token = ? AND name = ? AND version = ?`
		insert = `INSERT INTO client (token, name, version) VALUES (?,?,?)`
		args = []any{d.a, d.b, d.c}
	case "target":
		find = `SELECT id FROM target WHERE server_id = ? AND method = ? AND name = ?`
		insert = `INSERT INTO target (server_id, method, name) VALUES (?,?,?)`
		args = []any{d.server, d.a, d.b}
	}
	var id int64
	err := w.tx.QueryRowContext(w.ctx, find, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		var res sql.Result
		if res, err = w.tx.ExecContext(w.ctx, insert, args...); err == nil {
			id, err = res.LastInsertId()
		}
	}
	if err == nil {
		w.dimensions[d] = id
	}
	return id, err
}

// stepGoal is the target duration for which one step of background work holds the write lock.
// Calls must be on disk within 100 ms, of which batching takes up to 50 ms.
const stepGoal = 20 * time.Millisecond

// stepSize is the number of rows that the next step processes. It adapts to the duration of the
// previous step, because the cost of a row varies a hundredfold with the load, the size of its
// payload and its number of words.
type stepSize struct{ rows, maxRows int }

// adjust adapts the size to d, the time for which the previous step held the write lock.
func (s *stepSize) adjust(d time.Duration) {
	switch {
	case d > stepGoal:
		s.rows = max(s.rows/2, 1)
	case d < stepGoal/2:
		s.rows = min(s.rows*2, s.maxRows)
	}
}
