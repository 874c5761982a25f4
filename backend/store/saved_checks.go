package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Check returns the saved check with this name, or nil if there is none.
func (s *Store) Check(ctx context.Context, name string) ([]byte, error) {
	var document []byte
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT document FROM saved_check WHERE name = ?`, name).Scan(&document)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return document, err
}

// Checks returns all saved checks, sorted by name.
func (s *Store) Checks(ctx context.Context) (documents [][]byte, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT document FROM saved_check ORDER BY name`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var document []byte
			if err := rows.Scan(&document); err != nil {
				return err
			}
			documents = append(documents, document)
		}
		return rows.Err()
	})
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
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM saved_check WHERE name = ?`, name)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	if err == nil && n == 0 {
		return core.Errorf(core.CodeNotFound, "there is no such check")
	}
	if err != nil {
		return fmt.Errorf("cannot delete a check: %w", err)
	}
	return nil
}
