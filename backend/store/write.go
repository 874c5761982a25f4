package store

import (
	"context"
	"database/sql"

	"drawbridge/backend/hub"
)

// outcomes are the numbers that stand for outcomes in the database.
var outcomes = map[hub.Outcome]int{
	hub.OutcomeOK: 1, hub.OutcomeToolError: 2, hub.OutcomeProtocolError: 3,
	hub.OutcomeTimeout: 4, hub.OutcomeCancelled: 5, hub.OutcomeRejected: 6,
}

var outcomeNames = func() map[int]hub.Outcome {
	m := make(map[int]hub.Outcome, len(outcomes))
	for name, n := range outcomes {
		m[n] = name
	}
	return m
}()

const maxName = 1024 // bytes of a name or URI

// write puts a batch on disk in one transaction. A call that is there already stays:
// a commit may have worked although it was reported as failed.
func (s *Store) write(ctx context.Context, batch []entry) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return s.use(func(h *handle) error {
		tx, err := h.write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		w, err := newWriter(ctx, tx)
		if err != nil {
			return err
		}
		defer w.close()
		w.plain = len(batch) == batchRows // there is more than the disk gets: no time for packing
		for i := range batch {
			if err := w.call(&batch[i]); err != nil {
				return err
			}
		}
		if err := w.sums.save(ctx, tx, s.o.Now()); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// writer inserts calls within one transaction. It looks each name up once.
type writer struct {
	ctx        context.Context
	tx         *sql.Tx
	insertCall *sql.Stmt
	insertBody *sql.Stmt
	insertNew  *sql.Stmt
	sums       rollups
	plain      bool // payloads are stored as they are
	dimensions map[dimension]int64
	deflater   deflater
}

// dimension is a row of server, client, target, session or workspace.
type dimension struct {
	table   string
	server  int64
	a, b, c string
}

func newWriter(ctx context.Context, tx *sql.Tx) (*writer, error) {
	w := &writer{ctx: ctx, tx: tx, dimensions: make(map[dimension]int64), sums: make(rollups)}
	var err error
	w.insertCall, err = tx.PrepareContext(ctx, `INSERT INTO call
		(id, at, server_id, target_id, client_id, session_id, workspace_id, modern, from_server, outcome, code, took_ns, queued_ns, bytes_in, bytes_out, attempts, progress)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`)
	if err != nil {
		return nil, err
	}
	w.insertBody, err = tx.PrepareContext(ctx, `INSERT INTO body
		(id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_enc, reply_enc, arguments_size, arguments_hash, reply_size, reply_hash, arguments, reply)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`)
	if err != nil {
		return nil, err
	}
	w.insertNew, err = tx.PrepareContext(ctx, `INSERT INTO pending (id, counted) VALUES (?, 1) ON CONFLICT (id) DO NOTHING`)
	return w, err
}

func (w *writer) close() {
	_ = w.insertCall.Close()
	_ = w.insertBody.Close()
	_ = w.insertNew.Close()
}

func (w *writer) call(e *entry) error {
	c := &e.call
	server, err := w.id(dimension{table: "server", a: c.Server})
	if err != nil {
		return err
	}
	target, err := w.id(dimension{table: "target", server: server, a: c.Method, b: shorten(c.Name, maxName)})
	if err != nil {
		return err
	}
	client, err := w.id(dimension{table: "client", a: c.Client.Token, b: shorten(c.Client.Name, maxName), c: shorten(c.Client.Version, maxName)})
	if err != nil {
		return err
	}
	var session, workspace any
	if c.Session != "" {
		if session, err = w.id(dimension{table: "session", a: c.Session}); err != nil {
			return err
		}
	}
	if c.Workspace != "" {
		if workspace, err = w.id(dimension{table: "workspace", a: shorten(c.Workspace, maxName)}); err != nil {
			return err
		}
	}
	res, err := w.insertCall.ExecContext(w.ctx, c.ID, c.At.UnixMicro(), server, target, client, session, workspace,
		c.Era == hub.Modern, c.FromServer, outcomes[c.Outcome], string(c.Code), int64(c.Took), int64(c.Queued),
		c.BytesIn, c.BytesOut, c.Attempts, c.Progress)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err // it is there already, all of it
	}
	if _, err := w.insertNew.ExecContext(w.ctx, c.ID); err != nil {
		return err
	}
	w.sums.count(target, client, c.At.UnixMicro(), c.Outcome, c.Took, 1)
	var args, reply []byte
	if e.payload != nil {
		args, reply = (*e.payload)[:e.arguments], (*e.payload)[e.arguments:]
	}
	args, argsEnc := w.pack(args)
	reply, replyEnc := w.pack(reply)
	argsSize, argsHash := e.argsCut.columns()
	replySize, replyHash := e.replyCut.columns()
	_, err = w.insertBody.ExecContext(w.ctx, c.ID, shorten(c.PublicName, maxName), c.Instance, c.TraceID, c.Shim, c.Reason, e.isError,
		argsEnc, replyEnc, argsSize, argsHash, replySize, replyHash, args, reply)
	return err
}

func (w *writer) pack(b []byte) ([]byte, int) {
	if w.plain && len(b) > 0 {
		return b, encPlain
	}
	return w.deflater.pack(b)
}

func (c *Cut) columns() (size, hash any) {
	if c == nil {
		return nil, nil
	}
	if c.Hash == nil {
		return c.Size, nil
	}
	return c.Size, c.Hash
}

// id returns the row of a name, making it when it is new.
func (w *writer) id(d dimension) (int64, error) {
	if id, ok := w.dimensions[d]; ok {
		return id, nil
	}
	var find, insert string
	var args []any
	switch d.table {
	case "server":
		find, insert = `SELECT id FROM server WHERE name = ?`, `INSERT INTO server (name) VALUES (?)`
		args = []any{d.a}
	case "session":
		find, insert = `SELECT id FROM session WHERE name = ?`, `INSERT INTO session (name) VALUES (?)`
		args = []any{d.a}
	case "workspace":
		find, insert = `SELECT id FROM workspace WHERE name = ?`, `INSERT INTO workspace (name) VALUES (?)`
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
	if err == sql.ErrNoRows {
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
