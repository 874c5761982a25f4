package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"drawbridge/backend/hub"
)

// Bounds of a query.
const (
	MaxLimit     = 500
	defaultLimit = 100
	MaxText      = 1000 // bytes of Query.Text
	searchRows   = 5000 // rows looked through for one page of a search
)

// Query asks for calls. The zero Query asks for the newest ones.
type Query struct {
	Before  int64       // only calls with a smaller id; 0: from the newest on
	Server  string      // server id
	Client  string      // name of the application, or of its token
	Tool    string      // name of a tool or prompt, or URI of a resource
	Outcome hub.Outcome // how it ended
	Session string
	Text    string // to be found in names, reason, arguments or reply; upper and lower case are alike
	Limit   int    // most calls to return; 0: 100; more than 500 counts as 500
}

// flushWait is how long a question waits for calls that were recorded just before it.
const flushWait = 200 * time.Millisecond

const callColumns = `c.id, c.at, s.name, t.method, t.name, k.token, k.name, k.version, coalesce(e.name, ''),
	c.modern, c.from_server, c.outcome, c.code, c.took_ns, c.queued_ns, c.bytes_in, c.bytes_out, c.attempts, c.progress,
	b.public_name, b.instance, b.trace_id, b.shim, b.reason`

const callTables = ` FROM call c
	JOIN server s ON s.id = c.server_id
	JOIN target t ON t.id = c.target_id
	JOIN client k ON k.id = c.client_id
	LEFT JOIN session e ON e.id = c.session_id
	JOIN body b ON b.id = c.id`

// Calls returns calls from new to old, without payloads. next is the Before of the
// page that follows, 0 when there is none. A page of a search may be short, or empty,
// although there is a next one: a question looks through so many calls only.
func (s *Store) Calls(ctx context.Context, q Query) (calls []hub.Call, next int64, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, MaxLimit)
	s.settle(ctx)
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		calls, next, err = findCalls(ctx, h.read, q)
		return err
	})
	return calls, next, err
}

func (s *Store) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushWait)
	defer cancel()
	s.recorder.Flush(ctx)
}

func findCalls(ctx context.Context, db *sql.DB, q Query) ([]hub.Call, int64, error) {
	where, args, err := conditions(ctx, db, q)
	if err != nil || where == nil {
		return nil, 0, err
	}
	columns, most := callColumns, q.Limit+1
	if q.Text != "" {
		columns += `, b.arguments, b.arguments_enc, b.reply, b.reply_enc`
		most = searchRows
	}
	stmt := `SELECT ` + columns + callTables
	if len(where) > 0 {
		stmt += ` WHERE ` + strings.Join(where, ` AND `)
	}
	rows, err := db.QueryContext(ctx, stmt+` ORDER BY c.id DESC LIMIT ?`, append(args, most)...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	wanted := bytes.ToLower([]byte(q.Text))
	var out []hub.Call
	seen, last := 0, int64(0)
	for rows.Next() {
		if len(out) == q.Limit {
			return out, out[len(out)-1].ID, rows.Err()
		}
		var c hub.Call
		if q.Text == "" {
			err = scanCall(rows, &c)
		} else {
			var args, reply stored
			err = scanCall(rows, &c, &args.data, &args.enc, &reply.data, &reply.enc)
			seen, last = seen+1, c.ID
			if err == nil && !mentions(&c, args, reply, wanted) {
				continue
			}
		}
		if err != nil {
			return nil, 0, err
		}
		out = append(out, c)
	}
	if seen == searchRows {
		return out, last, rows.Err()
	}
	return out, 0, rows.Err()
}

// conditions turns a query into SQL. Names become row ids first, so that the index
// on them and the id is used; nil means that nothing can match.
func conditions(ctx context.Context, db *sql.DB, q Query) (where []string, args []any, err error) {
	where = []string{}
	add := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	if q.Before > 0 {
		add(`c.id < ?`, q.Before)
	}
	if q.Outcome != "" {
		n, ok := outcomes[q.Outcome]
		if !ok {
			return nil, nil, nil
		}
		if n != outcomes[hub.OutcomeOK] {
			add(`c.outcome <> 1`) // lets the index of failures be used
		}
		add(`c.outcome = ?`, n)
	}
	among := func(column, find string, values ...any) (bool, error) {
		ids, err := ids(ctx, db, find, values...)
		if err != nil || len(ids) == 0 {
			return false, err
		}
		add(column+` IN (?`+strings.Repeat(`,?`, len(ids)-1)+`)`, ids...)
		return true, nil
	}
	for _, f := range []struct {
		set    bool
		column string
		find   string
		values []any
	}{
		{q.Tool != "", `c.target_id`, `SELECT t.id FROM target t JOIN server s ON s.id = t.server_id WHERE t.name = ? AND (? = '' OR s.name = ?) LIMIT 200`, []any{q.Tool, q.Server, q.Server}},
		{q.Server != "" && q.Tool == "", `c.server_id`, `SELECT id FROM server WHERE name = ?`, []any{q.Server}},
		{q.Client != "", `c.client_id`, `SELECT id FROM client WHERE name = ? OR token = ? LIMIT 200`, []any{q.Client, q.Client}},
		{q.Session != "", `c.session_id`, `SELECT id FROM session WHERE name = ?`, []any{q.Session}},
	} {
		if !f.set {
			continue
		}
		if ok, err := among(f.column, f.find, f.values...); !ok {
			return nil, nil, err
		}
	}
	return where, args, nil
}

func ids(ctx context.Context, db *sql.DB, query string, args ...any) ([]any, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []any
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

type scanner interface{ Scan(...any) error }

func scanCall(row scanner, c *hub.Call, more ...any) error {
	var at, took, queued int64
	var modern bool
	var outcome int
	err := row.Scan(append([]any{&c.ID, &at, &c.Server, &c.Method, &c.Name, &c.Client.Token, &c.Client.Name, &c.Client.Version, &c.Session,
		&modern, &c.FromServer, &outcome, &c.Code, &took, &queued, &c.BytesIn, &c.BytesOut, &c.Attempts, &c.Progress,
		&c.PublicName, &c.Instance, &c.TraceID, &c.Shim, &c.Reason}, more...)...)
	c.At = time.UnixMicro(at).UTC()
	c.Took, c.Queued = time.Duration(took), time.Duration(queued)
	c.Outcome = outcomeNames[outcome]
	c.Era = hub.Legacy
	if modern {
		c.Era = hub.Modern
	}
	return err
}

// stored is a payload as it lies on disk.
type stored struct {
	data []byte
	enc  int
}

func mentions(c *hub.Call, args, reply stored, wanted []byte) bool {
	for _, text := range []string{c.Name, c.PublicName, c.Server, c.Client.Name, c.Reason} {
		if bytes.Contains(bytes.ToLower([]byte(text)), wanted) {
			return true
		}
	}
	for _, p := range []stored{args, reply} {
		if plain, err := unpack(p.data, p.enc); err == nil && bytes.Contains(bytes.ToLower(plain), wanted) {
			return true
		}
	}
	return false
}

// Record is one call with what was kept of its payloads, without secrets.
type Record struct {
	hub.Call
	Arguments    []byte // JSON text; cut off in the middle when ArgumentsCut is set
	Result       []byte // JSON text, or nil
	Error        []byte // the JSON-RPC error, or nil
	ArgumentsCut *Cut
	ReplyCut     *Cut
}

// Call returns one call. An id that is not known is a *hub.Error with CodeNotFound.
func (s *Store) Call(ctx context.Context, id int64) (*Record, error) {
	s.settle(ctx)
	r := &Record{}
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		var args, reply stored
		var isError bool
		var argsSize, replySize sql.NullInt64
		var argsHash, replyHash []byte
		row := h.read.QueryRowContext(ctx, `SELECT `+callColumns+`, b.reply_is_error, b.arguments, b.arguments_enc, b.reply, b.reply_enc,
			b.arguments_size, b.arguments_hash, b.reply_size, b.reply_hash`+callTables+` WHERE c.id = ?`, id)
		if err := scanCall(row, &r.Call, &isError, &args.data, &args.enc, &reply.data, &reply.enc,
			&argsSize, &argsHash, &replySize, &replyHash); err != nil {
			return err
		}
		var err error
		if r.Arguments, err = unpack(args.data, args.enc); err != nil {
			return err
		}
		answer, err := unpack(reply.data, reply.enc)
		if isError {
			r.Error = answer
		} else {
			r.Result = answer
		}
		r.ArgumentsCut, r.ReplyCut = cutOf(argsSize, argsHash), cutOf(replySize, replyHash)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, hub.Errorf(hub.CodeNotFound, "there is no call %d in the history", id)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func cutOf(size sql.NullInt64, hash []byte) *Cut {
	if !size.Valid {
		return nil
	}
	return &Cut{Size: int(size.Int64), Hash: hash}
}

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
	Client   hub.Client
	Calls    int64
	LastSeen time.Time
}

// Clients returns every client in the history, the most recent first.
func (s *Store) Clients(ctx context.Context) ([]ClientUse, error) {
	s.settle(ctx)
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
