package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// transaction is a write transaction.
type transaction struct {
	*sql.Tx
	statements *statements // nil if none are kept
	lock       *sql.Conn   // released by Rollback; nil if the transaction is on the connection of write
}

// PrepareContext returns a statement, which the transaction closes. If the transaction keeps
// statements, text must be one of a few constants.
func (tx *transaction) PrepareContext(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := tx.statements; s != nil {
		if stmt := s.kept[text]; stmt != nil {
			return tx.StmtContext(ctx, stmt), nil
		}
		if !slices.Contains(s.missing, text) {
			s.missing = append(s.missing, text)
		}
	}
	return tx.Tx.PrepareContext(ctx, text)
}

// Rollback must be called at the end, also after Commit.
func (tx *transaction) Rollback() error {
	err := tx.Tx.Rollback()
	if tx.lock != nil {
		_ = tx.lock.Close()
	}
	return err
}

// begin begins a transaction.
func (h *handle) begin(ctx context.Context) (*transaction, error) {
	tx, err := h.write.BeginTx(ctx, nil)
	return &transaction{Tx: tx}, err
}

// beginCalls begins a transaction for new calls or their index, without foreign key checks and with
// statements that stay prepared: parsing them takes as long as inserting dozens of calls, and
// checking the keys of a call a fifth of the time of inserting it. The transaction must look up or
// insert the rows that its rows refer to.
func (h *handle) beginCalls(ctx context.Context) (*transaction, error) {
	lock, err := h.write.Conn(ctx) // SQLite would let the two connections wait with longer and longer sleeps
	if err != nil {
		return nil, err
	}
	if err = h.prepared.prepareMissing(ctx, h.writeCalls); err == nil {
		var tx *sql.Tx
		if tx, err = h.writeCalls.BeginTx(ctx, nil); err == nil {
			return &transaction{tx, &h.prepared, lock}, nil
		}
	}
	return nil, errors.Join(err, lock.Close())
}

// statements are statements that are kept prepared on a pool with one connection. The connection of
// write guards them.
type statements struct {
	kept    map[string]*sql.Stmt
	missing []string // were used, but could not be kept while a transaction occupied the connection
}

func (s *statements) prepareMissing(ctx context.Context, db *sql.DB) error {
	if s.kept == nil {
		s.kept = make(map[string]*sql.Stmt)
	}
	for len(s.missing) > 0 {
		stmt, err := db.PrepareContext(ctx, s.missing[0])
		if err != nil {
			return err
		}
		s.kept[s.missing[0]], s.missing = stmt, s.missing[1:]
	}
	return nil
}
