package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// outcomes maps outcomes to the numbers by which the database stores them.
var outcomes = map[core.Outcome]int{
	core.OutcomeOK: 1, core.OutcomeToolError: 2, core.OutcomeProtocolError: 3,
	core.OutcomeTimeout: 4, core.OutcomeCancelled: 5, core.OutcomeRejected: 6,
}

var outcomeNames = func() map[int]core.Outcome {
	m := map[int]core.Outcome{numOutcomes: outcomeUnavailable}
	for name, n := range outcomes {
		m[n] = name
	}
	return m
}()

// outcomeUnavailable selects and counts the protocol errors of calls that did not reach their server.
// The database stores these as protocol errors with a code; only rollups have a number for them.
const outcomeUnavailable core.Outcome = "unavailable"

// outcomeFailed selects the calls that isFailure reports.
const outcomeFailed core.Outcome = "failed"

// isFailure reports whether an outcome is a failure: not what the user or the policy ended.
func isFailure(o core.Outcome) bool {
	return o == core.OutcomeToolError || o == core.OutcomeProtocolError || o == core.OutcomeTimeout || o == outcomeUnavailable
}

// notReached is an SQL condition for the calls with outcomeUnavailable.
const notReached = `c.code IN ('unavailable', 'unauthorized')`

// countedOutcome is the number by which rollups count a call.
func countedOutcome(outcome int, code core.Code) int {
	if outcomeNames[outcome] == core.OutcomeProtocolError && (code == core.CodeUnavailable || code == core.CodeUnauthorized) {
		return numOutcomes
	}
	return outcome
}

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
	for part := range slices.Chunk(batch, insertRows) {
		if err := cmp.Or(ctx.Err(), w.insertCalls(part)); err != nil {
			return err
		}
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

type writer struct {
	ctx        context.Context
	tx         *transaction
	in         *inserter
	sums       rollups
	dimensions map[dimension]int64
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

// refs looks up or inserts the names of a call.
func (w *writer) refs(c *core.Call) (r callRefs, err error) {
	get := func(d dimension) (id int64) {
		if err == nil {
			id, err = w.dimensionID(d)
		}
		return id
	}
	optional := func(d dimension) any {
		if d.a == "" {
			return nil
		}
		return get(d)
	}
	r.server = get(dimension{table: "server", a: c.Server})
	r.target = get(dimension{table: "target", server: r.server, a: c.Method, b: core.CutBytes(c.Name, maxName)})
	r.client = get(dimension{table: "client", a: c.Client.Token, b: core.CutBytes(c.Client.Name, maxName), c: core.CutBytes(c.Client.Version, maxName)})
	r.session = optional(dimension{table: "session", a: c.Session})
	r.workspace = optional(dimension{table: "workspace", a: core.CutBytes(c.Workspace, maxName)})
	r.account = optional(dimension{table: "account", a: core.CutBytes(c.Account, maxName)})
	if c.ServedBy != nil && err == nil {
		r.version, err = w.versionID(versionKey{r.server, *c.ServedBy}, c.At)
	}
	return r, err
}

// insertRows is the number of rows of a statement: its rows share its cursors, which account for most
// of the cost of a row. The last rows of a batch have a statement each.
const insertRows = 32

type insertedRows struct {
	one, many string // statements
	columns   int
	values    []any
}

// newInsertedRows prepares inserting into columns, such as "call (id, at)". OR FAIL prevents SQLite from copying
// each page before the statement changes it, which would only be needed to roll back a failed
// statement: the whole transaction is rolled back anyway.
func newInsertedRows(columns string) *insertedRows {
	n := strings.Count(columns, ",") + 1
	row := `(` + placeholders(n) + `)`
	one := `INSERT OR FAIL INTO ` + columns + ` VALUES ` + row
	return &insertedRows{one: one, many: one + strings.Repeat(`,`+row, insertRows-1), columns: n}
}

func (r *insertedRows) add(values ...any) { r.values = append(r.values, values...) }

func (r *insertedRows) flush(tx *transaction) error {
	for rest := r.values; len(rest) > 0; {
		query, n := r.many, insertRows*r.columns
		if len(rest) < n {
			query, n = r.one, r.columns
		}
		// A cancellable context would cost a goroutine per statement.
		stmt, err := tx.PrepareContext(context.Background(), query)
		if err != nil {
			return err
		}
		if _, err := stmt.ExecContext(context.Background(), rest[:n]...); err != nil {
			return err
		}
		rest = rest[n:]
		runtime.Gosched() // clients that wait for a reply go first, also on a single processor
	}
	return nil
}

// insertCalls inserts at most insertRows calls. One that exists already is skipped.
func (w *writer) insertCalls(batch []entry) error {
	in := w.in
	tables := in.tables()
	defer func() {
		for _, t := range tables {
			clear(t.values)
			t.values = t.values[:0]
		}
		in.compressor.Reset()
	}()
	var refs [insertRows]*callRefs // nil for a call that exists
	for i := range batch {
		e := &batch[i]
		c := &e.call
		if e.retried {
			var known bool
			if err := w.tx.QueryRowContext(w.ctx, `SELECT EXISTS (SELECT 1 FROM call WHERE id = ?)`, c.ID).Scan(&known); err != nil {
				return err
			} else if known {
				continue
			}
		}
		r, err := w.refs(c)
		if err != nil {
			return err
		}
		refs[i] = &r
		in.call.add(c.ID, c.At.UnixMicro(), r.server, r.target, r.client, r.session, r.workspace, c.Era == core.Modern, c.FromServer, int64(outcomes[c.Outcome]), string(c.Code),
			int64(c.Took), int64(c.Queued), int64(c.BytesIn), int64(c.BytesOut), int64(c.Attempts), int64(c.Progress), r.version, r.account)
		in.pending.add(c.ID, 1)
		args, argsEnc := in.compressor.Compress(e.payload[:e.arguments])
		reply, replyEnc := in.compressor.Compress(e.reply())
		argsSize, argsHash := e.argsCut.columns()
		replySize, replyHash := e.replyCut.columns()
		in.body.add(c.ID, core.CutBytes(c.PublicName, maxName), c.Instance, c.TraceID, c.Shim, c.Reason, e.isError,
			argsEnc, replyEnc, argsSize, argsHash, replySize, replyHash, args, reply)
		// What few calls have: whether the result came from the cache, the decision of the user about
		// it, the stack trace if an internal error ended it, and progress notifications.
		if c.Cached || c.Approval != "" {
			in.attributes.add(c.ID, c.Cached, string(c.Approval))
		}
		if c.Stack != "" {
			in.stack.add(c.ID, c.Stack)
		}
		if e.progress != nil {
			in.progress.add(c.ID, string(e.progress))
		}
	}
	for _, t := range tables {
		if err := t.flush(w.tx); err != nil {
			return err
		}
	}
	for i, r := range refs[:len(batch)] {
		e := &batch[i]
		c := &e.call
		if r != nil && !c.IsTaskRequest() { // saveTask counts these
			w.sums.count(r, c, sizeOf(e.reply(), c.BytesOut))
		}
		if r != nil && c.Task != nil {
			if err := w.saveTask(e, r); err != nil {
				return err
			}
		}
	}
	return nil
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
