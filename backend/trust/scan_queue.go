package trust

import (
	"context"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// scanQueued scans the queued definitions. It runs in the goroutine of Run, so that no server waits
// for it.
func (b *Baseline) scanQueued(ctx context.Context) {
	b.mu.Lock()
	jobs := b.scanQueue
	b.scanQueue = nil
	b.mu.Unlock()
	fresh := map[string]bool{}
	for _, j := range jobs {
		if ctx.Err() != nil {
			return
		}
		warnings := Scan(j.key.name, j.raw)
		named := mentionedTools(j.raw)
		b.mu.Lock()
		b.storeWarnings(j, warnings, named)
		b.mu.Unlock()
		if j.fresh {
			fresh[j.server] = true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.updateShadowing(fresh)
}

// storeWarnings stores the result of a scan, unless the definition has changed in the meantime. The
// caller must hold b.mu.
func (b *Baseline) storeWarnings(j scanJob, warnings []Warning, named []string) {
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
		it.scannedHash, it.warnings, it.mentions = j.hash, warnings, named
	case it.pending != nil && it.pending.hash == j.hash:
		it.pending.scanned, it.pending.warnings = true, warnings
		it.mentions = named
	default:
		return
	}
	b.changedServers[j.server] = true
	if j.fresh {
		for _, w := range warnings {
			b.recordWarning(s, j.key, w, j.hash)
		}
	}
}

// recordWarning records a warning as an event, once per definition. The caller must hold b.mu.
func (b *Baseline) recordWarning(s *serverRecords, k itemKey, w Warning, h Hash) {
	if w.Code == SameName {
		return
	}
	id := strings.Join([]string{s.id, k.kind, k.name, w.Code, w.Reason, h.String()}, "\x00")
	if b.recordedWarnings[id] {
		return
	}
	if len(b.recordedWarnings) > 20_000 {
		clear(b.recordedWarnings)
	}
	b.recordedWarnings[id] = true
	b.appendEvent(s, store.TrustEvent{At: b.opts.Now(), Server: s.id, Kind: k.kind, Name: k.name, Action: EventWarned, Detail: w.Reason + " " + w.Quote, NewHash: slices.Clone(h[:])})
}

// updateShadowing updates the warnings about definitions that mention tools of other servers or
// share a name with them. The caller must hold b.mu.
func (b *Baseline) updateShadowing(fresh map[string]bool) {
	holders := map[string][]*serverRecords{}
	for _, id := range sortedKeys(b.servers) {
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
			found := b.shadowWarnings(s, k, it, holders)
			if slices.Equal(found, it.shadows) {
				continue
			}
			it.shadows = found
			b.changedServers[s.id] = true
			for _, w := range found {
				if fresh[s.id] {
					b.recordWarning(s, k, w, it.hash)
				}
			}
		}
	}
}

// shadowWarnings returns the warnings about one definition that depend on the tools of other servers.
// holders maps a tool name to the servers that list it.
func (b *Baseline) shadowWarnings(s *serverRecords, k itemKey, it *record, holders map[string][]*serverRecords) (found []Warning) {
	for _, name := range it.mentions {
		tool := name
		if _, own := s.items[itemKey{Tool, tool}]; own {
			continue
		}
		if _, rest, prefixed := strings.Cut(name, "__"); prefixed {
			if _, own := s.items[itemKey{Tool, rest}]; own {
				continue
			}
			if len(holders[tool]) == 0 {
				tool = rest
			}
		}
		for _, other := range holders[tool] {
			if other != s && len(found) < maxWarnings {
				found = append(found, shadowingWarning(tool, other.id))
				break
			}
		}
	}
	if k.kind == Tool {
		for _, other := range holders[k.name] {
			if other != s && len(found) < maxWarnings {
				found = append(found, sameNameWarning(other.id))
				break
			}
		}
	}
	return found
}
