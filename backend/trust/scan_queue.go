package trust

import (
	"context"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// readAll scans the queued definitions. It runs in the goroutine of Run, so that no server waits
// for it.
func (b *Baseline) readAll(ctx context.Context) {
	b.mu.Lock()
	jobs := b.jobs
	b.jobs = nil
	b.mu.Unlock()
	fresh := map[string]bool{}
	for _, j := range jobs {
		if ctx.Err() != nil {
			return
		}
		warnings := Scan(j.key.name, j.raw)
		named := mentions(j.raw)
		b.mu.Lock()
		b.storeWarnings(j, warnings, named)
		b.mu.Unlock()
		if j.fresh {
			fresh[j.server] = true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.compare(fresh)
}

// storeWarnings stores the result of a scan, unless the definition has changed in the meantime. The
// caller must hold b.mu.
func (b *Baseline) storeWarnings(j job, warnings []Warning, named []string) {
	s := b.servers[j.server]
	if s == nil {
		return // removed in the meantime
	}
	it := s.items[j.key]
	if it == nil {
		return
	}
	switch {
	case it.hash == j.hash:
		it.read, it.warnings, it.mentions = j.hash, warnings, named
	case it.waiting != nil && it.waiting.hash == j.hash:
		it.waiting.read, it.waiting.warnings = true, warnings
		it.mentions = named
	default:
		return
	}
	b.touched[j.server] = true
	if j.fresh {
		for _, w := range warnings {
			b.warn(s, j.key, w, j.hash)
		}
	}
}

// warn records a warning as an event, once per definition. The caller must hold b.mu.
func (b *Baseline) warn(s *serverBaseline, k key, w Warning, h Hash) {
	if w.Code == SameName {
		return
	}
	id := strings.Join([]string{s.id, k.kind, k.name, w.Code, w.Reason, h.String()}, "\x00")
	if b.told[id] {
		return
	}
	if len(b.told) > 20_000 {
		clear(b.told)
	}
	b.told[id] = true
	b.event(s, store.TrustEvent{At: b.o.Now(), Server: s.id, Kind: k.kind, Name: k.name, What: EventWarned, Detail: w.Reason + " " + w.Quote, NewHash: slices.Clone(h[:])})
}

// compare updates the warnings about definitions that mention tools of other servers or share a
// name with them. The caller must hold b.mu.
func (b *Baseline) compare(fresh map[string]bool) {
	holders := map[string][]*serverBaseline{}
	for _, id := range sorted(b.servers) {
		s := b.servers[id]
		if !s.configured {
			continue
		}
		for k, it := range s.items {
			if k.kind == Tool && it.present {
				holders[k.name] = append(holders[k.name], s)
			}
		}
	}
	for _, s := range b.servers {
		if !s.configured {
			continue
		}
		for k, it := range s.items {
			if !it.present {
				continue
			}
			found := b.shadows(s, k, it, holders)
			if slices.Equal(found, it.shadows) {
				continue
			}
			it.shadows = found
			b.touched[s.id] = true
			for _, w := range found {
				if fresh[s.id] {
					b.warn(s, k, w, it.hash)
				}
			}
		}
	}
}

// shadows returns the warnings about one definition that depend on the tools of other servers.
// holders maps a tool name to the servers that list it.
func (b *Baseline) shadows(s *serverBaseline, k key, it *item, holders map[string][]*serverBaseline) (found []Warning) {
	for _, name := range it.mentions {
		tool := name
		if _, own := s.items[key{Tool, tool}]; own {
			continue
		}
		if _, rest, prefixed := strings.Cut(name, "__"); prefixed {
			if _, own := s.items[key{Tool, rest}]; own {
				continue
			}
			if len(holders[tool]) == 0 {
				tool = rest
			}
		}
		for _, other := range holders[tool] {
			if other != s && len(found) < maxWarnings {
				found = append(found, shadowed(tool, other.id))
				break
			}
		}
	}
	if k.kind == Tool {
		for _, other := range holders[k.name] {
			if other != s && len(found) < maxWarnings {
				found = append(found, sameName(other.id))
				break
			}
		}
	}
	return found
}
