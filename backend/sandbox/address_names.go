package sandbox

import (
	"context"
	"net/netip"
	"time"
)

// Limits of the look-ups for one server.
const (
	lookupTimeout  = 2 * time.Second
	lookupInterval = time.Minute
	maxLookups     = 20
	maxNames       = 2000
)

// addressNames finds the names of addresses by looking up the host names that the configuration
// mentions. Reverse look-ups would tell the resolver about each address, and rarely return what was
// asked for.
type addressNames struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	byAddr map[netip.Addr]string
	next   map[string]time.Time // earliest next look-up, by server
}

// lookUp returns the name of addr, or the address as text.
func (n *addressNames) lookUp(ctx context.Context, server string, addr netip.Addr, hosts func(string) []string) string {
	if addr.IsLoopback() {
		return "localhost"
	}
	if name, ok := n.byAddr[addr]; ok {
		return name
	}
	if n.byAddr == nil || len(n.byAddr) > maxNames {
		n.byAddr, n.next = map[netip.Addr]string{}, map[string]time.Time{}
	}
	if now := time.Now(); now.After(n.next[server]) {
		n.next[server] = now.Add(lookupInterval)
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		list := hosts(server)
		for _, host := range list[:min(len(list), maxLookups)] {
			found, err := n.lookup(ctx, host)
			if err != nil {
				continue // the address is shown instead
			}
			for _, a := range found {
				n.byAddr[a.Unmap()] = host
			}
		}
	}
	if name, ok := n.byAddr[addr]; ok {
		return name
	}
	return addr.String()
}
