package supervisor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// refreshTimeout is the timeout of one refresh of the lists.
const refreshTimeout = 30 * time.Second

// quietKinds returns the kinds that a server offers without the listChanged capability.
func quietKinds(capabilities json.RawMessage) []core.Kind {
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

// watchCatalog resets the timer of the next refresh. Servers that announce changes of all their
// lists are not refreshed.
func (r *runner) watchCatalog() {
	every := r.config().CatalogRefresh
	if every <= 0 || r.own != nil || r.primary == nil || len(quietKinds(r.primary.Catalog().Capabilities)) == 0 {
		r.relist.Stop()
		return
	}
	r.relist.Reset(jitter(every))
}

// refresh reads the lists again. Registry.Update reports a change only if the result differs.
func (r *runner) refresh() {
	l, c := r.primary, r.config()
	if l == nil || r.state.phase != phaseRunning {
		return
	}
	r.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		err := l.Refresh(ctx, quietKinds(l.Catalog().Capabilities)...)
		if err == nil {
			r.remember(c, l.Catalog())
		}
		r.post(func() {
			if l != r.primary {
				return
			}
			if err != nil {
				r.s.o.Log.Debug("Cannot read the lists again", "server", r.id, "error", err)
			} else {
				l.watchLists()
				r.s.o.Registry.Update(r.id, l.Catalog())
				r.publish()
			}
			r.watchCatalog()
		})
	})
}
