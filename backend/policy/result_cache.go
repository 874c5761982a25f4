package policy

import (
	"bytes"
	"container/list"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// Limits of the cache.
const (
	maxCachedResults = 1024     // results
	maxCacheBytes    = 32 << 20 // bytes of all results
	maxCachedResult  = 1 << 20  // bytes of one result
)

// cacheKey identifies a result by caller, server and request. The empty key means that the result
// is not cached.
type cacheKey string

// findCached sets plan.Cached to a fresh cached result and reports whether there is one. Otherwise it
// sets the key under which End stores the result. Only resources and the results of tools that are
// marked read-only are cached.
func (p *Policy) findCached(call *core.Call, plan *Plan) bool {
	switch call.Method {
	case "tools/call":
		if plan.tool.cacheTTL == 0 || plan.hints.ReadOnly != registry.Yes {
			return false
		}
	case "resources/read":
		if !plan.server.honorTTL {
			return false
		}
	default:
		return false
	}
	key, ok := p.cacheKeyOf(call, plan.server)
	if !ok {
		return false
	}
	if reply, ok := p.cache.find(key, time.Now()); ok {
		plan.Cached = reply
		call.Cached = true
		return true
	}
	plan.cacheKey = key
	return false
}

// cacheKeyOf returns the cache key of a call. ok is false if the result must not be reused. Callers
// that may get different results have different keys: the key contains the client, the account, the view and,
// unless the server is shared, the session and the workspace.
func (p *Policy) cacheKeyOf(call *core.Call, s *server) (cacheKey, bool) {
	view, ok := p.Views.Server(s.id)
	if !ok || bytes.Contains(call.Params, []byte(`"requestState"`)) {
		return "", false // part of a multi-step exchange
	}
	if isTaskRequest(call) {
		return "", false
	}
	var b bytes.Buffer
	for _, part := range []string{s.id, call.Account, call.Method, call.Name, clientKey(call.Client), string(call.Era), view.Hash()} {
		b.WriteString(part)
		b.WriteByte(0)
	}
	if !s.shared {
		b.WriteString(strings.Join([]string{call.LegacySession(), call.Shim, call.Workspace}, "\x00"))
		b.WriteByte(0)
	}
	if !call.Arguments.Empty() && !canonical(&b, argumentsOf(call)) {
		return "", false
	}
	return cacheKey(b.String()), true
}

// isTaskRequest reports whether the client asks for a task (2025-11-25) instead of the result.
func isTaskRequest(call *core.Call) bool {
	var params struct{ Task json.RawMessage }
	return json.Unmarshal(call.Params, &params) == nil && params.Task != nil
}

// canonical writes raw with sorted keys and without white space. It returns false for JSON that
// parsers may interpret differently.
func canonical(b *bytes.Buffer, raw []byte) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := unambiguous(d)
	if err != nil {
		return false
	}
	out, err := json.Marshal(v)
	b.Write(out)
	return err == nil
}

var errAmbiguous = errors.New("ambiguous")

// unambiguous decodes one value. It refuses duplicate keys and text that is not valid Unicode.
func unambiguous(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := k.(string)
			if _, twice := object[key]; twice || strings.ContainsRune(key, '\ufffd') {
				return nil, errAmbiguous
			}
			if object[key], err = unambiguous(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	case json.Delim('['):
		array := []any{}
		for d.More() {
			v, err := unambiguous(d)
			if err != nil {
				return nil, err
			}
			array = append(array, v)
		}
		_, err = d.Token()
		return array, err
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, '\ufffd') {
		return nil, errAmbiguous
	}
	return t, nil
}

// cache is an LRU cache of results. The zero value is ready to use.
type cache struct {
	mu    sync.Mutex // guards the fields below
	byKey map[cacheKey]*list.Element
	order list.List
	bytes int
}

type cachedResult struct {
	key   cacheKey
	reply *core.Reply // read-only
	until time.Time
}

func (k *cachedResult) size() int { return len(k.key) + len(k.reply.Result) }

func (c *cache) find(key cacheKey, now time.Time) (*core.Reply, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	k := at.Value.(*cachedResult)
	if !now.Before(k.until) {
		c.remove(at)
		return nil, false
	}
	c.order.MoveToFront(at)
	return k.reply, true
}

// store caches a complete result. It ignores errors and requests for input.
func (c *cache) store(plan *Plan, reply core.Reply) {
	var about struct {
		IsError    bool   `json:"isError"`
		ResultType string `json:"resultType"`
		TTL        int64  `json:"ttlMs"`

		Task json.RawMessage `json:"task"` // of 2025-11-25; newer tasks have a resultType
	}
	if len(reply.Result) == 0 || len(reply.Result) > maxCachedResult || json.Unmarshal(reply.Result, &about) != nil ||
		about.IsError || about.Task != nil || about.ResultType != "" && about.ResultType != "complete" {
		return
	}
	ttl := plan.tool.cacheTTL
	if ttl == 0 { // a resource: the TTL of its server, at most one day
		ttl = time.Duration(min(max(about.TTL, 0), (24*time.Hour).Milliseconds())) * time.Millisecond
	}
	if ttl == 0 {
		return
	}
	own := &core.Reply{Result: bytes.Clone(reply.Result)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[plan.cacheKey]; ok {
		c.remove(at)
	}
	if c.byKey == nil {
		c.byKey = make(map[cacheKey]*list.Element)
	}
	k := &cachedResult{plan.cacheKey, own, time.Now().Add(ttl)}
	c.byKey[k.key] = c.order.PushFront(k)
	c.bytes += k.size()
	for len(c.byKey) > maxCachedResults || c.bytes > maxCacheBytes {
		c.remove(c.order.Back())
	}
}

// remove deletes an entry. The caller must hold c.mu.
func (c *cache) remove(at *list.Element) {
	k := c.order.Remove(at).(*cachedResult)
	delete(c.byKey, k.key)
	c.bytes -= k.size()
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey, c.bytes = nil, 0
	c.order.Init()
}
