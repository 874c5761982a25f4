package store

import (
	"context"
	"database/sql"
	"time"
)

// maxTargets bounds the names of what is called. A server may have a resource of another
// name for each request: beyond the bound, the oldest that no call is left of lose their sums.
const maxTargets = 10_000

// namesEvery is the least time between two looks for names that nothing refers to.
const namesEvery = 10 * time.Minute

// How many names one transaction deletes: foreign keys make each of them cost a look at
// the rows that could refer to it.
const forgetRows = 50

// unusedNames selects the rows of each table that no call and no sum refers to, at most as
// many as the argument says. A server comes last: its targets go first.
var unusedNames = []struct{ table, ids string }{
	{"target", `SELECT id FROM target t WHERE NOT EXISTS (SELECT 1 FROM call WHERE target_id = t.id)
		AND id NOT IN (SELECT target_id FROM rollup) LIMIT ?`},
	{"client", `SELECT id FROM client k WHERE NOT EXISTS (SELECT 1 FROM call WHERE client_id = k.id)
		AND id NOT IN (SELECT client_id FROM rollup) LIMIT ?`},
	{"workspace", `SELECT id FROM workspace WHERE id NOT IN (SELECT workspace_id FROM call WHERE workspace_id IS NOT NULL) LIMIT ?`},
	{"server", `SELECT id FROM server s WHERE NOT EXISTS (SELECT 1 FROM target WHERE server_id = s.id)
		AND NOT EXISTS (SELECT 1 FROM call WHERE server_id = s.id) LIMIT ?`},
}

// forgetNames deletes names of targets, clients, folders and servers that nothing refers to, in
// steps between which calls are recorded. What is looked for does not hold the file.
func (s *Store) forgetNames(ctx context.Context) error {
	for _, unused := range unusedNames {
		for {
			var found []any
			err := s.query(ctx, func(ctx context.Context, h *handle) (err error) {
				found, err = ids(ctx, h.read, unused.ids, forgetRows)
				return err
			})
			if err != nil || len(found) == 0 {
				if err != nil {
					return err
				}
				break
			}
			err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
				// Again: a call may have come in between.
				if found, err = ids(ctx, tx, unused.ids, forgetRows); err != nil {
					return err
				}
				for _, id := range found {
					if _, err := tx.ExecContext(ctx, `DELETE FROM `+unused.table+` WHERE id = ?`, id); err != nil {
						return err
					}
				}
				s.renamed.Add(1)
				return nil
			})
			s.renamed.Add(1)
			if err != nil {
				return err
			}
			if len(found) < forgetRows {
				break
			}
		}
	}
	return nil
}

// boundTargets deletes the sums of the oldest targets that no call is left of while there
// are more than most.
func (s *Store) boundTargets(ctx context.Context, most int64) error {
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM rollup WHERE target_id IN (SELECT id FROM target t
			WHERE NOT EXISTS (SELECT 1 FROM call WHERE target_id = t.id) ORDER BY id
			LIMIT max(0, (SELECT count(*) FROM target) - ?))`, most)
		return err
	})
}

// enforceNameLimits bounds the names that are kept. It does nothing when it did so a moment ago.
func (s *Store) enforceNameLimits(ctx context.Context) error {
	now := time.Now()
	if now.Sub(s.namesTidied) < namesEvery {
		return nil
	}
	s.namesTidied = now
	var targets int64
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT count(*) FROM target`).Scan(&targets)
	})
	if err == nil && targets > maxTargets {
		err = s.boundTargets(ctx, maxTargets)
	}
	if err != nil {
		return err
	}
	return s.forgetNames(ctx)
}
