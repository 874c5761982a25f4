package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// world is the program in a bubble of testing/synctest, with simulated servers, clients and a user, and what
// the simulation knows to be true about them. The program is composed by makeCallPath, makeHandlers and
// startCallPath, as it is in runDaemon. It has no socket, no process and no watch of files.
type world struct {
	t        *testing.T
	seed     int64
	r        *rand.Rand // used by step and what it calls; nothing else draws
	dir      string
	d        *daemon
	handler  http.Handler
	offset   atomic.Int64 // of the wall clock
	order    []*simServer
	clients  []*simClient
	steps    int           // actions of the seed and answers to calls
	versions int           // definitions that servers have made up
	trace    []string      // the latest events
	digest   hash.Hash64   // of all events
	pending  []*simRequest // see open
	reports  *core.Subscription
	stalls   sync.WaitGroup // of the disk

	mu       sync.Mutex // guards what follows: processes and requests run in goroutines of the program
	servers  map[string]*simServer
	conf     *simConfig
	before   *simConfig             // also valid, while conf is being applied
	paused   bool                   // and stopped
	pausing  bool                   // the state of pause is changing
	trusted  map[string]int         // version of each tool, by server/tool
	requests map[string]*simRequest // by token
	approved map[string]bool        // by token
	granted  map[string]time.Time   // by client/server/tool: calls are permitted until then
	faults   []string
	said     []string // events of the program since the last step
	events   int
}

var simTools = []string{"plain", "careful", "limited", "shape", "switched"}

// simConfig is the configuration, as the simulation knows it.
type simConfig struct {
	Disabled map[string]bool
	Ask      map[string]string // approval of careful, by server
	Off      map[string]bool   // switched is not enabled, by server
	Accept   map[string]bool   // changed tools are accepted, by server
	Few      map[string]bool   // few calls at once, by server
	Session  map[string]string // by server
	Deny     bool              // texts that begin with d are denied
	Hidden   map[string]string // a server that a client does not see, by client
	Gone     string            // a server that is not in the file, or ""
	Note     int
}

func (c *simConfig) clone() *simConfig {
	n := *c
	n.Disabled, n.Off, n.Accept, n.Few = maps.Clone(c.Disabled), maps.Clone(c.Off), maps.Clone(c.Accept), maps.Clone(c.Few)
	n.Ask, n.Session, n.Hidden = maps.Clone(c.Ask), maps.Clone(c.Session), maps.Clone(c.Hidden)
	return &n
}

const requestTimeout = 20 * time.Second

// limit of the tool limited: in any interval, a client makes at most burst plus rate times the interval.
const simRate, simBurst = 2, 3

// text returns the configuration file.
func (c *simConfig) text(order []*simServer) string {
	type object = map[string]any
	servers, profiles, clients := object{}, object{}, object{}
	for _, s := range order {
		if s.id == c.Gone {
			continue
		}
		if s.mode != "" {
			servers[s.id] = object{"command": "simulated", "requestTimeoutMs": requestTimeout.Milliseconds()}
			continue
		}
		entry := object{
			"command": "simulated", "disabled": c.Disabled[s.id], "requestTimeoutMs": requestTimeout.Milliseconds(), "maxRequestMs": 60000, "session": c.Session[s.id],
			"tools": object{
				"careful":  object{"approval": c.Ask[s.id]},
				"switched": object{"enabled": !c.Off[s.id]},
				"limited":  object{"rateLimit": object{"perSecond": simRate, "burst": simBurst}},
			},
			"toolChanges": map[bool]string{true: "accept", false: "ask"}[c.Accept[s.id]],
			"breaker":     object{"failures": 0},
		}
		if c.Few[s.id] {
			entry["concurrency"] = object{"max": 1, "queue": 2}
		}
		servers[s.id] = entry
	}
	for client, hidden := range c.Hidden {
		seen := object{}
		for _, s := range order {
			if s.id != hidden && s.id != c.Gone {
				seen[s.id] = object{}
			}
		}
		profiles["without-"+hidden] = object{"servers": seen}
		clients[client] = object{"profile": "without-" + hidden}
	}
	all := object{"mcpServers": servers, "profiles": profiles, "clients": clients, "bridge": object{"listWaitMs": 2000, "describeServer": "off"}}
	if c.Deny {
		all["policy"] = object{"rules": []object{{"where": object{"/text": object{"glob": "d*"}}, "then": "deny"}}}
	}
	src, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("// %d\n%s\n", c.Note, src)
}

func newWorld(t *testing.T, seed int64, dir string) *world {
	w := &world{
		t: t, seed: seed, digest: fnv.New64a(), r: rand.New(rand.NewPCG(uint64(seed), 53)), dir: dir, servers: map[string]*simServer{}, trusted: map[string]int{},
		requests: map[string]*simRequest{}, approved: map[string]bool{}, granted: map[string]time.Time{},
		conf: &simConfig{Disabled: map[string]bool{}, Ask: map[string]string{}, Off: map[string]bool{}, Accept: map[string]bool{}, Few: map[string]bool{}, Session: map[string]string{}, Hidden: map[string]string{}},
	}
	modes := []string{"echo", "legacy", "modern", "junk", "late", "neither", "exit-call", "silent-call", "progress", "early-change", "banner", "bad-text", "modern-exit", "legacy-exit", "malformed-tools", "ask-cancel"}
	for i := range 3 {
		s := &simServer{id: fmt.Sprint("s", i), version: map[string]int{}, modern: w.r.IntN(3) == 0}
		for _, tool := range simTools {
			s.version[tool] = 1
		}
		w.conf.Ask[s.id], w.conf.Session[s.id] = "ask", "shared"
		w.order = append(w.order, s)
	}
	w.conf.Session["s2"] = pick(w, []string{"shared", "shared", "perClient", "perSession"})
	for i := range 2 {
		w.order = append(w.order, &simServer{id: fmt.Sprint("m", i), mode: modes[w.r.IntN(len(modes))]})
	}
	for _, s := range w.order {
		w.servers[s.id] = s
	}
	w.compose()
	for i := range 4 {
		name := fmt.Sprint("client", i)
		token, err := w.d.tokens.Create(name)
		w.must(err)
		w.clients = append(w.clients, &simClient{w: w, name: name, token: token.Token, modern: i%2 == 1, limited: map[string][]time.Time{}})
	}
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// compose starts the program without its doors to the system.
func (w *world) compose() {
	ctx := context.Background()
	folders := config.Folders{Config: w.dir, Data: w.dir, State: w.dir, Logs: filepath.Join(w.dir, "logs"), CustomData: true}
	w.must(folders.Make())
	w.must(os.WriteFile(folders.ConfigFile(), []byte(w.conf.text(w.order)), 0o600))
	log := slog.New(slog.DiscardHandler)
	if *simVerbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	d := &daemon{
		options: cli.ServeOptions{Folders: folders, Sources: config.SourcesFor("", folders, func(string) string { return "" }), NoTray: true}, log: log, life: newLifecycle(log), bus: new(core.Bus),
		now: func() time.Time { return time.Now().Add(time.Duration(w.offset.Load())) },
	}
	w.d = d
	var err error
	d.admin, err = loopback.OpenAdminToken(folders.Data)
	w.must(err)
	d.tokens, err = loopback.NewTokens(folders.Data, log)
	w.must(err)
	d.files = config.NewReloader(config.ReloaderOptions{Sources: d.options.Sources, Bus: d.bus, Log: log, Polled: true})
	w.must(d.files.Load())
	w.must(d.openStorage(ctx))
	d.makeCallPath(ctx)
	d.dialer.Start = w.start
	d.records.secrets.loginEnv, d.records.secrets.rereads = func(context.Context) (map[string]string, error) { return nil, nil }, nil
	address := netip.MustParseAddrPort("127.0.0.1:7575")
	d.url, d.startedAt = "http://"+address.String(), time.Now()
	server, _, err := d.makeHandlers(address, func(error) {})
	w.must(err)
	w.handler = server.Handler
	w.watch(d.bus.Subscribe(100000, core.ServerEvent, core.CatalogEvent, core.ConfigEvent, core.NoticeEvent, core.ApprovalEvent))
	d.startCallPath(false)
	close(d.cleanup.done)
	d.life.run("bridge", time.Second, d.front.Run)
	d.life.early = append(d.life.early, d.front.RefuseRequests, d.calls.RefuseCalls)
	drainCalls(d.life, d.calls)
	d.inbox.AddViewer(func() bool { return true })
	synctest.Wait()
}

// watch adds what the program reports to its page to the trace, until the program has stopped.
func (w *world) watch(s *core.Subscription) {
	w.reports = s
	go func() {
		states := map[string]core.State{}
		for e := range s.Events() {
			what := ""
			switch data := e.Data.(type) {
			case core.ServerStatus:
				if what = data.ID + " is " + string(data.State); states[data.ID] == data.State {
					continue // only numbers have changed
				}
				states[data.ID] = data.State
			case string:
				what = data
			case core.Notice:
				what = data.Subject
			case approvals.Item:
				what = data.Server + " " + string(data.Kind) + " " + string(data.State)
			}
			w.remember("reported:", string(e.Kind), what)
		}
	}()
}

func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// saw adds an event of the program to the trace. w.mu must be held.
func (w *world) saw(parts ...string) {
	w.events++
	w.said = append(w.said, strings.Join(parts, " "))
}

func (w *world) remember(parts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saw(parts...)
}

// note adds a step to the trace, after the events of the one before. Those have no order of their own: several
// goroutines may run at the same instant.
func (w *world) note(format string, args ...any) {
	w.steps++
	step := time.Now().Format("02 15:04:05.000 ") + fmt.Sprintf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	slices.Sort(w.said)
	for _, line := range append(w.said, step) {
		_, _ = io.WriteString(w.digest, line)
	}
	for _, line := range w.said {
		w.trace = append(w.trace, "                  "+line)
	}
	w.said = w.said[:0]
	w.trace = append(w.trace, step)
	if len(w.trace) >= 800 && !*simVerbose {
		w.trace = slices.Delete(w.trace, 0, len(w.trace)-400)
	}
}

// ran is called when a call arrives at a server: what it must be at that moment.
func (w *world) ran(s *simServer, tool, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fault := func(why string) {
		w.faults = append(w.faults, fmt.Sprintf("call %s of %s reached server %s: %s", token, tool, s.id, why))
	}
	q := w.requests[token]
	if q == nil {
		fault("nobody made it")
		return
	}
	q.ran = append(q.ran, time.Now())
	switch {
	case len(q.ran) > 1:
		fault("for the second time")
	case q.server != s.id || q.tool != tool:
		fault("it was made to " + q.server + " " + q.tool)
	case q.epoch != q.client.epoch && q.client.changing == 0:
		fault("its token is not valid any more")
	case w.paused && !w.pausing:
		fault("all servers are paused")
	}
	why := w.conf.refuses(w, q)
	if why != "" && (w.before == nil || w.before.refuses(w, q) != "") {
		fault(why)
	}
	if s.mode != "" {
		return
	}
	if v := s.listed[tool]; w.conf.Session[s.id] == "shared" && v != w.trusted[s.id+"/"+tool] {
		fault(fmt.Sprintf("its definition is version %d, and %d is trusted", v, w.trusted[s.id+"/"+tool]))
	}
	if tool == "limited" {
		w.checkLimit(q, fault)
	}
}

// cancelled is called when a server is told that a call is cancelled: by its client, or because time is up.
func (w *world) cancelled(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.requests[token]
	if q != nil && !q.gone && q.epoch == q.client.epoch && time.Since(q.ran[0]) < requestTimeout {
		w.faults = append(w.faults, "call "+token+" is cancelled, and its client did not cancel it")
	}
}

// refuses returns why a configuration refuses a call, or "".
func (c *simConfig) refuses(w *world, q *simRequest) string {
	switch {
	case q.server == c.Gone:
		return "it is removed"
	case c.Disabled[q.server]:
		return "it is disabled"
	case c.Hidden[q.client.name] == q.server:
		return "the client must not see it"
	case q.tool == "switched" && c.Off[q.server]:
		return "the tool is switched off"
	case c.Deny && strings.HasPrefix(q.token, "d"):
		return "a rule denies it"
	case q.tool == "careful" && c.Ask[q.server] == "deny":
		return "the approval setting denies it"
	case q.tool == "careful" && c.Ask[q.server] == "ask" && !w.approved[q.token] && !time.Now().Before(w.granted[q.client.name+"/"+q.server+"/"+q.tool]):
		return "nobody approved it"
	}
	return ""
}

// checkLimit counts a call when it is made: it may wait for a slot, and reach the server with others.
func (w *world) checkLimit(q *simRequest, fault func(string)) {
	key := q.client.name + "/" + q.server
	made := append(q.client.limited[key], q.began)
	slices.SortFunc(made, time.Time.Compare)
	q.client.limited[key] = made[max(0, len(made)-40):]
	for i, from := range made {
		for j, to := range made[i:] {
			if n := float64(j + 1); n > simBurst+simRate*to.Sub(from).Seconds()+1e-6 {
				fault(fmt.Sprintf("the limit is exceeded: %v calls in %s", n, to.Sub(from)))
				return
			}
		}
	}
}

// trustListed records which definition of a tool may be called. w.mu must be held.
func (w *world) trustListed(s *simServer, tool string, version int) {
	key := s.id + "/" + tool
	if w.trusted[key] == 0 || w.conf.Accept[s.id] {
		w.trusted[key] = version
	}
}
