package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Selection selects calls to erase: by id, or all calls of a client, or all calls of a session. If
// more than one field is set, IDs has precedence over Client, and Client over Session.
type Selection struct {
	IDs     []int64
	Client  string // name of the application, or name of its token
	Session string
}

// Number of calls that the first step deletes, and the maximum for later steps.
const (
	firstEraseRows = 8
	maxEraseRows   = 100
)

// Erase deletes calls and overwrites their data in the file: table rows, index entries and
// payloads are overwritten with zeros, rollups are reduced, and the write-ahead log is truncated.
// The requests about the task of a call are deleted with the call, because they contain its result.
// It returns the number of deleted calls, which may be greater than 0 even if err is not nil.
func (s *retention) Erase(ctx context.Context, sel Selection) (deleted int64, err error) {
	if len(sel.IDs) == 0 && sel.Client == "" && sel.Session == "" {
		return 0, invalid("ids", "specify the calls, a client or a session")
	}
	written, cancel := context.WithTimeout(ctx, writeLimit) // calls that are still queued would not be erased
	defer cancel()
	s.recorder.Flush(written)
	err = s.withHandle(func(h *handle) error {
		_, err := h.write.ExecContext(ctx, `PRAGMA secure_delete = on`)
		return err
	})
	if err != nil {
		return 0, err
	}
	byID := len(sel.IDs) > 0
	sel.IDs = slices.Compact(slices.Sorted(slices.Values(sel.IDs)))
	for step := (stepSize{firstEraseRows, maxEraseRows}); err == nil; {
		var gone []any
		var began time.Time
		err = s.transact(ctx, func(ctx context.Context, tx *transaction) (err error) {
			began = time.Now()
			gone, err = eraseStep(ctx, tx, sel, step.rows, s.opts.Now())
			s.namesGen.Add(1)
			return err
		})
		if err != nil {
			break
		}
		deleted += int64(len(gone))
		if len(gone) < step.rows {
			break
		}
		step.adjust(time.Since(began))
		if at, ok := slices.BinarySearch(sel.IDs, gone[len(gone)-1].(int64)); ok {
			sel.IDs = sel.IDs[at+1:]
		}
		if byID && len(sel.IDs) == 0 {
			break
		}
	}
	if err == nil {
		err = s.deleteUnusedNames(ctx) // names of resources, folders and servers are data of the calls too
	}
	restore := context.WithoutCancel(ctx)
	clean := s.withHandle(func(h *handle) error {
		if err == nil && deleted > 0 {
			_, err = h.write.ExecContext(restore, `PRAGMA incremental_vacuum(2000)`)
		}
		_, kept := h.write.ExecContext(restore, `PRAGMA wal_checkpoint(TRUNCATE)`) // else the WAL file still contains the calls
		_, off := h.write.ExecContext(restore, `PRAGMA secure_delete = fast`)
		return errors.Join(kept, off)
	})
	if err == nil {
		err = clean
	}
	return deleted, err
}

func eraseStep(ctx context.Context, tx *transaction, sel Selection, rows int, now time.Time) (gone []any, err error) {
	gone, err = selectIDs(ctx, tx, sel, rows)
	if err != nil {
		return nil, err
	}
	if len(gone) > 0 {
		requests, err := queryIDs(ctx, tx, `SELECT id FROM call WHERE task_call_id IN (`+placeholders(len(gone))+`) AND id NOT IN (`+placeholders(len(gone))+`)`, slices.Concat(gone, gone)...)
		if err != nil {
			return nil, err
		}
		all := slices.Concat(gone, requests)
		if _, err := tx.ExecContext(ctx, `INSERT INTO search (search, rank) VALUES ('secure-delete', 1)`); err != nil {
			return nil, err
		}
		if err := subtractFromRollups(ctx, tx, all, now); err != nil {
			return nil, err
		}
		if _, err := deleteCalls(ctx, tx, all, true); err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO search (search, rank) VALUES ('secure-delete', 0)`); err != nil {
			return nil, err
		}
	}
	if len(gone) < rows { // the last step also deletes the names that are no longer referenced
		if sel.Client != "" {
			if _, err := tx.ExecContext(ctx, `DELETE FROM rollup WHERE client_id IN (SELECT id FROM client WHERE name = ? OR token = ?)`, sel.Client, sel.Client); err != nil {
				return nil, err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM client WHERE (name = ?1 OR token = ?1) AND NOT EXISTS (SELECT 1 FROM call WHERE client_id = client.id) AND NOT EXISTS (SELECT 1 FROM rollup WHERE client_id = client.id)`, sel.Client)
		if err != nil {
			return nil, err
		}
	}
	return gone, nil
}

func selectIDs(ctx context.Context, tx *transaction, sel Selection, rows int) ([]any, error) {
	switch {
	case len(sel.IDs) > 0:
		list, err := json.Marshal(sel.IDs)
		if err != nil {
			return nil, err
		}
		return queryIDs(ctx, tx, `SELECT c.id FROM json_each(?) f CROSS JOIN call c ON c.id = f.value LIMIT ?`, string(list), rows)
	case sel.Client != "":
		return queryIDs(ctx, tx, `SELECT id FROM call WHERE client_id IN (SELECT id FROM client WHERE name = ? OR token = ?) LIMIT ?`, sel.Client, sel.Client, rows)
	}
	return queryIDs(ctx, tx, `SELECT id FROM call WHERE session_id IN (SELECT id FROM session WHERE name = ?) LIMIT ?`, sel.Session, rows)
}

// subtractFromRollups subtracts calls from the rollups that include them.
func subtractFromRollups(ctx context.Context, tx *transaction, gone []any, now time.Time) error {
	sums := make(rollups)
	for _, id := range gone {
		var target, client, at, took, size int64
		var outcome int
		var code core.Code
		var counted, partOfTask bool
		err := tx.QueryRowContext(ctx, `SELECT c.target_id, c.client_id, c.at, c.outcome, c.code, c.took_ns - c.queued_ns, c.bytes_out, coalesce(p.counted, 1), c.task_call_id IS NOT NULL
			FROM call c LEFT JOIN pending p ON p.id = c.id WHERE c.id = ?`, id).Scan(&target, &client, &at, &outcome, &code, &took, &size, &counted, &partOfTask)
		if err != nil {
			return err
		}
		if counted && !partOfTask {
			sums.countOutcome(target, client, at, countedOutcome(outcome, code), time.Duration(took), resultSize{bytes: size}, -1)
		}
	}
	return sums.save(ctx, tx, now)
}

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
func (s *retention) deleteUnusedNames(ctx context.Context) error {
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
func (s *retention) deleteOldestTargets(ctx context.Context, most int64) error {
	return s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM rollup WHERE target_id IN (SELECT id FROM target t
			WHERE NOT EXISTS (SELECT 1 FROM call WHERE target_id = t.id) ORDER BY id
			LIMIT max(0, (SELECT count(*) FROM target) - ?))`, most)
		return err
	})
}

// enforceNameLimits deletes unreferenced names and enforces maxTargets. It does nothing if it ran
// less than nameCleanupInterval ago.
func (s *retention) enforceNameLimits(ctx context.Context) error {
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
