package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

// inserter inserts the rows of calls, several with one statement. It is used by one goroutine,
// within the transaction that begin was called with.
type inserter struct {
	tx          *transaction // the transaction of the current batch
	call        insertBuffer
	commonCall  insertBuffer // calls that have the constant values of commonCallRow
	retriedCall insertBuffer // calls that may exist already, after a failed attempt
	body        insertBuffer
	shortBody   insertBuffer // bodies that have the constant values of shortBodyRow
	pending     insertBuffer
	compressor  payload.Compressor
	throttle    writeThrottle

	dimensions map[dimension]int64
	versions   map[versionKey]any // of int64, so that binding one allocates nothing
	namesGen   uint64             // value of Store.namesGen when dimensions and versions were created
}

// maxDimensions bounds the number of cached names.
const maxDimensions = 4096

// refreshCaches drops the caches of row ids by name when namesGen has changed, because rows may
// have been deleted.
func (in *inserter) refreshCaches(gen uint64) {
	if in.dimensions == nil || in.namesGen != gen || len(in.dimensions)+len(in.versions) > maxDimensions {
		in.dimensions, in.versions, in.namesGen = make(map[dimension]int64), make(map[versionKey]any), gen
	}
}

// insertRows is the maximum number of calls per statement.
const insertRows = 32

// Inserting several rows with one statement shares its cursors, which account for a third of the
// cost of a row. "OR FAIL" prevents SQLite from copying each page before the statement changes it,
// which would only be needed to roll back a failed statement: the whole transaction is rolled back
// anyway.
var (
	callBatchSizes = batchSizes{32, 8, 1}
	singleRow      = batchSizes{1}
)

// batchSizes are the numbers of rows per statement, in descending order down to 1.
type batchSizes [3]int

// insertBuffer buffers the rows that will be inserted into one table.
type insertBuffer struct {
	columns    int
	batchSizes batchSizes
	text       [len(batchSizes{})]string
	stmts      [len(batchSizes{})]*sql.Stmt // prepared in the transaction on first use
	values     []any
	throttle   *writeThrottle
}

// Columns and value lists of the INSERT statements. Values that nearly all calls share are
// literals, because binding a value costs as much as storing it.
const (
	callInsertColumns = `id, at, server_id, target_id, client_id, session_id, workspace_id, modern, from_server, outcome, code, took_ns, queued_ns, bytes_in, bytes_out, attempts, progress, version_id, account_id`
	callRow           = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	commonCallRow     = `(?,?,?,?,?,?,NULL,?,0,?,'',?,?,?,?,1,0,?,NULL)`
	bodyInsertColumns = `id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_enc, reply_enc, arguments_size, arguments_hash, reply_size, reply_hash, arguments, reply`
	bodyRow           = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	shortBodyRow      = `(?,?,?,'','','',0,0,0,NULL,NULL,NULL,NULL,?,?)`
)

func (in *inserter) begin(tx *transaction) {
	in.tx = tx
	for _, t := range []struct {
		rows  *insertBuffer
		steps batchSizes
		into  string
		row   string
		where string
	}{
		{&in.call, callBatchSizes, `call (` + callInsertColumns + `)`, callRow, ""},
		{&in.commonCall, callBatchSizes, `call (` + callInsertColumns + `)`, commonCallRow, ""},
		{&in.retriedCall, singleRow, `call (` + callInsertColumns + `)`, callRow, ` ON CONFLICT (id) DO NOTHING`},
		{&in.body, callBatchSizes, `body (` + bodyInsertColumns + `)`, bodyRow, ""},
		{&in.shortBody, callBatchSizes, `body (` + bodyInsertColumns + `)`, shortBodyRow, ""},
		{&in.pending, callBatchSizes, `pending (id, counted)`, `(?,1)`, ""},
	} {
		t.rows.columns, t.rows.batchSizes, t.rows.throttle = strings.Count(t.row, "?"), t.steps, &in.throttle
		for i, n := range t.steps {
			if n == 0 {
				break
			}
			t.rows.stmts[i] = nil
			if t.rows.text[i] != "" {
				continue
			}
			t.rows.text[i] = `INSERT OR FAIL INTO ` + t.into + ` VALUES ` + t.row + strings.Repeat(`,`+t.row, n-1) + t.where
		}
		t.rows.clear()
	}
}

func (in *inserter) clearBuffers() {
	for _, t := range in.tables() {
		t.clear()
	}
	in.compressor.Reset()
}

// tables returns the tables in the order in which they are written.
func (in *inserter) tables() [6]*insertBuffer {
	return [...]*insertBuffer{&in.call, &in.commonCall, &in.retriedCall, &in.body, &in.shortBody, &in.pending}
}

// flush inserts all buffered rows.
func (in *inserter) flush() error {
	defer in.clearBuffers()
	for _, t := range in.tables() {
		if _, err := t.flush(in.tx); err != nil {
			return err
		}
	}
	return nil
}

func (t *insertBuffer) add(values ...any) {
	t.values = append(t.values, values...)
}

func (t *insertBuffer) clear() {
	clear(t.values)
	t.values = t.values[:0]
}

// flush inserts the buffered rows with as few statements as possible, and returns the number of
// rows inserted. It uses a context that cannot be cancelled, because a cancellable one costs a
// goroutine per statement.
func (t *insertBuffer) flush(tx *transaction) (inserted int64, err error) {
	defer t.clear()
	for rest := t.values; len(rest) > 0; {
		step := 0
		for t.batchSizes[step]*t.columns > len(rest) {
			step++
		}
		some := rest[:t.batchSizes[step]*t.columns]
		rest = rest[len(some):]
		if t.stmts[step] == nil {
			if t.stmts[step], err = tx.PrepareContext(context.Background(), t.text[step]); err != nil {
				return inserted, err
			}
		}
		result, err := t.stmts[step].ExecContext(context.Background(), some...)
		if err != nil {
			return inserted, err
		}
		t.throttle.pause()
		n, err := result.RowsAffected()
		if err != nil {
			return inserted, err
		}
		inserted += n
	}
	return inserted, nil
}
