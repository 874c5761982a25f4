package store

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SavedCheck returns the saved check with this name, or nil if there is none.
func (s *Store) SavedCheck(ctx context.Context, name string) (document []byte, err error) {
	_, err = s.queryRow(ctx, []any{&document}, `SELECT document FROM saved_check WHERE name = ?`, name)
	return document, err
}

// SavedChecks returns all saved checks, sorted by name.
func (s *Store) SavedChecks(ctx context.Context) (documents [][]byte, err error) {
	err = s.queryRows(ctx, func(row scanner) error {
		var document []byte
		err := row.Scan(&document)
		documents = append(documents, document)
		return err
	}, `SELECT document FROM saved_check ORDER BY name`)
	return documents, err
}

// SaveCheck stores a check and replaces the previous one of the same name.
func (s *Store) SaveCheck(ctx context.Context, name string, document []byte) error {
	return s.exec(ctx, `INSERT INTO saved_check (name, saved_at, document) VALUES (?,?,?)
		ON CONFLICT (name) DO UPDATE SET saved_at = excluded.saved_at, document = excluded.document`, name, s.opts.Now().UnixMicro(), document)
}

// DeleteCheck deletes a saved check. It returns a *core.Error with CodeNotFound if there is none.
func (s *Store) DeleteCheck(ctx context.Context, name string) error {
	var n int64
	err := s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM saved_check WHERE name = ?`, name)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot delete a check: %w", err)
	}
	if n == 0 {
		return core.Errorf(core.CodeNotFound, "there is no such check")
	}
	return nil
}
