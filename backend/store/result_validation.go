package store

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// maxProblem bounds the sentence of a verdict, in bytes.
const maxProblem = 2000

var verdictLevels = map[string]int{"warn": 1, "error": 2}

var verdictNames = map[int]string{1: "warn", 2: "error"}

// SaveVerdict marks a recorded call whose result is not what its tool promised. A call
// that is not in the history, because nothing is recorded for instance, stays out of it.
func (s *Store) SaveVerdict(ctx context.Context, id int64, v core.Verdict) error {
	flush, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	s.recorder.Flush(flush)
	problem := shorten(s.recorder.Redact(v.Problem), maxProblem)
	return s.withHandle(func(h *handle) error {
		_, err := h.write.ExecContext(ctx, `INSERT INTO verdict (call_id, level, problem) SELECT id, ?, ? FROM call WHERE id = ?
			ON CONFLICT (call_id) DO UPDATE SET level = excluded.level, problem = excluded.problem`, verdictLevels[v.Level], problem, id)
		return err
	})
}
