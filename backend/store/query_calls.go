package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
)

// Limits of a query.
const (
	MaxLimit     = 500
	defaultLimit = 100
	MaxText      = 1000 // maximum length of Query.Text in characters
)

const callColumns = `c.id, c.at, coalesce(s.current_name, s.name), t.method, t.name, k.token, k.name, k.version, coalesce(e.name, ''), coalesce(w.name, ''),
	c.modern, c.from_server, c.outcome, c.code, c.took_ns, c.queued_ns, c.bytes_in, c.bytes_out, c.attempts, c.progress,
	b.public_name, b.instance, b.trace_id, b.shim, b.reason, coalesce(v.level, 0), coalesce(v.problem, ''),
	coalesce(h.cached, 0), coalesce(h.approval, ''), p.name, p.version, p.package, p.definition, coalesce(a.name, ''),
	coalesce(c.task_call_id, z.call_id, 0), coalesce(z.task_id, ''), coalesce(z.status, ''), coalesce(z.reason, ''), coalesce(z.ended, 0), z.ttl_ms, coalesce(z.updated_at, 0)`

const callTables = ` FROM call c
	JOIN server s ON s.id = c.server_id
	JOIN target t ON t.id = c.target_id
	JOIN client k ON k.id = c.client_id
	LEFT JOIN session e ON e.id = c.session_id
	LEFT JOIN workspace w ON w.id = c.workspace_id
	JOIN body b ON b.id = c.id
	LEFT JOIN verdict v ON v.call_id = c.id
	LEFT JOIN call_attributes h ON h.call_id = c.id
	LEFT JOIN version p ON p.id = c.version_id
	LEFT JOIN account a ON a.id = c.account_id
	LEFT JOIN task z ON z.call_id = c.id`

// slowCall is the duration from which the index call_slow contains calls.
const slowCall = 100 * time.Millisecond

// Calls returns calls from newest to oldest, without payloads. next is the value of Query.Before
// for the next page, or 0 if there is none. A page of a full-text search may be short or empty
// although next is not 0, because one query examines a limited number of calls.
func (s *calls) Calls(ctx context.Context, q Query) (calls []core.Call, next int64, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, MaxLimit)
	if err := q.Check(); err != nil {
		return nil, 0, err
	}
	q.late, q.now = s.lateCalls.Load(), s.opts.Now()
	if q.Before == 0 { // later pages contain older calls, which are on disk already
		s.waitForRecent(ctx)
	}
	if q.Text != "" {
		s.search.indexPending(ctx)
	}
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		calls, next, err = s.findCalls(ctx, h.read, q)
		return err
	})
	return calls, next, err
}

// waitForRecent waits up to timeouts.flush for calls that were recorded just before, so that a
// client that made a call finds it in the history. It does not wait while many calls are written:
// every query would then wait for a batch.
func (s *database) waitForRecent(ctx context.Context) {
	if s.recorder.busy() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.flush)
	defer cancel()
	s.recorder.Flush(ctx)
}

func (s *calls) findCalls(ctx context.Context, db *sql.DB, q Query) ([]core.Call, int64, error) {
	where, args, by, err := conditions(ctx, db, q)
	if err != nil || where == nil {
		return nil, 0, err
	}
	if q.Text != "" {
		where, args = by.add("+", where, args)
		return s.searchCalls(ctx, db, q, where, args)
	}
	var out []core.Call
	if by.needsCallScan() { // matching calls are often frequent among the newest
		recent, values := by.add("+", where, args)
		_, before := q.bounds()
		out, err = s.selectCalls(ctx, db, append(recent, `c.id >= (SELECT min(id) FROM (SELECT id FROM call WHERE id < ? ORDER BY id DESC LIMIT ?))`),
			append(values, cmp.Or(before, 1<<62), recentCalls), q.Limit+1)
	}
	if err == nil && len(out) <= q.Limit {
		where, args = by.newest(where, args, q.Limit+1)
		out, err = s.selectCalls(ctx, db, where, args, q.Limit+1)
	}
	if err != nil || len(out) <= q.Limit {
		return out, 0, err
	}
	return out[:q.Limit], out[q.Limit-1].ID, nil
}

// If the filters of a search reject most of its hits, one query reads maxHits hits up to
// searchRounds times.
const (
	maxHits      = 2000
	searchRounds = 5
)

func (s *calls) searchCalls(ctx context.Context, db *sql.DB, q Query, where []string, args []any) (out []core.Call, next int64, err error) {
	words := fulltext.MatchExpression(q.Text)
	if words == "" {
		return nil, 0, nil
	}
	after, before := q.bounds()
	if before == 0 {
		before = 1 << 62
	}
	limit := q.Limit + 1
	if len(where) > 0 {
		limit = maxHits
	}
	for range searchRounds {
		hits, err := queryIDs(ctx, db, `SELECT rowid FROM search WHERE search MATCH ? AND rowid < ? AND rowid > ? ORDER BY rowid DESC LIMIT ?`, words, before, after, limit)
		if err != nil {
			return nil, 0, err
		}
		if len(hits) > 0 {
			page, err := s.selectCalls(ctx, db, append([]string{`c.id IN (` + placeholders(len(hits)) + `)`}, where...), slices.Concat(hits, args), q.Limit+1-len(out))
			if err != nil {
				return nil, 0, err
			}
			out = append(out, page...)
		}
		if len(out) > q.Limit {
			return out[:q.Limit], out[q.Limit-1].ID, nil
		}
		if len(hits) < limit {
			return out, 0, nil
		}
		before = hits[limit-1].(int64)
	}
	return out, before, nil
}

func (s *calls) selectCalls(ctx context.Context, db *sql.DB, where []string, args []any, limit int) (out []core.Call, err error) {
	stmt := `SELECT ` + callColumns + callTables
	if len(where) > 0 {
		stmt += ` WHERE ` + strings.Join(where, ` AND `)
	}
	err = eachRow(ctx, db, func(row scanner) error {
		var c core.Call
		err := scanCall(row, &c, s.opts.Now())
		out = append(out, c)
		return err
	}, stmt+` ORDER BY c.id DESC LIMIT ?`, append(args[:len(args):len(args)], limit)...)
	return out, err
}

// conditions translates a query into SQL conditions. Names are resolved to row ids first, so that
// SQLite uses the index on the column and the id. A nil slice means that no call can match.
func conditions(ctx context.Context, db queryer, q Query) (where []string, args []any, by idFilters, err error) {
	where = []string{}
	add := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	after, before := q.bounds()
	if q.Text == "" { // a search also finds the words of requests about tasks
		add(`c.task_call_id IS NULL`)
	}
	if q.Text == "" { // a search applies the bounds to its hits
		if before > 0 {
			add(`c.id < ?`, before)
		}
		if after > 0 {
			add(`c.id > ?`, after)
		}
	}
	if q.late != nil && !q.From.IsZero() {
		add(`c.at >= ?`, q.From.UnixMicro())
	}
	if q.late != nil && !q.To.IsZero() {
		add(`c.at < ?`, q.To.UnixMicro())
	}
	if q.MinTook > 0 {
		add(`c.took_ns >= ?`, int64(q.MinTook))
	}
	if q.MinTook >= slowCall { // allows SQLite to use the partial index of slow calls
		add(`c.took_ns >= 100000000`)
		by.otherIndex = true
	}
	if q.MaxTook > 0 {
		add(`c.took_ns <= ?`, int64(q.MaxTook))
	}
	if q.Tag != "" {
		add(`c.id IN (SELECT call_id FROM tag WHERE name = ?)`, q.Tag)
		by.otherIndex = true
	}
	if isOpenTaskState(q.Outcome) {
		add(`c.id IN (SELECT call_id FROM task WHERE ended = 0) AND c.outcome = 1 AND EXISTS (SELECT 1 FROM task o WHERE o.call_id = c.id AND o.ended = 0 AND `+openTaskState+` = ?)`, q.now.UnixMicro(), q.Outcome)
		by.otherIndex = true
	} else if q.Outcome == outcomeFailed {
		by.list = append(by.list, idFilter{`c.outcome <> 1 AND c.outcome`, []any{2, 3, 4}}) // with the condition of its index
	} else if q.Outcome != "" {
		if q.Outcome != core.OutcomeOK {
			add(`c.outcome <> 1`) // allows SQLite to use the partial index of failed calls
		}
		switch q.Outcome {
		case outcomeUnavailable:
			add(`c.outcome = 3 AND ` + notReached)
		case core.OutcomeProtocolError:
			add(`c.outcome = 3 AND NOT ` + notReached)
		default:
			add(`c.outcome = ?`, outcomes[q.Outcome])
		}
		by.otherIndex = by.otherIndex || q.Outcome != core.OutcomeOK
		if q.Outcome == core.OutcomeOK {
			add(`NOT EXISTS (SELECT 1 FROM task o WHERE o.call_id = c.id AND o.ended = 0)`)
		}
	}
	for _, f := range []struct {
		set    bool
		column string
		find   string
		values []any
	}{
		{q.Session != "", `c.session_id`, `SELECT id FROM session WHERE name = ?`, []any{q.Session}},
		{q.Account != "", `c.account_id`, `SELECT id FROM account WHERE name = ?`, []any{q.Account}},
		{q.Version != "", `c.version_id`, `SELECT p.id FROM version p WHERE ` + versionFilter, []any{q.Version}},
		{q.Workspace != "", `c.workspace_id`, `SELECT id FROM workspace WHERE name = ?`, []any{q.Workspace}},
		{q.Tool != "", `c.target_id`, `SELECT t.id FROM target t JOIN server s ON s.id = t.server_id WHERE t.name = ? AND (? = '' OR coalesce(s.current_name, s.name) = ?) LIMIT 200`, []any{q.Tool, q.Server, q.Server}},
		{q.Client != "", `c.client_id`, `SELECT id FROM client WHERE name = ? OR token = ? LIMIT 200`, []any{q.Client, q.Client}},
		{q.Server != "" && q.Tool == "", `c.server_id`, `SELECT id FROM server WHERE coalesce(current_name, name) = ?`, []any{q.Server}},
	} {
		if !f.set {
			continue
		}
		ids, err := queryIDs(ctx, db, f.find, f.values...)
		if err != nil || len(ids) == 0 {
			return nil, nil, by, err
		}
		by.list = append(by.list, idFilter{f.column, ids})
	}
	if q.Text != "" {
		return where, args, by, nil
	}
	return where, args, by, by.chooseFirst(ctx, db, after, before)
}

// scanCall reads the call columns. The status of an open task is TaskExpired once the task has
// expired.
func scanCall(row scanner, c *core.Call, now time.Time, more ...any) error {
	var at, took, queued, updated int64
	var ttl sql.NullInt64
	var modern bool
	var outcome, level int
	var problem string
	var name, version, packageName sql.NullString
	var definition []byte
	var t core.Task
	var taskReason string
	err := row.Scan(append([]any{&c.ID, &at, &c.Server, &c.Method, &c.Name, &c.Client.Token, &c.Client.Name, &c.Client.Version, &c.Session, &c.Workspace,
		&modern, &c.FromServer, &outcome, &c.Code, &took, &queued, &c.BytesIn, &c.BytesOut, &c.Attempts, &c.Progress,
		&c.PublicName, &c.Instance, &c.TraceID, &c.Shim, &c.Reason, &level, &problem, &c.Cached, &c.Approval, &name, &version, &packageName, &definition, &c.Account,
		&t.Call, &t.ID, &t.Status, &taskReason, &t.Ended, &ttl, &updated}, more...)...)
	if level > 0 {
		c.Verdict = &core.SchemaMismatch{Level: verdictNames[level], Problem: problem}
	}
	if t.Call != 0 {
		c.Task = &t
		c.Reason = cmp.Or(taskReason, c.Reason)
	}
	c.ServedBy = scanServedBy(name, version, packageName, definition)
	c.At = time.UnixMicro(at).UTC()
	if t.TTL = -1; ttl.Valid {
		t.TTL = time.Duration(ttl.Int64) * time.Millisecond
	}
	if !t.Ended && updated != 0 && now.After(core.TaskExpiry(t.TTL, c.At, time.UnixMicro(updated))) {
		t.Status = core.TaskExpired
	}
	c.Took, c.Queued = time.Duration(took), time.Duration(queued)
	c.Outcome = outcomeNames[outcome]
	c.Era = core.Legacy
	if modern {
		c.Era = core.Modern
	}
	return err
}

type storedPayload struct {
	data []byte
	enc  int
}

// Record is one recorded call with its payloads, from which secrets were removed.
type Record struct {
	core.Call
	Arguments    []byte // JSON text; truncated if ArgumentsCut is set
	Result       []byte // JSON text, or nil
	Error        []byte // the JSON-RPC error, or nil
	ArgumentsCut *Cut
	ReplyCut     *Cut
	Note         Note
	TaskState    *TaskState // of a call that created a task. Result and Error are then those of the task, once it has ended
}

// Call returns one call. It returns a *core.Error with CodeNotFound if there is no call with this
// id.
func (s *calls) Call(ctx context.Context, id int64) (*Record, error) {
	r, err := s.call(ctx, id)
	if core.CodeOf(err) != core.CodeNotFound && (err != nil || r.TaskState == nil || r.Task.Ended) {
		return r, err
	}
	wait, cancel := context.WithTimeout(ctx, s.timeouts.flush) // the call, or the end of its task, may still be queued
	s.recorder.Flush(wait)
	cancel()
	return s.call(ctx, id)
}

func (s *calls) call(ctx context.Context, id int64) (*Record, error) {
	r := &Record{}
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		var args, reply storedPayload
		var isError bool
		var argsSize, replySize sql.NullInt64
		var argsHash, replyHash, progress []byte
		row := h.read.QueryRowContext(ctx, `SELECT `+callColumns+`, b.reply_is_error, b.arguments, b.arguments_enc, b.reply, b.reply_enc,
			b.arguments_size, b.arguments_hash, b.reply_size, b.reply_hash, coalesce(x.text, ''), coalesce(g.notifications, '')`+callTables+`
			LEFT JOIN stack_trace x ON x.call_id = c.id LEFT JOIN progress_log g ON g.call_id = c.id WHERE c.id = ?`, id)
		if err := scanCall(row, &r.Call, s.opts.Now(), &isError, &args.data, &args.enc, &reply.data, &reply.enc,
			&argsSize, &argsHash, &replySize, &replyHash, &r.Stack, &progress); err != nil {
			return err
		}
		from := payloadReader{h.read, &s.search.lastBlock}
		arguments, response, err := from.read(ctx, args, reply)
		if err != nil {
			return err
		}
		r.Arguments = arguments
		if isError {
			r.Error = response
		} else {
			r.Result = response
		}
		if len(progress) > 0 {
			if err := json.Unmarshal(progress, &r.ProgressLog); err != nil {
				return err
			}
		}
		r.ArgumentsCut, r.ReplyCut = scanCut(argsSize, argsHash), scanCut(replySize, replyHash)
		if r.Note, err = loadNote(ctx, h.read, id); err != nil {
			return err
		}
		return r.loadTask(ctx, h.read, from)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &core.Error{Code: core.CodeNotFound, Message: "there is no call " + strconv.FormatInt(id, 10) + " in the history", Hint: "List the calls with: drawbridge history"}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func scanCut(size sql.NullInt64, hash []byte) *Cut {
	if !size.Valid {
		return nil
	}
	return &Cut{Size: int(size.Int64), Hash: hash}
}

// CallWithSuffix returns the id of the only call whose id ends with digits. It returns a *core.Error
// with CodeNotFound if there is none, and with CodeValidation if there are several.
func (s *calls) CallWithSuffix(ctx context.Context, digits string) (int64, error) {
	suffix, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, err
	}
	var newest, oldest int64
	_, err = s.queryRow(ctx, []any{&newest, &oldest}, `SELECT coalesce(max(id), 0), coalesce(min(id), 0) FROM call WHERE id % ? = ?`, int64(math.Pow10(len(digits))), suffix)
	switch {
	case err != nil:
		return 0, err
	case newest == 0:
		return 0, &core.Error{Code: core.CodeNotFound, Message: "there is no call " + digits + " in the history", Hint: "List the calls with: drawbridge history"}
	case newest != oldest:
		return 0, core.Errorf(core.CodeValidation, "several ids end with %s, such as %d and %d", digits, newest, oldest)
	}
	return newest, nil
}

// LastCallID returns the id of the newest call, or 0 if the history is empty.
func (s *calls) LastCallID(ctx context.Context) (id int64, err error) {
	_, err = s.queryRow(ctx, []any{&id}, `SELECT coalesce(max(id), 0) FROM call`)
	return id, err
}

// idFilters are the filters of a query on columns with row ids. The calls of the first one are
// read, unless other is set: then an index serves another filter.
type idFilters struct {
	list       []idFilter
	otherIndex bool
}

type idFilter struct {
	column string
	ids    []any
}

// chooseFirst moves the filter that fewest calls within the bounds match to the front. It counts at
// most manyCalls calls of each.
func (f *idFilters) chooseFirst(ctx context.Context, db queryer, after, before int64) error {
	if len(f.list) == 0 || len(f.list) == 1 && !f.otherIndex {
		return nil
	}
	if before == 0 {
		before = 1 << 62
	}
	best, fewest := 0, manyCalls
	for i, one := range f.list {
		n := 0
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM call c WHERE `+one.column+` IN (`+placeholders(len(one.ids))+`) AND c.id > ? AND c.id < ? LIMIT ?)`,
			append(slices.Clone(one.ids), after, before, manyCalls)...).Scan(&n)
		if err != nil {
			return err
		}
		if n < fewest || n == fewest && len(one.ids) < len(f.list[best].ids) {
			best, fewest = i, n
		}
	}
	f.list[0], f.list[best] = f.list[best], f.list[0]
	f.otherIndex = f.otherIndex && fewest == manyCalls
	return nil
}

// needsCallScan reports whether an index may contain many calls that other filters reject, or that
// have to be sorted.
func (f *idFilters) needsCallScan() bool {
	return len(f.list) > 1 || len(f.list) == 1 && (f.otherIndex || len(f.list[0].ids) > 1)
}

// recentCalls is the number of calls that are searched for a page before an index is used.
const recentCalls = 2000

// manyCalls is how many calls of a filter are counted to find the filter that fewest calls match.
const manyCalls = 10_000

// add adds the filters to the conditions. The prefix "+" keeps SQLite from using their indexes.
func (f idFilters) add(prefix string, where []string, args []any) ([]string, []any) {
	for _, one := range f.list {
		where, args = append(where, prefix+one.column+` IN (`+placeholders(len(one.ids))+`)`), append(args, one.ids...)
	}
	return where, args
}

// newestFrom returns an id that about limit calls of a filter with several ids have after it, so
// that SQLite does not sort all calls of the filter; 0 if it has fewer, or if there is another
// filter.
func (f idFilters) newestFrom(ctx context.Context, db queryer, q Query, limit int) (int64, error) {
	if len(f.list) != 1 || len(f.list[0].ids) == 1 || f.otherIndex {
		return 0, nil
	}
	one := f.list[0]
	after, before := q.bounds()
	hasMore := func(from int64) (more bool, err error) {
		err = db.QueryRowContext(ctx, `SELECT count(*) > ? FROM (SELECT 1 FROM call c WHERE `+one.column+` IN (`+placeholders(len(one.ids))+`) AND c.id > ? AND c.id < ? LIMIT ?)`,
			slices.Concat([]any{limit}, one.ids, []any{from, cmp.Or(before, 1<<62), limit + 1})...).Scan(&more)
		return more, err
	}
	var first, last int64
	if err := db.QueryRowContext(ctx, `SELECT coalesce((SELECT min(id) FROM call), 0), coalesce((SELECT max(id) FROM call), 0)`).Scan(&first, &last); err != nil {
		return 0, err
	}
	low, high := max(after, first-1), min(cmp.Or(before, last+1), last+1)
	if more, err := hasMore(low); err != nil || !more {
		return 0, err
	}
	for precision := (high - low) / 4096; high-low > max(precision, 1); {
		middle := low + (high-low)/2
		switch more, err := hasMore(middle); {
		case err != nil:
			return 0, err
		case more:
			low = middle
		default:
			high = middle
		}
	}
	return low, nil
}

// newest adds the filters to the conditions of a query for the newest calls, so that SQLite reads
// the index of the first filter from its end. For several ids it would sort all their calls;
// therefore the newest ones of each id are selected first.
func (f idFilters) newest(where []string, args []any, limit int) ([]string, []any) {
	if len(f.list) == 0 || f.otherIndex {
		return f.add("+", where, args)
	}
	first := f.list[0]
	where, args = idFilters{list: f.list[1:]}.add("+", where, args)
	if len(first.ids) == 1 {
		return append(where, first.column+` = ?`), append(args, first.ids...)
	}
	each := `SELECT c.id FROM call c WHERE ` + strings.Join(append(where, first.column+` = x.value`), ` AND `) + ` ORDER BY c.id DESC LIMIT ?`
	ids, _ := json.Marshal(first.ids) // integers
	return []string{`c.id IN (SELECT y.value FROM json_each(?) x, json_each((SELECT json_group_array(id) FROM (` + each + `))) y ORDER BY 1 DESC LIMIT ?)`},
		slices.Concat([]any{string(ids)}, args, []any{limit, limit})
}
