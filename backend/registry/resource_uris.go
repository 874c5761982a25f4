package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// resourceURIs assigns the public URIs of the resources of all servers, so that no URI can mean the
// resources of two servers. The first server in configuration order keeps its URIs. If a URI of a
// later server could lead to an earlier one, it is marked with the server's id: "ui://board"
// becomes "ui://SERVER__board". The assignment does not depend on profiles, so a resource has the
// same URI in all of them.
//
// A URI that clients have seen keeps its server until Drawbridge ends, also when that server no
// longer lists it or is gone, and when an earlier server begins to list it: a client may still use
// a list that it read before.
type resourceURIs struct {
	ids       map[string]string // the ids of all servers, by their lower-case form, because clients may change the case of a host
	owners    map[string]string // the server of each URI that is not marked
	templates []template        // of all servers
	// markedTemplates holds the public form of marked templates, by server and own form.
	markedTemplates map[[2]string]string
	conflicts       map[string]string // a sentence about the marked URIs of a server, by its id

	inherited shownURIs   // that were seen before these were assigned
	seen      atomic.Bool // clients have seen these
	links     *linkedURIs // seen in results only
}

// shownURIs are the ids of servers, and the unmarked URIs and templates, that clients have seen.
type shownURIs struct {
	ids, owners map[string]string
	templates   []template
}

// maxShownURIs bounds what is remembered of URIs that no server lists any longer.
const maxShownURIs = 10_000

// shown returns what clients have seen until now.
func (u *resourceURIs) shown() shownURIs {
	if !u.seen.Load() {
		return u.inherited
	}
	s := shownURIs{ids: u.ids, owners: u.owners}
	for _, t := range u.templates {
		if t.public == t.raw && len(s.templates) < maxShownURIs {
			s.templates = append(s.templates, t)
		}
	}
	return s
}

// linkedURIs are the unlisted URIs that clients have seen in results, with the server of each.
type linkedURIs struct {
	mu     sync.Mutex
	owners map[string]string
}

func (l *linkedURIs) owner(uri string) (server string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	server, ok = l.owners[uri]
	return server, ok
}

func (l *linkedURIs) copy() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.owners)
}

// claim reports whether the URI leads to the server from now on.
func (l *linkedURIs) claim(uri, server string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.owners[uri]; !taken && len(l.owners) < maxShownURIs {
		l.owners[uri] = server
	}
	return l.owners[uri] == server
}

func (u *resourceURIs) markSeen() {
	if !u.seen.Load() {
		u.seen.Store(true)
	}
}

// newResourceURIs assigns the URIs. previous is the assignment before, or nil.
func newResourceURIs(servers []*registeredServer, previous *resourceURIs) *resourceURIs {
	u := &resourceURIs{ids: make(map[string]string, len(servers)), owners: map[string]string{},
		markedTemplates: map[[2]string]string{}, conflicts: map[string]string{}, links: &linkedURIs{owners: map[string]string{}}}
	if previous != nil {
		u.inherited, u.links = previous.shown(), previous.links
	}
	if len(u.inherited.owners) <= maxShownURIs+countListedURIs(servers) {
		maps.Copy(u.owners, u.inherited.owners)
	}
	if len(u.inherited.ids) <= maxShownURIs {
		maps.Copy(u.ids, u.inherited.ids)
	}
	u.templates = slices.Clone(u.inherited.templates)
	for _, h := range servers {
		u.ids[strings.ToLower(h.ID)] = h.ID
	}
	for _, h := range servers {
		earlier := u.templates
		var marked []string
		for _, t := range h.templates {
			if slices.ContainsFunc(u.inherited.templates, func(o template) bool { return o.server == h.ID && o.raw == t.raw }) {
				continue
			}
			if u.isAmbiguous(&t, earlier) {
				t.public = markURI(h.ID, t.raw)
				u.markedTemplates[[2]string{h.ID, t.raw}] = t.public
				marked = append(marked, t.raw)
			}
			u.templates = append(u.templates, t)
		}
		for _, uri := range h.uris {
			if holder, own, taken := u.resolveAmong(earlier, uri); taken && (holder != h.ID || own != uri) {
				marked = append(marked, uri)
			} else {
				u.owners[uri] = h.ID
			}
		}
		if len(marked) > 0 {
			u.conflicts[h.ID] = describeMarkedURIs(h.ID, marked)
		}
	}
	return u
}

// isAmbiguous reports whether an expansion of t could lead to a server that precedes its own.
func (u *resourceURIs) isAmbiguous(t *template, earlier []template) bool {
	if _, _, marked := u.splitMark(t.raw); marked {
		return true
	}
	for _, owners := range []map[string]string{u.owners, u.links.copy()} {
		for uri, owner := range owners {
			if owner != t.server && t.match(uri) {
				return true
			}
		}
	}
	return slices.ContainsFunc(earlier, func(o template) bool { return o.server != t.server && o.public == o.raw && t.overlaps(&o) })
}

func countListedURIs(servers []*registeredServer) (n int) {
	for _, h := range servers {
		n += len(h.uris)
	}
	return n
}

// resolve returns the server that a public URI leads to, and the server's own URI.
func (u *resourceURIs) resolve(public string) (server, own string, ok bool) {
	return u.resolveAmong(u.templates, public)
}

func (u *resourceURIs) resolveAmong(templates []template, public string) (server, own string, ok bool) {
	if server, own, ok = u.splitMark(public); ok {
		return server, own, true
	}
	if server, ok = u.owners[public]; ok {
		return server, public, true
	}
	for i := range templates {
		if t := &templates[i]; t.public == t.raw && t.match(public) {
			return t.server, public, true
		}
	}
	if server, ok = u.links.owner(public); ok {
		return server, public, true
	}
	return "", "", false
}

// public returns the public form of a URI of a server. It differs from the server's own only if
// that could lead to another server.
func (u *resourceURIs) public(server, own string) string {
	holder, resolved, ok := u.resolve(own)
	if ok && (holder != server || resolved != own) || !ok && slices.ContainsFunc(u.templates, func(t template) bool {
		return t.server == server && t.public != t.raw && t.match(own)
	}) {
		return markURI(server, own)
	}
	return own
}

func (u *resourceURIs) publicInResult(server, own string) string {
	u.markSeen()
	public := u.public(server, own)
	if public != own {
		return public
	}
	if _, _, listed := u.resolve(own); !listed && own != "" && !u.links.claim(own, server) {
		return markURI(server, own)
	}
	return own
}

func (u *resourceURIs) publicTemplate(server, own string) string {
	if public, marked := u.markedTemplates[[2]string{server, own}]; marked {
		return public
	}
	return own
}

// markURI returns a URI or template with the id of its server. The mark is where the host begins,
// because clients recognize resources by their scheme. An http or similar URL keeps its host, which
// may be an IP address: the mark becomes its user name.
func markURI(server, uri string) string {
	at, web := hostOffset(uri)
	mark := strings.ToLower(server) + "__"
	if web {
		mark += "@"
	}
	return uri[:at] + mark + uri[at:]
}

// splitMark reverses markURI. ok is false if no server has the id.
func (u *resourceURIs) splitMark(uri string) (server, own string, ok bool) {
	at, web := hostOffset(uri)
	id, _, ok := strings.Cut(uri[at:min(len(uri), at+core.MaxServerID+len("__"))], "__")
	if !ok {
		return "", "", false
	}
	if server, ok = u.ids[strings.ToLower(id)]; !ok {
		return "", "", false
	}
	rest := uri[at+len(id)+len("__"):]
	if web {
		if rest, ok = strings.CutPrefix(rest, "@"); !ok {
			return "", "", false
		}
	}
	return server, uri[:at] + rest, true
}

// hostOffset returns where the part of a URI after the scheme begins, and whether the scheme is one
// whose hosts are network hosts. Text without a scheme is not divided.
func hostOffset(uri string) (at int, web bool) {
	for i := 0; i < len(uri); i++ {
		switch c := uri[i]; {
		case c == ':' && i > 0:
			if strings.HasPrefix(uri[i+1:], "//") {
				scheme := strings.ToLower(uri[:i])
				return i + 3, slices.Contains(webSchemes, scheme)
			}
			return i + 1, false
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return 0, false
		}
	}
	return 0, false
}

var webSchemes = []string{"http", "https", "ws", "wss", "ftp"}

func describeMarkedURIs(server string, uris []string) string {
	example := fmt.Sprintf("%.100q at the endpoint that combines all servers", markURI(server, uris[0]))
	if len(uris) == 1 {
		return fmt.Sprintf("resource %.100q is listed as %s, because without the server's id, the URI could refer to another server", uris[0], example)
	}
	return fmt.Sprintf("the URIs of %d resources are listed with the server's id, for example %s, because without the id they could refer to another server", len(uris), example)
}

// markReferences returns raw, a tool, with the public URIs of the resources that its _meta refers
// to.
func (u *resourceURIs) markReferences(server string, raw json.RawMessage) json.RawMessage {
	for _, s := range slices.Backward(toolReferences(raw)) {
		own := unquote(raw[s.Start:s.End])
		if public := u.public(server, own); public != own {
			quoted, _ := json.Marshal(public)
			raw = replaceSpans(raw, []core.Span{s}, quoted)
		}
	}
	return raw
}

func unquote(literal []byte) (text string) {
	_ = json.Unmarshal(literal, &text)
	return text
}

type template struct {
	server   string
	raw      string   // the server's own template
	public   string   // what clients see; set by resourceURIs
	literals []string // the text around the expressions; nil if the template is invalid
}

var templateExpression = osutil.LazyRegexp(`\{[^{}]*\}`)

func parseTemplate(server, raw string) template {
	t := template{server: server, raw: raw, public: raw, literals: templateExpression().Split(raw, -1)}
	if slices.ContainsFunc(t.literals, func(s string) bool { return strings.ContainsAny(s, "{}") }) {
		t.literals = nil
	}
	return t
}

// match reports whether uri may be an expansion of the template. Each expression matches any text,
// because many servers write file:///{path} and mean a path with slashes, which RFC 6570 excludes.
func (t *template) match(uri string) bool {
	last := len(t.literals) - 1
	if last < 0 || strings.ContainsAny(uri, "\r\n") {
		return false
	}
	rest, ok := strings.CutPrefix(uri, t.literals[0])
	if !ok || last == 0 {
		return ok && rest == ""
	}
	for _, literal := range t.literals[1:last] {
		if _, rest, ok = strings.Cut(rest, literal); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, t.literals[last])
}

// overlaps reports whether two templates may have an expansion in common. It compares the text
// before the first expression and after the last one, so it may report true for some that have none.
func (t *template) overlaps(o *template) bool {
	if t.raw == o.raw {
		return true
	}
	if t.literals == nil || o.literals == nil {
		return false
	}
	before, otherBefore := t.literals[0], o.literals[0]
	after, otherAfter := t.literals[len(t.literals)-1], o.literals[len(o.literals)-1]
	return (strings.HasPrefix(before, otherBefore) || strings.HasPrefix(otherBefore, before)) &&
		(strings.HasSuffix(after, otherAfter) || strings.HasSuffix(otherAfter, after))
}
