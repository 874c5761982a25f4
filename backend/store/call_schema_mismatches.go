package store

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// maxProblem is the maximum length of a verdict's problem in bytes.
const maxProblem = 2000

var verdictLevels = map[string]int{"warn": 1, "error": 2}

var verdictNames = map[int]string{1: "warn", 2: "error"}

// SaveVerdict stores the verdict on the result of a call, which does not match the output schema
// of its tool. It does nothing if the call is not in the history, for example because it was not
// recorded.
func (s *Store) SaveVerdict(ctx context.Context, id int64, v core.SchemaMismatch) error {
	flush, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	s.recorder.Flush(flush)
	problem := core.CutBytes(s.recorder.Redact(v.Problem), maxProblem)
	return s.exec(ctx, `INSERT INTO verdict (call_id, level, problem) SELECT id, ?, ? FROM call WHERE id = ?
		ON CONFLICT (call_id) DO UPDATE SET level = excluded.level, problem = excluded.problem`, verdictLevels[v.Level], problem, id)
}
