package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// entry is a server while it is parsed, with the values that are needed only then.
type entry struct {
	Server
	typeName  string
	httpURL   string        // httpUrl
	timeout   time.Duration // the alias
	container string
	enabled   bool
	filter    Filter
	rules     rules
}

// serverFields are the keys of one server. The schema has the same.
func serverFields(e *entry) []field {
	s := &e.Server
	fields := append(filterFields(&e.filter), ruleFields(&e.rules)...)
	return append(fields, []field{
		str("type", &e.typeName),
		str("transport", &e.typeName),
		str("command", &s.Command, validateNotBlank),
		list("args", &s.Args),
		stringMap("env", &s.Env, s.keys),
		list("inheritEnv", &s.InheritEnv),
		str("cwd", &s.Cwd),
		str("url", &s.URL, validateHTTPURL),
		str("httpUrl", &e.httpURL, validateHTTPURL),
		stringMap("headers", &s.Headers, s.keys),
		oauthField(&s.OAuth),
		accountsField(&s.Accounts, s.keys),
		str("container", &e.container, validateNotBlank),
		section("docker", dockerFields(&s.Docker)...),
		sandboxField(&s.Sandbox),
		section("from", replayFields(&s.Replay)...),
		oneOf("misses", &s.Replay.Misses, MissesStrict, MissesNearest, MissesPassthrough),
		boolean("realtime", &s.Replay.Realtime),
		boolean("disabled", &s.Disabled),
		boolean("enabled", &e.enabled),
		boolean("allowInsecure", &s.AllowInsecure),
		boolean("trust", &s.Trust),
		boolean("debug", &s.Debug),
		oneOf("session", &s.Session, SessionShared, SessionPerClient, SessionPerSession, SessionPerRoot, SessionPerCall),
		oneOf("start", &s.Start, StartAuto, StartOnDemand, StartManual),
		str("namespace", &s.Namespace, validateServerID),
		list("tags", &s.Tags),
		oneOf("framing", &s.Framing, FramingAuto, FramingNDJSON, FramingContentLength),
		oneOf("record", &s.Record, RecordFull, RecordMeta, RecordOff),
		oneOf("toolChanges", &s.ToolChanges, ToolChangesAsk, ToolChangesAccept, ToolChangesBlock),
		oneOf("validateOutput", &s.ValidateOutput, ValidateOff, ValidateWarn, ValidateError),
		millis("startupTimeoutMs", time.Millisecond, &s.StartupTimeout),
		millis("requestTimeoutMs", time.Millisecond, &s.RequestTimeout),
		millis("timeout", time.Millisecond, &e.timeout),
		millis("maxRequestMs", time.Millisecond, &s.MaxRequest),
		millis("idleStopMs", 0, &s.IdleStop),
		millis("catalogRefreshMs", 0, &s.CatalogRefresh),
		millis("heartbeatIntervalMs", 0, &s.Heartbeat),
		millis("staleTimeoutMs", 0, &s.Stale),
		section("restart",
			count("maxAttempts", &s.Restart.MaxAttempts, 0, 1000),
			millis("backoffMs", 0, &s.Restart.Backoff),
			millis("maxBackoffMs", 0, &s.Restart.MaxBackoff),
			oneOf("strategy", &s.Restart.Strategy, RestartExponential, RestartFixed),
		),
		boolean("honorTtl", &s.HonorTTL),
		section("policy", oneOf("preset", &e.rules.preset, PresetStrict)),
		anything("name"),
		anything("description"),
	}...)
}

// serverEntry reads one server. The result is valid if no error was reported meanwhile.
func (r *reader) serverEntry(m member, global Global, base Rules) Server {
	e := entry{enabled: true, Server: Server{
		ID: idOf(m.name), Label: m.name, Source: m.at,
		Debug: global.Debug, RequestTimeout: global.RequestTimeout,
		Start: StartAuto, Framing: FramingAuto, Record: RecordFull, ValidateOutput: ValidateWarn, ToolChanges: ToolChangesAsk, MaxRequest: DefaultMaxRequest, CatalogRefresh: DefaultCatalogRefresh,
		StartupTimeout: DefaultStartupTimeout, Heartbeat: DefaultHeartbeat, Stale: DefaultStale,
		Restart: Restart{MaxAttempts: DefaultMaxAttempts, Backoff: DefaultBackoff, MaxBackoff: DefaultMaxBackoff, Strategy: RestartExponential},
		keys:    make(map[string]Position),
	}}
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
