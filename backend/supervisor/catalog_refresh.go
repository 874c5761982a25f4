package supervisor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// refreshTimeout is the timeout of one refresh of the lists.
const refreshTimeout = 30 * time.Second

// kindsWithoutListChanged returns the kinds that a server offers without the listChanged
// capability.
func kindsWithoutListChanged(capabilities json.RawMessage) []core.Kind {
	var said map[string]json.RawMessage
	if json.Unmarshal(capabilities, &said) != nil {
		return nil
	}
	var kinds []core.Kind
	for _, of := range []struct {
		key   string
		kinds []core.Kind
	}{{"tools", []core.Kind{core.Tools}}, {"prompts", []core.Kind{core.Prompts}}, {"resources", []core.Kind{core.Resources, core.Templates}}} {
		var detail *struct{ ListChanged bool }
		if _, ok := said[of.key]; !ok || json.Unmarshal(said[of.key], &detail) != nil || detail == nil {
			continue
		}
		if !detail.ListChanged {
			kinds = append(kinds, of.kinds...)
		}
	}
	return kinds
}

// resetRefreshTimer resets the timer of the next refresh. Servers that announce changes of all
// their lists are not refreshed.
func (r *runner) resetRefreshTimer() {
	every := r.config().CatalogRefresh
	if every <= 0 || r.parent != nil || r.primary == nil || len(kindsWithoutListChanged(r.primary.Catalog().Capabilities)) == 0 {
		r.refreshTimer.Stop()
		return
	}
	r.refreshTimer.Reset(jitter(every))
}

// refreshCatalog reads the lists again. Registry.Update reports a change only if the result
// differs.
func (r *runner) refreshCatalog() {
	l, c := r.primary, r.config()
	if l == nil || r.state.phase != phaseRunning {
		return
	}
	r.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		err := l.Refresh(ctx, kindsWithoutListChanged(l.Catalog().Capabilities)...)
		r.post(func() {
			if l != r.primary {
				return
			}
			if err != nil {
				r.s.o.Log.Debug("Cannot refresh the lists", "server", r.id, "error", err)
			} else {
				l.markHeard()
				catalog := r.fullCatalog()
				r.s.o.Registry.Update(r.id, catalog)
				r.helpers.Go(func() { r.saveCatalog(c, catalog) })
				r.publish()
			}
			r.resetRefreshTimer()
		})
	})
}

// listsChanged updates the registry with lists that the connection has read again.
func (r *runner) listsChanged(kind core.Kind) {
	if r.primary == nil {
		return // connected uses the newest catalog anyway
	}
	c, catalog := r.config(), r.fullCatalog()
	r.primary.markHeard()
	r.s.o.Registry.Update(r.id, catalog, kind)
	r.publish()
	r.helpers.Go(func() { r.saveCatalog(c, catalog) })
}
