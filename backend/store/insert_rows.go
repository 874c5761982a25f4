package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"time"
)

// inserter writes rows of calls through statements that stay prepared as long as their
// connection lives, and without database/sql between: half of what a row cost was the
// way to SQLite. One goroutine uses it, within a transaction of its connection.
type inserter struct {
	conn    any // the driver's, for which the statements were prepared
	call    rowsOf
	usual   rowsOf // calls with what is constant in usualCall
	perhaps rowsOf // calls that may be there already
	body    rowsOf
	short   rowsOf // bodies with what is constant in shortBody
	pending rowsOf
	packer  packer
	breath  writeThrottle

	dimensions map[dimension]int64
	known      uint64 // Store.renamed when dimensions was empty
}

// maxDimensions bounds how many names are remembered.
const maxDimensions = 4096

// names returns the rows of names that earlier batches have met, while renamed is what
// it was then.
func (in *inserter) names(renamed uint64) map[dimension]int64 {
	if in.dimensions == nil || in.known != renamed || len(in.dimensions) > maxDimensions {
		in.dimensions, in.known = make(map[dimension]int64), renamed
	}
	return in.dimensions
}

// insertRows is how many calls are inserted together.
const insertRows = 32

// Several rows in one statement share its cursors, which is a third of what a row costs.
// "OR FAIL" keeps SQLite from copying each page that it changes for the case that the
// statement fails: the transaction is given up then, and with it what the statement did.
var (
	rowSteps = steps{32, 8, 1}
	oneStep  = steps{1}
)

// steps are how many rows the statements of a table take, down to one.
type steps [3]int

// rowsOf are the rows of one table that the next statements insert.
type rowsOf struct {
	columns int
	steps   steps
	stmts   [len(steps{})]driver.StmtExecContext
	values  []driver.NamedValue
	breath  *writeThrottle
}

// writeThrottle is how long a piece of work that holds the file may pause yet.
type writeThrottle struct {
	calm func() bool // whether few calls wait behind it
	left time.Duration
}

// maxPauses bounds the pauses of a batch, and half of it those of a step of the index,
// however late their timers ring: a call is to be on disk within 100 ms, of which it may
// wait 50 for others to join it, and for the batch before.
const maxPauses = 20 * time.Millisecond

// pause is breathe, if there is time.
func (b *writeThrottle) pause(used time.Duration) {
	if b.left <= 0 || !b.calm() {
		return
	}
	began := time.Now()
	yieldProcessor(used)
	b.left -= time.Since(began)
}

// yieldProcessor leaves the processor to those who wait for an answer, for about as long as it
// was used. A batch takes as long as dozens of calls, which would all wait for its end
// where one processor is all there is.
func yieldProcessor(used time.Duration) {
	pause := time.NewTimer(min(max(used, 50*time.Microsecond), time.Millisecond))
	<-pause.C
}

// What is inserted, and the row of a statement. A value that nearly every call has stands
// in the statement: to bind one costs as much as to store it.
const (
	ofCall    = `id, at, server_id, target_id, client_id, session_id, workspace_id, modern, from_server, outcome, code, took_ns, queued_ns, bytes_in, bytes_out, attempts, progress`
	anyCall   = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	usualCall = `(?,?,?,?,?,?,NULL,?,0,?,'',?,?,?,?,1,0)`
	ofBody    = `id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_enc, reply_enc, arguments_size, arguments_hash, reply_size, reply_hash, arguments, reply`
	anyBody   = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	shortBody = `(?,?,?,'','','',0,0,0,NULL,NULL,NULL,NULL,?,?)`
)

func (in *inserter) prepare(conn any) error {
	if in.conn == conn {
		return nil
	}
	in.forget()
	for _, t := range []struct {
		rows  *rowsOf
		steps steps
		into  string
		row   string
		where string
	}{
		{&in.call, rowSteps, `call (` + ofCall + `)`, anyCall, ""},
		{&in.usual, rowSteps, `call (` + ofCall + `)`, usualCall, ""},
		{&in.perhaps, oneStep, `call (` + ofCall + `)`, anyCall, ` ON CONFLICT (id) DO NOTHING`},
		{&in.body, rowSteps, `body (` + ofBody + `)`, anyBody, ""},
		{&in.short, rowSteps, `body (` + ofBody + `)`, shortBody, ""},
		{&in.pending, rowSteps, `pending (id, counted)`, `(?,1)`, ""},
	} {
		t.rows.columns, t.rows.steps, t.rows.breath = strings.Count(t.row, "?"), t.steps, &in.breath
		for i, n := range t.steps {
			if n == 0 {
				break
			}
			stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(context.Background(),
				`INSERT OR FAIL INTO `+t.into+` VALUES `+t.row+strings.Repeat(`,`+t.row, n-1)+t.where)
			if err != nil {
				in.close()
				return err
			}
			t.rows.stmts[i] = stmt.(driver.StmtExecContext)
		}
	}
	in.conn = conn
	return nil
}

// leave ends the statements while their connection is open: after a batch that failed,
// the pool may close it.
func (in *inserter) leave(conn *sql.Conn) {
	_ = conn.Raw(func(driverConn any) error {
		if in.conn == driverConn {
			in.close()
		}
		return nil
	})
	in.forget()
}

// close ends the statements; the next batch prepares new ones.
func (in *inserter) close() {
	for _, t := range in.tables() {
		for _, stmt := range t.stmts {
			if stmt != nil {
				_ = stmt.(driver.Stmt).Close()
			}
		}
	}
	in.forget()
}

// forget lets go of statements whose connection is closed: to end one then crashes.
func (in *inserter) forget() {
	for _, t := range in.tables() {
		clear(t.stmts[:])
		t.clear()
	}
	in.conn = nil
}

func (in *inserter) clear() {
	for _, t := range in.tables() {
		t.clear()
	}
	in.packer.reset()
}

// tables are in the order in which they are written.
func (in *inserter) tables() [6]*rowsOf {
	return [...]*rowsOf{&in.call, &in.usual, &in.perhaps, &in.body, &in.short, &in.pending}
}

// flush inserts what was added of new calls.
func (in *inserter) flush() error {
	defer in.clear()
	for _, t := range in.tables() {
		if _, err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (t *rowsOf) add(values ...any) {
	for _, v := range values {
		t.values = append(t.values, driver.NamedValue{Value: v})
	}
}

func (t *rowsOf) clear() {
	clear(t.values)
	t.values = t.values[:0]
}

// flush inserts the rows, as many at once as can be, and reports how many were new.
// Statements are not interrupted in the middle: a context that can end costs a
// goroutine for each of them.
func (t *rowsOf) flush() (inserted int64, err error) {
	defer t.clear()
	for rest := t.values; len(rest) > 0; {
		step := 0
		for t.steps[step]*t.columns > len(rest) {
			step++
		}
		some := rest[:t.steps[step]*t.columns]
		rest = rest[len(some):]
		for i := range some {
			some[i].Ordinal = i + 1
		}
		began := time.Now()
		result, err := t.stmts[step].ExecContext(context.Background(), some)
		if err != nil {
			return inserted, err
		}
		t.breath.pause(time.Since(began))
		n, err := result.RowsAffected()
		if err != nil {
			return inserted, err
		}
		inserted += n
	}
	return inserted, nil
}
