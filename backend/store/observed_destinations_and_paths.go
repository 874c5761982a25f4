package store

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Destination is a host and port that the processes of a server connect to.
type Destination struct {
	Server   string    `json:"server"`
	Protocol string    `json:"protocol" enum:"tcp,udp"`
	Host     string    `json:"host" doc:"Name if known, otherwise the address"`
	Port     int       `json:"port"`
	Address  string    `json:"address" doc:"The latest address"`
	FirstAt  time.Time `json:"firstAt"`
	LastAt   time.Time `json:"lastAt"`
}

// ObservedPath is a file or folder that the processes of a server opened.
type ObservedPath struct {
	Server  string    `json:"server"`
	Path    string    `json:"path"`
	Written bool      `json:"written" doc:"Whether it was opened for writing"`
	FirstAt time.Time `json:"firstAt"`
	LastAt  time.Time `json:"lastAt"`
}

// Limits per server. The ones that were seen least recently are deleted.
const (
	maxDestinations  = 300
	maxObservedPaths = 2000
)

// Destinations returns what a server connects to, or all servers if server is "", sorted by server,
// newest first.
func (s *Store) Destinations(ctx context.Context, server string) (list []Destination, err error) {
	err = s.queryRows(ctx, func(row scanner) error {
		var d Destination
		var first, last int64
		err := row.Scan(&d.Server, &d.Protocol, &d.Host, &d.Port, &d.Address, &first, &last)
		d.FirstAt, d.LastAt = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
		list = append(list, d)
		return err
	}, `SELECT server, protocol, host, port, address, first_at, last_at FROM destination WHERE ?1 IN ('', server) ORDER BY server, first_at DESC`, server)
	return list, err
}

// ObservedPaths returns what a server has opened, sorted by path.
func (s *Store) ObservedPaths(ctx context.Context, server string) (list []ObservedPath, err error) {
	err = s.queryRows(ctx, func(row scanner) error {
		var p ObservedPath
		var first, last int64
		err := row.Scan(&p.Server, &p.Path, &p.Written, &first, &last)
		p.FirstAt, p.LastAt = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
		list = append(list, p)
		return err
	}, `SELECT server, path, written, first_at, last_at FROM observed_path WHERE server = ? ORDER BY path`, server)
	return list, err
}

// SaveObservations inserts or updates destinations and paths, and deletes the oldest ones beyond
// the limits of their server.
func (s *Store) SaveObservations(ctx context.Context, destinations []Destination, paths []ObservedPath) error {
	return s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		servers := map[string]bool{}
		for _, d := range destinations {
			servers[d.Server] = true
			if _, err := tx.ExecContext(ctx, `INSERT INTO destination (server, protocol, host, port, address, first_at, last_at) VALUES (?,?,?,?,?,?,?)
				ON CONFLICT DO UPDATE SET address = excluded.address, last_at = excluded.last_at`,
				d.Server, d.Protocol, core.CutBytes(d.Host, maxName), d.Port, d.Address, d.FirstAt.UnixMicro(), d.LastAt.UnixMicro()); err != nil {
				return err
			}
		}
		for _, p := range paths {
			servers[p.Server] = true
			if _, err := tx.ExecContext(ctx, `INSERT INTO observed_path (server, path, written, first_at, last_at) VALUES (?,?,?,?,?)
				ON CONFLICT DO UPDATE SET written = max(written, excluded.written), last_at = excluded.last_at`,
				p.Server, p.Path, p.Written, p.FirstAt.UnixMicro(), p.LastAt.UnixMicro()); err != nil {
				return err
			}
		}
		for server := range servers {
			for stmt, most := range map[string]int{
				`DELETE FROM destination WHERE server = ?1 AND (protocol, host, port) IN (SELECT protocol, host, port FROM destination WHERE server = ?1 ORDER BY last_at DESC LIMIT -1 OFFSET ?2)`: maxDestinations,
				`DELETE FROM observed_path WHERE server = ?1 AND path IN (SELECT path FROM observed_path WHERE server = ?1 ORDER BY last_at DESC LIMIT -1 OFFSET ?2)`:                               maxObservedPaths,
			} {
				if _, err := tx.ExecContext(ctx, stmt, server, most); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
