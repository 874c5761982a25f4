package store

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Catalog returns the catalog that server had when it was last started with the same key, or nil
// if there is none.
func (s *Store) Catalog(ctx context.Context, server, key string) (*core.Catalog, error) {
	return s.loadCatalog(ctx, server, `SELECT catalog FROM catalog WHERE server = ? AND key = ?`, server, key)
}

// LastCatalog returns the catalog that server had when it was last started, even if it was removed
// since, or nil if there is none.
func (s *Store) LastCatalog(ctx context.Context, server string) (*core.Catalog, error) {
	return s.loadCatalog(ctx, server, `SELECT catalog FROM catalog WHERE server = ?`, server)
}

func (s *Store) loadCatalog(ctx context.Context, server, query string, args ...any) (*core.Catalog, error) {
	var blob []byte
	found, err := s.queryRow(ctx, []any{&blob}, query, args...)
	if !found {
		return nil, err
	}
	c := &core.Catalog{}
	if err := gob.NewDecoder(bytes.NewReader(blob)).Decode(c); err != nil {
		return nil, fmt.Errorf("cannot read catalog of %q: %w", server, err)
	}
	return c, nil
}

// SaveCatalog stores the catalog of server and replaces the previous one. Raw JSON is kept byte
// for byte.
func (s *Store) SaveCatalog(ctx context.Context, server, key string, c *core.Catalog) error {
	var blob bytes.Buffer
	if err := gob.NewEncoder(&blob).Encode(c); err != nil { // gob keeps raw JSON unchanged, encoding/json would compact it
		return err
	}
	return s.exec(ctx, `INSERT INTO catalog (server, key, saved_at, catalog) VALUES (?,?,?,?)
		ON CONFLICT (server) DO UPDATE SET key = excluded.key, saved_at = excluded.saved_at, catalog = excluded.catalog`,
		server, key, s.opts.Now().UnixMicro(), blob.Bytes())
}
