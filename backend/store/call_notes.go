package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of annotations. MaxNote, MaxTitle and MaxTag are in characters.
const (
	MaxNote  = 5000
	MaxTitle = 500
	MaxTags  = 20
	MaxTag   = 50
)

// Note is the user's annotation of a call.
type Note struct {
	Title string
	Text  string
	Tags  []string // sorted, without duplicates
}

func (n *Note) check() error {
	if utf8.RuneCountInString(n.Title) > MaxTitle {
		return tooLong("title", MaxTitle)
	}
	if utf8.RuneCountInString(n.Text) > MaxNote {
		return tooLong("note", MaxNote)
	}
	for i, tag := range n.Tags {
		n.Tags[i] = strings.TrimSpace(tag)
		if n.Tags[i] == "" {
			return invalid(fmt.Sprintf("tags[%d]", i), "must not be empty")
		}
		if utf8.RuneCountInString(tag) > MaxTag {
			return tooLong(fmt.Sprintf("tags[%d]", i), MaxTag)
		}
	}
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
	if len(n.Tags) > MaxTags {
		return invalid("tags", fmt.Sprintf("must contain at most %d tags", MaxTags))
	}
	return nil
}

// SaveNote sets the note of a call and replaces the previous one. An empty note deletes it.
func (s *calls) SaveNote(ctx context.Context, id int64, n Note) error {
	return s.saveNote(ctx, id, nil, n)
}

// ChangeNote is like SaveNote, but fails with CodeConflict and writes nothing if the stored note
// is not equal to was, the note that the user started to edit.
func (s *calls) ChangeNote(ctx context.Context, id int64, was, n Note) error {
	was.Tags = slices.Sorted(slices.Values(was.Tags))
	return s.saveNote(ctx, id, &was, n)
}

func (s *calls) saveNote(ctx context.Context, id int64, was *Note, n Note) error {
	n.Tags = slices.Clone(n.Tags)
	if err := n.check(); err != nil {
		return err
	}
	s.waitForRecent(ctx)
	return s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		var known int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM call WHERE id = ?`, id).Scan(&known); err != nil {
			return err
		}
		if known == 0 {
			return core.Errorf(core.CodeNotFound, "there is no call %d in the history", id)
		}
		if was != nil {
			current, err := loadNote(ctx, tx, id)
			if err != nil {
				return err
			}
			if current.Title != was.Title || current.Text != was.Text || !slices.Equal(current.Tags, was.Tags) {
				return &core.Error{Code: core.CodeConflict, Message: "the note was changed in the meantime", Hint: "Reload it before you overwrite it."}
			}
		}
		for _, stmt := range []string{`DELETE FROM note WHERE call_id = ?`, `DELETE FROM tag WHERE call_id = ?`} {
			if _, err := tx.ExecContext(ctx, stmt, id); err != nil {
				return err
			}
		}
		if n.Title != "" || n.Text != "" {
			if _, err := tx.ExecContext(ctx, `INSERT INTO note (call_id, title, text, saved_at) VALUES (?,?,?,?)`, id, n.Title, n.Text, s.opts.Now().UnixMicro()); err != nil {
				return err
			}
		}
		for _, tag := range n.Tags {
			if _, err := tx.ExecContext(ctx, `INSERT INTO tag (call_id, name) VALUES (?,?)`, id, tag); err != nil {
				return err
			}
		}
		return nil
	})
}

func loadNote(ctx context.Context, db queryer, id int64) (n Note, err error) {
	err = db.QueryRowContext(ctx, `SELECT title, text FROM note WHERE call_id = ?`, id).Scan(&n.Title, &n.Text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	err = eachRow(ctx, db, func(row scanner) error {
		var tag string
		err := row.Scan(&tag)
		n.Tags = append(n.Tags, tag)
		return err
	}, `SELECT name FROM tag WHERE call_id = ? ORDER BY name`, id)
	return n, err
}

// maxProblem is the maximum length of a verdict's problem in bytes.
const maxProblem = 2000

var verdictLevels = map[string]int{"warn": 1, "error": 2}

var verdictNames = map[int]string{1: "warn", 2: "error"}

// SaveVerdict stores the verdict on the result of a call, which does not match the output schema
// of its tool. It does nothing if the call is not in the history, for example because it was not
// recorded.
func (s *calls) SaveVerdict(ctx context.Context, id int64, v core.SchemaMismatch) error {
	flush, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	s.recorder.Flush(flush)
	problem := core.CutBytes(s.recorder.Redact(v.Problem), maxProblem)
	return s.exec(ctx, `INSERT INTO verdict (call_id, level, problem) SELECT id, ?, ? FROM call WHERE id = ?
		ON CONFLICT (call_id) DO UPDATE SET level = excluded.level, problem = excluded.problem`, verdictLevels[v.Level], problem, id)
}

// SavedCheck returns the saved check with this name, or nil if there is none.
func (s *records) SavedCheck(ctx context.Context, name string) (document []byte, err error) {
	_, err = s.queryRow(ctx, []any{&document}, `SELECT document FROM saved_check WHERE name = ?`, name)
	return document, err
}

// SavedChecks returns all saved checks, sorted by name.
func (s *records) SavedChecks(ctx context.Context) (documents [][]byte, err error) {
	err = s.queryRows(ctx, func(row scanner) error {
		var document []byte
		err := row.Scan(&document)
		documents = append(documents, document)
		return err
	}, `SELECT document FROM saved_check ORDER BY name`)
	return documents, err
}

// SaveCheck stores a check and replaces the previous one of the same name.
func (s *records) SaveCheck(ctx context.Context, name string, document []byte) error {
	return s.exec(ctx, `INSERT INTO saved_check (name, saved_at, document) VALUES (?,?,?)
		ON CONFLICT (name) DO UPDATE SET saved_at = excluded.saved_at, document = excluded.document`, name, s.opts.Now().UnixMicro(), document)
}

// DeleteCheck deletes a saved check. It returns a *core.Error with CodeNotFound if there is none.
func (s *records) DeleteCheck(ctx context.Context, name string) error {
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
