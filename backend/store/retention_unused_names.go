package store

import (
	"context"
	"strconv"
	"time"
)

// maxTargets bounds the number of targets (tools, prompts and resources). A server may use a new
// resource URI for each request: beyond the limit, the rollups of the oldest targets that have no
// calls are deleted, and then the targets themselves.
const maxTargets = 10_000

// nameCleanupInterval is the minimum interval between two scans for unreferenced names.
const nameCleanupInterval = 10 * time.Minute

// Maximum number of names deleted in one transaction. Foreign keys make SQLite check each
// referencing table for each name.
const nameDeleteRows = 50

// unusedNames selects rows of each table that are referenced by no call and no rollup; the
// parameter is the maximum number of rows. server is last, because its targets must be deleted
// first.
var unusedNames = []struct{ table, ids string }{
	{"target", `SELECT id FROM target t WHERE NOT EXISTS (SELECT 1 FROM call WHERE target_id = t.id)
		AND id NOT IN (SELECT target_id FROM rollup) LIMIT ?`},
	{"client", `SELECT id FROM client k WHERE NOT EXISTS (SELECT 1 FROM call WHERE client_id = k.id)
		AND id NOT IN (SELECT client_id FROM rollup) LIMIT ?`},
	{"version", `SELECT id FROM version WHERE (SELECT count(*) > ` + strconv.Itoa(maxVersions) + ` FROM version)
		AND id NOT IN (SELECT version_id FROM call WHERE version_id IS NOT NULL) LIMIT ?`},
	{"workspace", `SELECT id FROM workspace w WHERE NOT EXISTS (SELECT 1 FROM call WHERE workspace_id = w.id) LIMIT ?`},
	{"account", `SELECT id FROM account WHERE id NOT IN (SELECT account_id FROM call WHERE account_id IS NOT NULL) LIMIT ?`},
	{"server", `SELECT id FROM server s WHERE NOT EXISTS (SELECT 1 FROM target WHERE server_id = s.id)
		AND NOT EXISTS (SELECT 1 FROM call WHERE server_id = s.id) LIMIT ?`},
}

// deleteUnusedNames deletes unreferenced names of targets, clients, workspaces, accounts and
// servers, in steps between which calls are recorded. It searches without holding the write lock.
func (s *Store) deleteUnusedNames(ctx context.Context) error {
	for _, unused := range unusedNames {
		for {
			var found []any
			err := s.query(ctx, func(ctx context.Context, h *handle) (err error) {
				found, err = queryIDs(ctx, h.read, unused.ids, nameDeleteRows)
				return err
			})
			if err != nil || len(found) == 0 {
				if err != nil {
					return err
				}
				break
			}
			err = s.transact(ctx, func(ctx context.Context, tx *transaction) error {
				// Select again: a call may have been recorded in between.
				if found, err = queryIDs(ctx, tx, unused.ids, nameDeleteRows); err != nil {
					return err
				}
				for _, id := range found {
					if _, err := tx.ExecContext(ctx, `DELETE FROM `+unused.table+` WHERE id = ?`, id); err != nil {
						return err
					}
				}
				s.namesGen.Add(1)
				return nil
			})
			s.namesGen.Add(1)
			if err != nil {
				return err
			}
			if len(found) < nameDeleteRows {
				break
			}
		}
	}
	return nil
}

// deleteOldestTargets deletes the rollups of the oldest targets that have no calls while there are
// more than most targets.
func (s *Store) deleteOldestTargets(ctx context.Context, most int64) error {
	return s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM rollup WHERE target_id IN (SELECT id FROM target t
			WHERE NOT EXISTS (SELECT 1 FROM call WHERE target_id = t.id) ORDER BY id
			LIMIT max(0, (SELECT count(*) FROM target) - ?))`, most)
		return err
	})
}

// enforceNameLimits deletes unreferenced names and enforces maxTargets. It does nothing if it ran
// less than nameCleanupInterval ago.
func (s *Store) enforceNameLimits(ctx context.Context) error {
	now := time.Now()
	if now.Sub(s.namesCleanedAt) < nameCleanupInterval {
		return nil
	}
	s.namesCleanedAt = now
	var targets int64
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT count(*) FROM target`).Scan(&targets)
	})
	if err == nil && targets > maxTargets {
		err = s.deleteOldestTargets(ctx, maxTargets)
	}
	if err != nil {
		return err
	}
	return s.deleteUnusedNames(ctx)
}
