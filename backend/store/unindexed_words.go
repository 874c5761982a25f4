package store

import (
	"bytes"
	"context"
	"database/sql"
	"maps"
	"sync"
	"time"
)

// unindexedWords are the words, in lower case, of calls that the index does not know yet. Who
// searches while calls are written asks again soon: then only the newest are read.
type unindexedWords struct {
	mu    sync.Mutex // guards the fields below
	at    time.Time
	words map[int64][]byte // never changed, but replaced
}

const (
	unknownBytes = 8 << 20 // kept of all
	unknownFor   = time.Minute
)

func (u *unindexedWords) get() map[int64][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.words
}

func (u *unindexedWords) put(words map[int64][]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.words, u.at = words, time.Now()
}

// forget lets them go when nobody asked for a while.
func (u *unindexedWords) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.at) > unknownFor {
		u.words = nil
	}
}

// pendingHits looks through the newest calls that the index does not know. oldest is
// the last one looked at when there are more, else 0.
func (s *Store) pendingHits(ctx context.Context, db *sql.DB, words []word, after, before int64) (found []int64, oldest int64, err error) {
	pending, err := ids(ctx, db, `SELECT id FROM pending WHERE id < ? AND id > ? ORDER BY id DESC LIMIT ?`, before, after, pendingRows)
	if err != nil || len(pending) == 0 {
		return nil, 0, err
	}
	known := s.unindexed.get()
	missing := make([]byte, 0, 64)
	for _, id := range pending {
		if _, ok := known[id.(int64)]; !ok {
			missing = appendID(missing, id.(int64))
		}
	}
	fresh := make(map[int64][]byte)
	if len(missing) > 0 {
		if err := readWords(ctx, db, missing, fresh); err != nil {
			return nil, 0, err
		}
	}
	kept, room := make(map[int64][]byte, len(pending)), unknownBytes
	for _, id := range pending {
		id := id.(int64)
		text, ok := known[id]
		if !ok {
			text, ok = fresh[id]
		}
		if !ok {
			continue // it went meanwhile, or lies in a pack: then it was indexed before
		}
		if room -= len(text); room >= 0 {
			kept[id] = text
		}
		if hasWords(text, words) {
			found = append(found, id)
		}
	}
	if len(missing) > 0 {
		if before < 1<<62 { // a later page: what the first found stays
			maps.Copy(kept, known)
		}
		if len(kept) <= 2*pendingRows {
			s.unindexed.put(kept)
		}
	}
	if len(pending) == pendingRows {
		oldest = pending[len(pending)-1].(int64)
	}
	return found, oldest, nil
}

// readWords reads what calls would be found by, in lower case.
func readWords(ctx context.Context, db *sql.DB, list []byte, into map[int64][]byte) error {
	rows, err := db.QueryContext(ctx, `SELECT c.id, `+wordColumns+` FROM json_each(?) f CROSS JOIN call c ON c.id = f.value`+wordTables, "["+string(list)+"]")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		text, late, err := scanWords(rows, &id)
		if err != nil {
			return err
		}
		if late == nil {
			into[id] = bytes.ToLower(text)
		}
	}
	return rows.Err()
}
