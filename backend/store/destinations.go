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

// maxDestinations limits those of one server. The ones that were seen least recently are deleted.
const maxDestinations = 300

// Destinations returns what a server connects to, or all servers if server is "", sorted by server,
// newest first.
func (s *records) Destinations(ctx context.Context, server string) (list []Destination, err error) {
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

// SaveDestinations inserts or updates destinations, and deletes the oldest ones beyond the limit of
// their server.
func (s *records) SaveDestinations(ctx context.Context, list []Destination) error {
	return s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		servers := map[string]bool{}
		for _, d := range list {
			servers[d.Server] = true
			if _, err := tx.ExecContext(ctx, `INSERT INTO destination (server, protocol, host, port, address, first_at, last_at) VALUES (?,?,?,?,?,?,?)
				ON CONFLICT DO UPDATE SET address = excluded.address, last_at = excluded.last_at`,
				d.Server, d.Protocol, core.CutBytes(d.Host, maxName), d.Port, d.Address, d.FirstAt.UnixMicro(), d.LastAt.UnixMicro()); err != nil {
				return err
			}
		}
		for server := range servers {
			if _, err := tx.ExecContext(ctx, `DELETE FROM destination WHERE server = ?1 AND (protocol, host, port) IN
				(SELECT protocol, host, port FROM destination WHERE server = ?1 ORDER BY last_at DESC LIMIT -1 OFFSET ?2)`, server, maxDestinations); err != nil {
				return err
			}
		}
		return nil
	})
}
