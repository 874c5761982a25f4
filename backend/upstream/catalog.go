package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Limits of one list.
const (
	maxItems     = 1000
	maxPages     = 100
	maxListBytes = 5 << 20
)

// listing describes how the items of a kind are listed.
type listing struct {
	kind             core.Kind
	method, list, id string
	noun, changed    string
}

var listings = [...]listing{
	{core.Tools, "tools/list", "tools", "name", "tools", "notifications/tools/list_changed"},
	{core.Prompts, "prompts/list", "prompts", "name", "prompts", "notifications/prompts/list_changed"},
	{core.Resources, "resources/list", "resources", "uri", "resources", "notifications/resources/list_changed"},
	{core.Templates, "resources/templates/list", "resourceTemplates", "uriTemplate", "resource templates", ""},
}

// list reads the whole catalog for the first time. It fails only if the connection is lost or ctx
// is done; a list that the server refuses becomes a warning.
func (c *Conn) list(ctx context.Context) error {
	return c.Refresh(ctx, core.Tools, core.Prompts, core.Resources, core.Templates)
}

// Refresh reads the lists of the given kinds and replaces the catalog atomically. If the server
// refuses a list with an error, or returns a malformed one, the old items stay and the catalog has a
// warning. If the connection is lost or ctx is done, Refresh returns an error and the catalog is
// unchanged. Calls are serialized.
func (c *Conn) Refresh(ctx context.Context, kinds ...core.Kind) error {
	select {
	case c.refresh <- struct{}{}:
		defer func() { <-c.refresh }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	next := *c.Catalog()
	next.Capabilities, next.Info, next.Instructions = c.handshake.capabilities, c.handshake.info, c.handshake.instructions
	next.ListedAt = time.Now().UTC()
	for _, l := range listings {
		if !contains(kinds, l.kind) {
			continue
		}
		var items []core.Item
		var warnings []string
		if c.Offers(l.kind) {
			var err error
			items, warnings, err = c.readList(ctx, l)
			answer, refused := errors.AsType[*rpcError](err)
			_, malformed := errors.AsType[*malformedResultError](err)
			switch {
			case refused || malformed:
				items = *itemsField(&next, l.kind)
				warnings = []string{fmt.Sprintf("cannot list %s: %v", l.noun, err)}
				if refused && answer.Code == wire.CodeMethodNotFound && l.kind == core.Templates {
					warnings = nil // many servers have resources and no templates
				}
			case err != nil:
				return err
			}
		}
		*itemsField(&next, l.kind) = items
		c.warnings[l.kind] = warnings
	}
	next.Warnings = nil
	for _, l := range listings {
		next.Warnings = append(next.Warnings, c.warnings[l.kind]...)
	}
	if c.t.Stats().QuotedIDs > 0 {
		next.Warnings = append(next.Warnings, quotedIDsWarning)
	}
	c.catalog.Store(&next)
	return nil
}

const quotedIDsWarning = "the server responds with ids that are strings, although the ids of the requests are numbers; clients that are stricter than Drawbridge cannot use it"

func contains(kinds []core.Kind, kind core.Kind) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}

func itemsField(c *core.Catalog, kind core.Kind) *[]core.Item {
	switch kind {
	case core.Tools:
		return &c.Tools
	case core.Prompts:
		return &c.Prompts
	case core.Resources:
		return &c.Resources
	default:
		return &c.Templates
	}
}

// listReader collects the items of one kind, page by page.
type listReader struct {
	listing
	items        []core.Item
	headerParams map[string][]wire.HeaderParam // nil if no arguments are sent as headers
	seen         map[string]bool
	bytes        int
	badCursor    string   // why the next page cannot be read; "" if it can
	total        int      // listed by the server, including skipped ones
	skipped      []string // the first reasons why items were skipped
	full         bool
}

func (c *Conn) readList(ctx context.Context, l listing) ([]core.Item, []string, error) {
	r := listReader{listing: l, seen: map[string]bool{}}
	if c.remote != nil && c.era == core.Modern && l.kind == core.Tools {
		r.headerParams = map[string][]wire.HeaderParam{}
	}
	cursors := map[string]bool{}
	var cursor []byte
	var warnings []string
	for page := 1; ; page++ {
		var params []byte
		if cursor != nil {
			params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		if c.era == core.Modern {
			params = c.addModernMeta(params, nil)
		}
		result, err := c.request(ctx, l.method, params)
		if err != nil {
			return nil, nil, err
		}
		if cursor, err = r.addPage(result); err != nil {
			return nil, nil, err
		}
		if r.full {
			warnings = append(warnings, fmt.Sprintf("only the first %d %s are used, because the list is larger than %d entries or %d bytes", len(r.items), l.noun, maxItems, maxListBytes))
			break
		}
		if r.badCursor != "" {
			warnings = append(warnings, fmt.Sprintf("the list of %s may be incomplete: %s", l.noun, r.badCursor))
		}
		if cursor == nil {
			break
		}
		if cursors[string(cursor)] {
			warnings = append(warnings, fmt.Sprintf("the list of %s never ends: the server returned the same cursor twice", l.noun))
			break
		}
		if page == maxPages {
			warnings = append(warnings, fmt.Sprintf("the list of %s has more than %d pages", l.noun, maxPages))
			break
		}
		cursors[string(cursor)] = true
	}
	if r.headerParams != nil {
		c.headerParams.Store(&r.headerParams)
	}
	if len(r.skipped) > 0 {
		warnings = append(warnings, fmt.Sprintf("only %d of %d %s are used: %s", len(r.items), r.total, l.noun, r.skipped[0]))
	}
	return r.items, warnings, nil
}

// addPage adds the items of one page and returns the raw cursor of the next page, or nil. Its error is
// a malformedResultError.
func (r *listReader) addPage(result []byte) (cursor []byte, err error) {
	malformed := func(reason string) ([]byte, error) { return nil, &malformedResultError{r.method, reason} }
	if kind := jsonKind(result); kind != "an object" {
		return malformed("expected an object, found " + kind)
	}
	var list []byte
	err = wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case r.list:
			list = wire.Bytes(result, m.Value)
		case "nextCursor":
			raw := wire.Bytes(result, m.Value)
			if kind := jsonKind(raw); kind == "a string" && string(raw) != `""` {
				cursor = raw
			} else if kind != "a string" && kind != "null" {
				r.badCursor = "expected a string in \"nextCursor\", found " + kind
			}
		}
		return nil
	})
	if err != nil {
		return malformed(err.Error())
	}
	if list == nil || string(list) == "null" {
		return cursor, nil
	}
	if kind := jsonKind(list); kind != "an array" {
		return malformed(fmt.Sprintf("expected an array in %q, found %s", r.list, kind))
	}
	err = wire.Elements(list, func(element core.Span) error {
		r.add(wire.Bytes(list, element))
		return nil
	})
	if err != nil {
		return malformed(err.Error())
	}
	return cursor, nil
}

func (r *listReader) add(raw []byte) {
	r.total++
	if len(r.items) >= maxItems || r.bytes+len(raw) > maxListBytes {
		r.full = true
		return
	}
	name, reason := r.validate(raw)
	if reason != "" {
		if len(r.skipped) < 3 {
			r.skipped = append(r.skipped, reason)
		}
		return
	}
	if r.headerParams != nil {
		list, reason := wire.HeaderParams(raw)
		if reason != "" {
			r.skipped = append(r.skipped, fmt.Sprintf("%.64q has %s", name, reason))
			return
		}
		if len(list) > 0 {
			r.headerParams[name] = list
		}
	}
	r.seen[name] = true
	r.bytes += len(raw)
	r.items = append(r.items, core.Item{Name: name, Raw: raw})
}

// validate returns the name of an item, or the reason to skip it: an item without a name of its own
// cannot be requested. Whether clients can read the item is decided for each of them (package
// revision).
func (r *listReader) validate(raw []byte) (name, reason string) {
	named := false
	err := wire.Members(raw, func(m wire.Member) error {
		if string(m.Name) == r.id {
			name, named = wire.Unquote(wire.Bytes(raw, m.Value))
		}
		return nil
	})
	switch {
	case err != nil:
		return "", fmt.Sprintf("entry %d is malformed: %v", r.total, err)
	case !named || name == "":
		return "", fmt.Sprintf("entry %d has no %s", r.total, r.id)
	case len(name) > maxName:
		return "", fmt.Sprintf("entry %d has a %s of more than %d bytes", r.total, r.id, maxName)
	case r.seen[name]:
		return "", fmt.Sprintf("%.64q is listed twice", name)
	}
	return name, ""
}

// maxName is the longest name or URI of an item, in bytes.
const maxName = 2048
