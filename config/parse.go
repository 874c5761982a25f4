package config

import (
	"fmt"
	"net"
	"net/netip"
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

// document is one parsed file.
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
		c.Global.RequestTimeout = DefaultRequestTimeout
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

func rootFields(c *Config, policy *rules, containers *[]container) []field {
	servers := func(path, name string) field {
		return field{name, func(r *reader, name string, _ Position, n *node) {
			if n.kind != kindObject && n.kind != kindList {
				r.reportWrongKind(n, name, "an object of servers")
				return
			}
			*containers = append(*containers, container{path, n})
		}}
	}
	return []field{
		servers("mcpServers", "mcpServers"),
		servers("servers", "servers"),
		section("mcp",
			boolean("enabled", &c.MCPEnabled),
			servers("mcp.servers", "servers"),
			boolean("debug", &c.Global.Debug),
			globalSettings(&c.Global),
		),
		globalSettings(&c.Global),
		section("bridge",
			str("listen", &c.Bridge.Listen, validateLoopback),
			boolean("requireToken", &c.Bridge.RequireToken),
			list("allowedHosts", &c.Bridge.AllowedHosts),
			millis("listWaitMs", 0, &c.Bridge.ListWait),
			oneOf("naming", &c.Bridge.Naming, Namings...),
			oneOf("describeServer", &c.Bridge.DescribeServer, Describes...),
			boolean("selfTools", &c.Bridge.SelfTools),
			list("historyFor", &c.Bridge.HistoryFor),
			boolean("socket", &c.Bridge.Socket),
		),
		section("history",
			boolean("enabled", &c.History.Enabled),
			days("keepDays", &c.History.KeepFor),
			size("maxBytes", &c.History.MaxBytes, 0),
			count("maxPayloadBytes", &c.History.MaxPayload, 0, 64<<20),
			str("fullSession", &c.History.FullSession, validateNotBlank),
			patterns("redact", &c.History.Redact),
			list("debugClients", &c.History.DebugClients),
		),
		section("policy", policyFields(policy, &c.Policy)...),
		profilesField(&c.Profiles),
		clientsField(&c.Clients),
		section("directory", str("url", &c.DirectoryURL, validateHTTPURL)),
		section("desktop",
			boolean("notifications", &c.Desktop.Notifications),
		),
		section("updates",
			boolean("check", &c.Updates.Check),
			str("url", &c.Updates.URL, validateHTTPURL),
			str("publicKey", &c.Updates.PublicKey),
			millis("restartIdleMs", 0, &c.Updates.RestartIdle),
		),
		section("metrics",
			boolean("enabled", &c.Metrics.Enabled),
			boolean("public", &c.Metrics.Public),
			section("otlp",
				str("endpoint", &c.Metrics.OTLP.Endpoint, validateHTTPURL),
				stringMap("headers", &c.Metrics.OTLP.Headers, nil),
				boolean("traces", &c.Metrics.OTLP.Traces),
				boolean("metrics", &c.Metrics.OTLP.Metrics),
				millis("intervalMs", time.Second, &c.Metrics.OTLP.Interval),
			),
		),
		inputsField(),
		anything("$schema"),
	}
}

// globalSettings is at the top or inside mcp; if both set a key, the later one in the file wins.
func globalSettings(g *Global) field {
	return section("globalSettings",
		millis("timeout", 1, &g.RequestTimeout),
		boolean("debug", &g.Debug),
		millis("loginShellTimeoutMs", 100*time.Millisecond, &g.LoginShellTimeout),
		oneOfThen("approveNewCommands", []string{ApproveOff, ApproveAsk}, func(word string) { g.ApproveNewCommands = word == ApproveAsk }),
	)
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

// servers adds the servers of one container to c.
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
