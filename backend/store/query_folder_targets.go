package store

import (
	"context"
	"time"
)

// FolderTarget is a tool, prompt or resource that clients used while they worked in a folder.
type FolderTarget struct {
	Folder, Server, Method, Name string
	Calls                        int64 // at most maxFolderCalls are counted
	First, Last                  time.Time
}

// Limits of FolderTargets.
const (
	maxFolders       = 200
	maxFolderTargets = 1000
	maxFolderCalls   = 100
)

// FolderTargets returns what was called from each folder since a time. It steps through an index from
// target to target, so that its cost depends on the number of targets and not on that of the calls.
// It examines the folders that were added last, at most maxFolders.
func (s *Store) FolderTargets(ctx context.Context, since time.Time) (list []FolderTarget, err error) {
	s.waitForRecent(ctx)
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		folders, err := queryIDs(ctx, h.read, `SELECT id FROM workspace ORDER BY id DESC LIMIT ?`, maxFolders)
		if err != nil {
			return err
		}
		for _, folder := range folders {
			err := eachRow(ctx, h.read, func(row scanner) error {
				var t FolderTarget
				var first, last int64
				err := row.Scan(&t.Folder, &t.Server, &t.Method, &t.Name, &t.Calls, &first, &last)
				t.First, t.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
				list = append(list, t)
				return err
			}, `WITH RECURSIVE used (id) AS (
					SELECT min(target_id) FROM call INDEXED BY call_by_folder WHERE workspace_id = ?1
					UNION ALL
					SELECT (SELECT min(target_id) FROM call INDEXED BY call_by_folder WHERE workspace_id = ?1 AND target_id > used.id) FROM used WHERE used.id IS NOT NULL
					LIMIT ?3)
				SELECT w.name, coalesce(s.current_name, s.name), t.method, t.name,
					(SELECT count(*) FROM (SELECT 1 FROM call INDEXED BY call_by_folder WHERE workspace_id = ?1 AND target_id = t.id AND id >= ?2 LIMIT ?4)),
					(SELECT min(id) FROM call INDEXED BY call_by_folder WHERE workspace_id = ?1 AND target_id = t.id AND id >= ?2) AS first,
					(SELECT max(id) FROM call INDEXED BY call_by_folder WHERE workspace_id = ?1 AND target_id = t.id)
				FROM used JOIN target t ON t.id = used.id JOIN server s ON s.id = t.server_id JOIN workspace w ON w.id = ?1
				WHERE first IS NOT NULL`, folder, since.UnixMicro(), maxFolderTargets, maxFolderCalls)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
