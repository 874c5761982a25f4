package store

import (
	"context"
	"maps"
	"slices"
)

// RenameServer renames a server in all stored data: calls, rollups, the saved catalog, trust
// records and recording rules. Full-text search finds the earlier calls by the words of the old
// name only. back reverts the renaming.
func (s *Store) RenameServer(ctx context.Context, from, to string) (back func(context.Context) error, err error) {
	s.waitForRecent(ctx) // later calls are recorded under the new name
	s.recorder.rename(from, to)
	var rows []any
	err = s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		if rows, err = queryIDs(ctx, tx, `SELECT id FROM server WHERE coalesce(current_name, name) = ?`, from); err != nil {
			return err
		}
		return renameServer(ctx, tx, rows, from, to)
	})
	if err == nil {
		err = s.renameRules(ctx, from, to)
	}
	s.namesGen.Add(1)
	if err != nil {
		s.recorder.rename(to, from)
		return nil, err
	}
	return func(ctx context.Context) error {
		s.recorder.rename(to, from)
		defer s.namesGen.Add(1)
		err := s.transact(ctx, func(ctx context.Context, tx *transaction) error { return renameServer(ctx, tx, rows, to, from) })
		if err != nil {
			return err
		}
		return s.renameRules(ctx, to, from)
	}, nil
}

func renameServer(ctx context.Context, tx *transaction, rows []any, from, to string) error {
	for _, id := range rows {
		if _, err := tx.ExecContext(ctx, `UPDATE server SET current_name = nullif(?1, name) WHERE id = ?2`, to, id); err != nil {
			return err
		}
	}
	for _, stmt := range []string{
		// Replaces what an earlier server with the new name has left.
		`UPDATE OR REPLACE catalog SET server = ?2 WHERE server = ?1`,
		`UPDATE OR REPLACE metadata SET key = 'era/' || ?2 WHERE key = 'era/' || ?1`,
		`UPDATE OR REPLACE metadata SET key = 'version/' || ?2 WHERE key = 'version/' || ?1`,
		`UPDATE OR REPLACE metadata SET key = 'approved/' || ?2 || substr(key, length('approved/' || ?1) + 1) WHERE substr(key, 1, length('approved/' || ?1 || '/')) = 'approved/' || ?1 || '/'`,
		`UPDATE OR REPLACE trust SET server = ?2 WHERE server = ?1`,
		`UPDATE trust_event SET server = ?2 WHERE server = ?1`,
		`UPDATE OR REPLACE destination SET server = ?2 WHERE server = ?1`,
	} {
		if _, err := tx.ExecContext(ctx, stmt, from, to); err != nil {
			return err
		}
	}
	return nil
}

// renameRules renames the server in the user's recording rules.
func (s *Store) renameRules(ctx context.Context, from, to string) error {
	want := s.Recording()
	if !slices.ContainsFunc(want.Rules, func(r Rule) bool { return r.Server == from }) {
		return nil
	}
	want.Rules = slices.Clone(want.Rules)
	for i := range want.Rules {
		if want.Rules[i].Server == from {
			want.Rules[i].Server = to
		}
	}
	return s.SaveRecording(ctx, want)
}

// rename makes Record store the calls in flight of a renamed server under its new name.
func (r *Recorder) rename(from, to string) {
	updateRules(&r.rules, func(n *rules) {
		renamed := maps.Clone(n.renamed)
		if renamed == nil {
			renamed = make(map[string]string)
		}
		delete(renamed, to)
		for old, now := range renamed {
			if now == from {
				renamed[old] = to
			}
		}
		renamed[from] = to
		delete(renamed, to)
		n.renamed = renamed
	})
}
