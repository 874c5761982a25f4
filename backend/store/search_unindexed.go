package store

import (
	"bytes"
	"context"
	"database/sql"
	"maps"
	"sync"
	"time"
)

// unindexedWords caches the text, in lower case, of calls that are not indexed yet. Repeated
// searches while calls are being written then read only the newest calls.
type unindexedWords struct {
	mu    sync.Mutex // guards the fields below
	at    time.Time
	words map[int64][]byte // replaced as a whole, never modified
}

const (
	maxUnindexedBytes = 8 << 20 // maximum size of all cached texts
	unindexedTTL      = time.Minute
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

// expire drops the cache if it was not used for unindexedTTL.
func (u *unindexedWords) expire() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.at) > unindexedTTL {
		u.words = nil
	}
}

// pendingHits searches the newest calls that are not indexed yet. oldest is the last call examined
// if there are more, otherwise 0.
func (s *Store) pendingHits(ctx context.Context, db *sql.DB, words []word, after, before int64) (found []int64, oldest int64, err error) {
	pending, err := queryIDs(ctx, db, `SELECT id FROM pending WHERE id < ? AND id > ? ORDER BY id DESC LIMIT ?`, before, after, maxPendingRows)
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
	kept, room := make(map[int64][]byte, len(pending)), maxUnindexedBytes
	for _, id := range pending {
		id := id.(int64)
		text, ok := known[id]
		if !ok {
			text, ok = fresh[id]
		}
		if !ok {
			continue // deleted in the meantime, or in a block, in which case it has been indexed before
		}
		if room -= len(text); room >= 0 {
			kept[id] = text
		}
		if containsWords(text, words) {
			found = append(found, id)
		}
	}
	if len(missing) > 0 {
		if before < 1<<62 { // a later page: keep the texts of the first one
			maps.Copy(kept, known)
		}
		if len(kept) <= 2*maxPendingRows {
			s.unindexed.put(kept)
		}
	}
	if len(pending) == maxPendingRows {
		oldest = pending[len(pending)-1].(int64)
	}
	return found, oldest, nil
}

// readWords reads the searchable text of calls, in lower case. list contains their ids, separated
// by commas.
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
