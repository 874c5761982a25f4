package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Parse reads one file; its name decides between JSON and YAML and is named in
// problems. The Config is nil when the file is refused as a whole. Otherwise it
// is valid: a server with an error is left out, and everything else is filled in.
// The problems are those of Config.Problems. Parse never panics.
func Parse(file string, src []byte) (*Config, []Problem) {
	root, problem := tree(file, src)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	c, problems := build([]document{{file, root}}, nil)
	if c != nil {
		c.texts = []text{{Path: file, Text: string(src)}}
	}
	return c, problems
}

type document struct {
	file string
	root *node
}

// container is a map or a list of servers, with the path of its key.
type container struct {
	path string
	node *node
}

// build makes one Config of all documents, in order. Settings of a later document
// replace those of an earlier one; servers accumulate. If servers is given, it is a list or map
// of servers that replaces those of all documents. The Config is nil if there is an error outside
// of the servers; the servers are read all the same, so that one error hides no others.
func build(documents []document, servers *document) (*Config, []Problem) {
	c, r := Default(), &reader{}
	var policy rules
	standard := c.Global.RequestTimeout
	c.Global.RequestTimeout = 0 // not set
	var containers []container
	for _, d := range documents {
		c.Files = append(c.Files, d.file)
		if d.root.kind != kindObject {
			r.errorf(d.root.at, "", "a configuration must be an object, not %s", d.root.kind)
			continue
		}
		before := len(containers)
		root := r.otherContainers(d.root, &containers)
		r.bare = len(containers) == before && root.get("mcpServers") == nil && root.get("servers") == nil && root.get("mcp").get("servers") == nil
		r.object(root, rootFields(c, &policy, &containers))
	}
	if servers != nil {
		containers = []container{{servers.file, servers.root}}
	}
	c.Policy.Rules = policy.over(c.Policy.Rules)
	switch {
	case c.Global.RequestTimeout > 0:
	case policy.preset == PresetStrict:
		c.Global.RequestTimeout = strictTimeout
	default:
		c.Global.RequestTimeout = standard
	}
	for _, box := range containers {
		r.servers(c, box)
	}
	if r.checkProfileReferences(c); HasErrors(serverless(r.problems)) {
		return nil, r.problems
	}
	if !c.MCPEnabled {
		c.Servers = nil
	}
	c.Problems = r.problems
	return c, r.problems
}

// serverless returns the problems that belong to no single server.
func serverless(problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Server != "" })
}

// validateLoopback reports an address that other machines could reach.
func validateLoopback(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return `must be an address like "127.0.0.1:7575"`
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return "must end in a port from 0 to 65535"
	}
	if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback() || addr.Is4In6() || addr.Zone() != "") {
		return `must be a loopback address, such as "127.0.0.1:7575"`
	}
	return ""
}

func (r *reader) servers(c *Config, box container) {
	entries := box.node.members
	for i, item := range box.node.items {
		name := item.get("name")
		if name == nil || name.kind != kindString {
			r.path = box.path
			r.server = fmt.Sprintf("%s[%d]", box.path, i)
			r.errorf(item.at, fmt.Sprintf("[%d]", i), "missing 'name' in entry %d of '%s'", i+1, box.path)
			continue
		}
		entries = append(entries, member{name.text, name.at, item})
	}
	for _, m := range entries {
		r.server, r.path = m.name, join(box.path, m.name)
		before := len(r.problems)
		s := r.serverEntry(m, c.Global, c.Policy.Rules)
		if r.collides(c, s) || HasErrors(r.problems[before:]) {
			continue
		}
		if r.taken == nil {
			r.taken = make(map[string]int)
		}
		for _, name := range namesOf(c.Bridge.Naming, s) {
			r.taken[name] = len(c.Servers)
		}
		c.Servers = append(c.Servers, s)
	}
	r.server, r.path = "", ""
}

// collides reports a server whose label, id or public prefix equals that of an earlier one.
func (r *reader) collides(c *Config, s Server) bool {
	first := len(c.Servers)
	for _, name := range namesOf(c.Bridge.Naming, s) {
		if i, ok := r.taken[name]; ok {
			first = min(first, i)
		}
	}
	if first == len(c.Servers) {
		return false
	}
	switch other := c.Servers[first]; {
	case other.Label == s.Label:
		r.report(s.Source, "", false, "remove one of them",
			"server '%s' is defined twice, first at %s", s.Label, other.Source)
	case strings.EqualFold(other.ID, s.ID):
		r.report(s.Source, "", false, "rename one of them",
			"servers '%s' and '%s' would share the id '%s'", other.Label, s.Label, other.ID)
	default:
		r.report(s.Source, "namespace", false, "give one of them another 'namespace'",
			"servers '%s' and '%s' would share the prefix '%s'", other.Label, s.Label, s.prefix())
	}
	return true
}

// namesOf returns the names of s that must be unique among servers, each marked by its first byte.
func namesOf(naming string, s Server) [3]string {
	return [...]string{"l" + s.Label, "i" + strings.ToLower(s.ID), "p" + prefix(naming, s)}
}

func (s Server) prefix() string {
	if s.Namespace != "" {
		return s.Namespace
	}
	return s.ID
}

// prefix is the distinguishing part of the public names of s: the scheme "mcp_{server}_{tool}"
// replaces underscores in the prefix by dashes.
func prefix(naming string, s Server) string {
	p := strings.ToLower(s.prefix())
	if strings.HasPrefix(naming, "mcp_") {
		p = strings.ReplaceAll(p, "_", "-")
	}
	return p
}

// idOf returns the id of a server with the given label.
func idOf(label string) string { return core.Slug(label) }

// serverEntry reads one server. The result is valid if no error was reported meanwhile.
func (r *reader) serverEntry(m member, global Global, base Rules) Server {
	e := entry{enabled: true}
	schemaTree().Defs["server"].setDefaults(&e.Server)
	e.ID, e.Label, e.Source, e.keys = idOf(m.name), m.name, m.at, make(map[string]Position)
	e.Debug, e.RequestTimeout, e.Launch, e.Session = global.Debug, global.RequestTimeout, global.Launch, ""
	if e.ID == "" {
		r.report(m.at, "", false, "use letters a to z and digits", "server name '%s' must contain a letter or digit", m.name)
	}
	if m.value.kind != kindObject {
		r.errorf(m.value.at, "", "server '%s' must be an object, not %s", m.name, m.value.kind)
		return e.Server
	}
	m.value = r.tidied(m)
	for _, key := range m.value.members {
		e.keys[key.name] = key.value.at
	}
	before := len(r.problems)
	r.object(m.value, serverFields(&e))
	if HasErrors(r.problems[before:]) {
		return e.Server // further errors would only be consequences
	}
	if !e.enabled {
		e.Disabled = true
	}
	switch own := m.value.get("requestTimeoutMs"); {
	case own == nil && e.timeout > 0:
		e.RequestTimeout = e.timeout
	case own == nil && e.rules.preset == PresetStrict:
		e.RequestTimeout = strictTimeout
	}
	e.Filter, e.Rules = e.filter.orNil(), e.rules.over(base)
	if e.URL == "" {
		e.URL = e.httpURL
	}
	if e.Docker.Container == "" {
		e.Docker.Container = e.container
	}
	r.transport(&e, m)
	r.accounts(&e)
	r.session(&e, m)
	r.sandbox(&e, m)
	return e.Server
}

// session determines who shares a process of e and when an idle one is stopped.
func (r *reader) session(e *entry, m member) {
	uses := e.UsesWorkspace()
	switch {
	case e.Session == SessionPerCall && e.Type != core.Docker:
		r.report(r.keyAt(e, m, "session"), "session", false, "use perSession",
			"'session'%s can be perCall only for docker servers", r.inServer())
	case e.URL != "" && e.Command != "" && e.Session != "" && e.Session != SessionShared:
		r.report(r.keyAt(e, m, "session"), "session", false, "use shared",
			"'session'%s must be shared: a single program serves the url", r.inServer())
	case e.Session == SessionShared && uses:
		r.report(r.keyAt(e, m, "session"), "session", false, "use perRoot",
			"'session'%s cannot be shared: each client has its own ${%s}", r.inServer(), WorkspaceFolder)
	case e.Session == "" && uses:
		e.Session = SessionPerRoot
	case e.Session == "":
		e.Session = SessionShared
	}
	switch {
	case m.value.get("idleStopMs") != nil:
	case e.Session == SessionPerCall:
		e.IdleStop = time.Second // a process that was started for its lists is not kept for calls
	case e.Start == StartOnDemand || e.Session != SessionShared:
		e.IdleStop = DefaultIdleStop
	}
}

// transports maps the spellings of "type" that other programs use.
var transports = map[string]core.Transport{
	"stdio": core.Stdio, "local": core.Stdio,
	"docker": core.Docker,
	"http":   core.HTTP, "streamable-http": core.HTTP, "streamableHttp": core.HTTP, "streamable_http": core.HTTP, "remote": core.HTTP,
	"sse":    core.SSE,
	"replay": core.Replay,
}

// transport determines the type of e and checks that its required keys are present.
func (r *reader) transport(e *entry, m member) {
	hasContainer := len(e.Docker.named()) > 0
	switch t, known := transports[e.typeName]; {
	case known:
		e.Type = t
	case e.typeName != "":
		suggestion := "use one of stdio, docker, http, sse, replay"
		r.report(r.keyAt(e, m, "type", "transport"), "type", false, suggestion, "unknown type '%s'%s", e.typeName, r.inServer())
		return
	case m.value.get("from") != nil:
		e.Type = core.Replay
	case hasContainer:
		e.Type = core.Docker
	case e.URL != "":
		e.Type = core.HTTP
	default:
		e.Type = core.Stdio
	}

	if e.Type == core.Replay {
		r.warnUnusedKeys(e, m, "command", "args", "env", "inheritEnv", "cwd", "url", "httpUrl", "headers", "oauth", "container", "docker", "framing")
		e.Command, e.Args, e.Env, e.InheritEnv, e.Cwd, e.URL, e.Headers, e.OAuth, e.Docker = "", nil, nil, nil, "", "", nil, OAuth{}, Docker{}
		r.replay(e, m)
		return
	}
	r.warnUnusedKeys(e, m, "from", "misses", "realtime")
	e.Replay = Replay{}

	missing := func(key, suggestion string) {
		r.report(m.at, key, false, suggestion, "missing '%s' in %s server '%s'", key, e.Type, e.Label)
	}
	if e.Type != core.Docker { // the folders of a container are not those of the user
		e.Command, e.Cwd = inHome(e.Command), inHome(e.Cwd)
	}
	switch e.Type {
	case core.Stdio:
		if e.Command == "" {
			suggestion := ""
			if e.typeName == "" {
				suggestion = "a local server needs 'command', a remote server 'url', and a server in a container 'container'"
			}
			missing("command", suggestion)
		}
		r.warnUnusedKeys(e, m, "url", "httpUrl", "headers", "container", "docker")
		e.URL, e.Headers, e.Docker = "", nil, Docker{}
		r.dockerExec(e, m)
	case core.Docker:
		if !hasContainer {
			missing("container", "set the name of a running container, or docker.image to create one")
		}
		r.docker(e, m)
		if e.Command == "" && e.Docker.Image == "" {
			missing("command", "set the command to run inside the container")
		}
		r.warnUnusedKeys(e, m, "url", "httpUrl", "headers", "inheritEnv")
		e.URL, e.Headers, e.InheritEnv = "", nil, nil
		if e.Docker.Workdir == "" {
			e.Docker.Workdir = e.Cwd
		}
		e.Cwd = ""
	case core.HTTP, core.SSE:
		if e.URL == "" {
			missing("url", "")
		}
		r.warnUnusedKeys(e, m, "container", "docker")
		e.Docker = Docker{}
		if e.Command == "" {
			r.warnUnusedKeys(e, m, "args", "env", "inheritEnv", "cwd")
			e.Args, e.Env, e.InheritEnv, e.Cwd = nil, nil, nil, ""
		}
		r.checkHeaders(e, "", e.Headers)
	}
	r.checkEnv(e, "", e.Env)
}

// inHome returns a path with the home folder of the user for a "~/" at its beginning, which no program
// expands that gets it from us. Arguments are passed as they are.
func inHome(path string) string {
	if home, err := os.UserHomeDir(); err == nil && (path == "~" || strings.HasPrefix(path, "~/")) {
		return filepath.Join(home, path[1:])
	}
	return path
}

// warnUnusedKeys warns about keys without effect for the type of the server.
func (r *reader) warnUnusedKeys(e *entry, m member, names ...string) {
	for _, key := range m.value.members {
		if slices.Contains(names, key.name) {
			r.report(key.at, key.name, true, "remove it", "'%s' has no effect for %s server '%s'", key.name, e.Type, e.Label)
		}
	}
}

func (r *reader) keyAt(e *entry, m member, names ...string) Position {
	for _, name := range names {
		if at, ok := e.keys[name]; ok {
			return at
		}
	}
	return m.at
}

func validateNotBlank(s string) string {
	if strings.TrimSpace(s) == "" {
		return "must not be empty"
	}
	return ""
}

func validateServerID(s string) string {
	if !core.ValidServerID(s) {
		return fmt.Sprintf("must be at most %d letters and digits, with single '_' or '-' between them", core.MaxServerID)
	}
	return ""
}

// validateHTTPURL reports a value that is not an http or https URL. One with variables is validated
// when it is used.
func validateHTTPURL(s string) string {
	if strings.Contains(s, "${") {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return `must be an address that starts with "http://" or "https://"`
	}
	return ""
}

func isHeaderName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	}) < 0
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
