package store

import (
	"context"
	"database/sql/driver"
	"strings"
)

// inserter writes rows of calls through statements that stay prepared as long as their
// connection lives, and without database/sql between: half of what a row cost was the
// way to SQLite. One goroutine uses it, within a transaction of its connection.
type inserter struct {
	conn    any // the driver's, for which the statements were prepared
	call    rowsOf
	perhaps rowsOf // calls that may be there already
	body    rowsOf
	pending rowsOf
	packer  packer

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
}

func (in *inserter) prepare(conn any) error {
	if in.conn == conn {
		return nil
	}
	in.close()
	const ofCall = `id, at, server_id, target_id, client_id, session_id, workspace_id, modern, from_server, outcome, code, took_ns, queued_ns, bytes_in, bytes_out, attempts, progress`
	for _, t := range []struct {
		rows  *rowsOf
		table string
		steps steps
		names string
		where string
	}{
		{&in.call, "call", rowSteps, ofCall, ""},
		{&in.perhaps, "call", oneStep, ofCall, ` ON CONFLICT (id) DO NOTHING`},
		{&in.body, "body", rowSteps, `id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_enc, reply_enc, arguments_size, arguments_hash, reply_size, reply_hash, arguments, reply`, ""},
		{&in.pending, "pending", rowSteps, `id, counted`, ""},
	} {
		t.rows.columns, t.rows.steps = strings.Count(t.names, ",")+1, t.steps
		row := `(?` + strings.Repeat(`,?`, t.rows.columns-1) + `)`
		for i, n := range t.steps {
			if n == 0 {
				break
			}
			stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(context.Background(),
				`INSERT OR FAIL INTO `+t.table+` (`+t.names+`) VALUES `+row+strings.Repeat(`,`+row, n-1)+t.where)
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

// close ends the statements; the next batch prepares new ones.
func (in *inserter) close() {
	for _, t := range []*rowsOf{&in.call, &in.perhaps, &in.body, &in.pending} {
		for i, stmt := range t.stmts {
			if stmt != nil {
				_ = stmt.(driver.Stmt).Close()
			}
			t.stmts[i] = nil
		}
		t.clear()
	}
	in.conn = nil
}

func (in *inserter) clear() {
	in.call.clear()
	in.perhaps.clear()
	in.body.clear()
	in.pending.clear()
	in.packer.reset()
}

// newCall adds a call and reports whether it is new. One that may be there already is
// inserted at once, to find out.
func (in *inserter) newCall(perhaps bool, values ...any) (bool, error) {
	if !perhaps {
		in.call.add(values...)
		return true, nil
	}
	in.perhaps.add(values...)
	n, err := in.perhaps.flush()
	return n > 0, err
}

// flush inserts what was added of new calls.
func (in *inserter) flush() error {
	defer in.clear()
	if _, err := in.call.flush(); err != nil {
		return err
	}
	if _, err := in.body.flush(); err != nil {
		return err
	}
	_, err := in.pending.flush()
	return err
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
		result, err := t.stmts[step].ExecContext(context.Background(), some)
		if err != nil {
			return inserted, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return inserted, err
		}
		inserted += n
	}
	return inserted, nil
}
