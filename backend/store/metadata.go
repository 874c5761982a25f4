package store

import (
	"context"
	"strings"
)

// Metadata returns the value stored under key. ok is false if there is none.
func (s *Store) Metadata(ctx context.Context, key string) (value []byte, ok bool, err error) {
	ok, err = s.queryRow(ctx, []any{&value}, `SELECT value FROM metadata WHERE key = ?`, key)
	return value, ok, err
}

// SaveMetadata stores value under key and replaces the previous one.
func (s *Store) SaveMetadata(ctx context.Context, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return s.exec(ctx, upsertMetadata, key, value, s.opts.Now().UnixMicro())
}

const upsertMetadata = `INSERT INTO metadata (key, value, saved_at) VALUES (?,?,?)
	ON CONFLICT (key) DO UPDATE SET value = excluded.value, saved_at = excluded.saved_at`

// DualEra returns whether server supports both protocol eras. known is false if that was not
// stored for the same key.
func (s *Store) DualEra(ctx context.Context, server, key string) (dual, known bool, err error) {
	value, ok, err := s.Metadata(ctx, "era/"+server)
	if err != nil || !ok {
		return false, false, err
	}
	answer, of, _ := strings.Cut(string(value), " ")
	if of != key {
		return false, false, nil
	}
	return answer == "dual", true, nil
}

// SaveDualEra stores whether server supports both protocol eras.
func (s *Store) SaveDualEra(ctx context.Context, server, key string, dual bool) error {
	answer := "legacy"
	if dual {
		answer = "dual"
	}
	return s.SaveMetadata(ctx, "era/"+server, []byte(answer+" "+key))
}
