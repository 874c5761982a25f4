package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/launch"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// makeCallPath makes the parts that a call passes: bridge, gateway with policy, supervisor and
// dialer, and those that observe calls. Nothing runs yet.
func (d *daemon) makeCallPath(ctx context.Context) {
	lastID, err := d.history.LastCallID(ctx)
	if err != nil {
		d.log.Warn("Cannot read the newest call", "error", err)
	}
	recorder := d.history.Recorder()
	d.views, d.baseline = newTrust(d.history, d.bus, d.log)
	d.own = newBuiltinOverlay(d.views)
	d.inbox = approvals.New(approvals.Options{Bus: d.bus})
	// An approval that nobody can see is not requested: the call is refused with an error that says
	// so.
	d.accounts = new(accountChooser)
	d.rules = policy.New(policy.Options{Views: d.own, Approvals: d.inbox, Reachable: d.inbox.Watched, Process: d.waitingProcess, Credential: d.credentialOf})
	d.records = newHistoryWiring(d.history, d.views, d.bus, d.log, d.vault, d.logins.keeper)
	folders := d.options.Folders
	d.launch = launch.New(launch.Options{File: filepath.Join(folders.Data, "launch.json"), Log: d.log, Journal: func(server string, level slog.Level, text string) { d.dialer.Journal(server, level, text) }})
	d.dialer = &upstream.Dialer{
		Secret:   d.records.secrets.secretReader(d.vault),
		Observer: d.records.frameLog, SignIn: d.logins, TrialSignIn: trialLogins{d.logins}, Redact: recorder.Redact,
		Spawner: d.spawner, Ready: d.cleanup.wait, Logs: d.logs, Log: d.log, DockerLedger: execLedger(folders),
		PrivatePaths:     func() []string { return privatePaths(folders, d.options.Sources) },
		DefaultWorkspace: filepath.Join(folders.State, "default-workspace"),
		ClientInfo:       clientInfo(), Capabilities: json.RawMessage(relayedCapabilities),
		DefinitionHash: trust.DefinitionHash, Package: packageOf,
		Recording: recordingOf(d.history), Launcher: d.launch,
	}
	d.servers = supervisor.New(supervisor.Options{
		Log: d.log, Bus: d.bus, Registry: d.views, Connect: d.dialer.Connect,
		Impaired: func(server string) string { b, _ := d.rules.Breaker(server); return b.Reason }, Connected: d.rules.Connected,
		Catalogs: d.history, Eras: d.history, Journal: d.dialer.Journal,
		LastLines: d.dialer.LastLines, DownloadingLauncher: d.dialer.DownloadingLauncher, ExpectedStart: d.launch.ExpectedStart, Cached: isCached, Usage: d.dialer.Usage,
		Confirmed: confirmedEntries(d.options, d.vault), CommandApprovals: commandApprovals{d.history}, Logins: d.logins.keeper.LoginState,
	})
	d.calls = gateway.New(gateway.Options{
		Upstreams: newUpstreams(d.own, d.servers, d.history, d.now), ChooseAccount: d.accounts.choose, Policy: d.rules,
		Recorder: d.records.validator, Bus: d.bus, Log: d.log, LastID: lastID, Now: d.now,
	})
	d.inbox.Previews = approvals.PreviewRunner{
		Call: d.calls.Call, Store: d.history, Auto: func() bool { return d.files.Current().Policy.AutoPreview },
		Tools: func(server string) map[string]json.RawMessage {
			tools := map[string]json.RawMessage{}
			if view, ok := d.views.Server(server); ok {
				for _, item := range view.Items(core.Tools) {
					tools[item.Name] = item.Raw
				}
			}
			return tools
		},
		Names: func() (names []string) {
			for _, s := range d.files.Current().Servers {
				names = append(names, s.ID)
			}
			for _, item := range d.views.All().Items(core.Tools) {
				names = append(names, item.Name)
			}
			return names
		},
	}
	d.checks = newCheckRunner(d.history, d.servers, d.views, d.calls, d.bus, d.log)
	d.front = bridge.New(bridge.Options{
		Registry: d.views, Gateway: d.calls, Lister: d.servers, Settle: func(ctx context.Context) error { return d.files.Sync(ctx, "") }, Approvals: d.inbox, Log: d.log, Version: version, Now: d.now,
		WhyAbsent: func(server string) string {
			if s, known := d.files.Current().Server(core.Slug(server)); known && s.Disabled {
				return "the server \"" + s.ID + "\" is disabled; enable it with: drawbridge enable " + s.ID
			}
			return ""
		},
		StoredResult: storedResult(d.history), Credential: d.credentialOf,
		Builtin: d.own.views, BuiltinTools: d.own.inAggregate, DescribeServer: d.own.describes,
		WantsWorkspace: func(call *core.Call) bool {
			return d.servers.WantsWorkspace(call.Server) || d.accounts.folderDecides(call.Server) || d.rules.WantsWorkspace(call)
		},
		Elsewhere:    func(token string) bool { return d.guests.Has(token) },
		SaveClients:  saveClients(d.history, d.log),
		SessionEnded: d.servers.EndSession, ShimEnded: d.servers.EndShim, Limits: func(token string) bridge.ClientLimits { return d.limitsOf(token) }, Used: func(token string) *bridge.UsedTools { return d.profiles.Used(token) },
		ProcessOf: processOf(d.accounts, d.servers),
	})
	d.launch.Servers = d.servers
	// The servers are called through the parts above; what they send and what changes goes back to
	// them.
	d.dialer.Callbacks = serverCallbacks(d.front, d.calls, d.servers, d.accounts)
	d.logins.keeper.Observe(d.servers.LoginChanged, d.records.secrets.refresh)
	d.rules.ObserveBreakers(func(b policy.BreakerStatus) {
		reportBreaker(b, d.bus, d.log)
		d.servers.PublishStatus(b.Server)
	})
	restoreTasks(ctx, d.history, d.front, d.log)
	restoreClients(ctx, d.history, d.front, d.log)
	d.views.OnChange(func(c registry.Change) {
		d.front.ListChanged(c)
		d.records.changed()
		d.checks.Changed(c.Server)
		d.bus.Publish(core.CatalogEvent, c.Server)
	})

	d.connections = newConnectionObserver(d.history, d.dialer, d.servers, d.bus, d.log, d.now, d.files.Current)
	d.counts = newMeter(d.bus, d.servers, d.front, d.history, d.rules, d.dialer, d.calls, func() config.Metrics { return d.files.Current().Metrics })
	d.newer = desktop.New(desktop.Options{Version: version, Storage: d.history, Bus: d.bus, Log: d.log})
	d.sender = newTelemetry(d.bus, d.counts, recorder.Redact, d.log)
}

// limitsOf implements bridge.Options.Limits.
func (d *daemon) limitsOf(token string) bridge.ClientLimits {
	return clientLimits(token, d.front.ClientName(token))
}

// clientLimits returns the limits of a client that is known by the id under which it was connected. Under
// another one, it is known by the name of its application, which does not decide about the names of tools:
// a token may have several applications.
func clientLimits(token, application string) bridge.ClientLimits {
	name, tools, l := clientconf.LimitsOf(token)
	if l == (clientconf.Limits{}) {
		_, tools, l = clientconf.LimitsOf(clientconf.IDOf(application))
	}
	return bridge.ClientLimits{
		Name: name, Instructions: l.Instructions, Description: l.Description, PinnedDescription: l.PinnedDescription,
		PinKey: l.PinKey, SearchesItself: l.SearchesItself, Tools: tools,
	}
}

// waitingProcess implements policy.Options.Process.
func (d *daemon) waitingProcess(call *core.Call) (string, error) {
	if err := d.accounts.recheck(call); err != nil {
		return "", err
	}
	return d.servers.ProcessOf(call)
}

// credentialOf implements Credential of bridge.Options and policy.Options.
func (d *daemon) credentialOf(client string) ([sha256.Size]byte, bool) {
	if client == "" {
		return [sha256.Size]byte{}, !d.files.Current().Bridge.RequireToken
	}
	return d.tokens.Digest(client)
}

func (d *daemon) configPhases() configPhases {
	return configPhases{
		// Servers list their tools by the rules, and use the secrets and sign-ins, so they come
		// last.
		{"rules", []func(*config.Config){
			func(c *config.Config) { d.baseline.Apply(trust.Settings(c)) },
			d.rules.Apply,
			d.accounts.apply,
			func(c *config.Config) { d.own.apply(c.Bridge, d.front) },
			func(c *config.Config) { applyVisibility(c, d.views, d.front) },
		}},
		{"records", []func(*config.Config){
			func(c *config.Config) { history.Apply(d.history, c.History) },
			d.records.apply,
			func(c *config.Config) { d.counts.apply(c.Metrics) },
			func(c *config.Config) { d.sender.apply(c.Metrics.OTLP) },
			func(c *config.Config) { d.newer.Apply(updateSource(c.Updates)) },
		}},
		{"sign-ins", []func(*config.Config){d.logins.apply, d.launch.Apply}},
		{"servers", []func(*config.Config){d.servers.Apply}},
	}
}

// startCallPath starts the parts that work on their own. hasWatchdog says that another process can
// start an installed new version.
func (d *daemon) startCallPath(hasWatchdog bool) {
	d.life.run("events", time.Second, d.approvals.Run)
	d.life.run("direct starts", time.Second, d.launch.Run)
	d.life.run("package versions", time.Second, d.packages.Run)
	d.life.run("trust", 3*time.Second, d.baseline.Run)
	d.life.run("sign-ins", time.Second, d.logins.keeper.Run)
	d.life.run("metrics", time.Second, d.counts.run)
	d.life.run("telemetry", 2*time.Second, d.sender.run)
	d.life.run("updates", time.Second, d.newer.Run)
	d.life.run("profiles", time.Second, d.profiles.Run)
	d.life.run("connection observer", 3*time.Second, d.connections.Run)
	if hasWatchdog {
		d.life.run("replacement", time.Second, d.replaced.Run)
	}
	d.records.start(d.life)
	d.life.run("checks", time.Second, d.checks.Run) // stops before the records, because it makes calls
	d.life.runSlow("supervisor", 6*time.Second, d.servers.Run)
	d.life.run("configuration", 2*time.Second, func(ctx context.Context) error {
		return d.files.Run(ctx, d.configPhases().apply) // finishes a write in progress
	})
}

// followNetwork retries unreachable servers after a change of the network.
func (d *daemon) followNetwork() {
	d.life.run("network", time.Second, func(ctx context.Context) error {
		return osutil.WatchNetwork(ctx, d.log, d.servers.NetworkChanged)
	})
}

// drainCalls waits for calls in flight before the bridge cancels them, as the supervisor does
// before it stops their servers.
func drainCalls(life *lifecycle, calls *gateway.Gateway) {
	life.onStop("calls", 2*supervisor.DrainLimit, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, supervisor.DrainLimit)
		defer cancel()
		calls.Drain(ctx)
		return nil
	})
}

// reportBreaker reports that the circuit breaker of a server opened or closed.
func reportBreaker(b policy.BreakerStatus, bus *core.Bus, log *slog.Logger) {
	level := slog.LevelInfo
	if b.State == policy.BreakerOpen {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "Breaker changed", "server", b.Server, "state", b.State, "reason", b.Reason)
	bus.Publish(core.BreakerEvent, b)
}

// relayedCapabilities are the capabilities that we declare to servers, which a client of ours may
// have. If the calling client lacks one, a request for it returns a clear error.
const relayedCapabilities = `{"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"roots":{}}`

func clientInfo() json.RawMessage {
	info, _ := json.Marshal(map[string]string{"name": "drawbridge", "title": "Drawbridge", "version": version})
	return info
}

// configPhases are what a new configuration is applied to. A phase begins when the one before it
// is complete; within a phase the order has no meaning.
type configPhases []configPhase

type configPhase struct {
	name  string
	apply []func(*config.Config)
}

func (p configPhases) apply(c *config.Config) {
	for _, phase := range p {
		began := time.Now()
		for _, apply := range phase.apply {
			apply(c)
		}
		slog.Debug("Configuration applied", "phase", phase.name, "took", time.Since(began))
	}
}

// newTrust creates the registry and the trust baseline that hides its unapproved tools from
// clients.
func newTrust(history *store.Store, bus *core.Bus, log *slog.Logger) (*registry.Registry, *trust.Baseline) {
	baseline := trust.New(trust.Options{Store: history, Log: log})
	views := registry.New(registry.Options{Withhold: baseline.Judge})
	baseline.Observe(views.ReapplyWithhold, func(server string) { bus.Publish(core.CatalogEvent, server) })
	return views, baseline
}

// applyVisibility applies the profiles and clients of the configuration. It must be called before
// servers are started, so that a new server is never visible to a client that must not see it.
// During the update a client sees either its old or its new profile, never both.
func applyVisibility(c *config.Config, views *registry.Registry, front *bridge.Bridge) {
	r := bridge.Visibility{Unknown: c.VisibilityUnknown, ProfileOf: c.ProfileOf, Clients: map[string]bridge.ClientVisibility{}, Profiles: map[string]bridge.ProfileVisibility{}}
	r.Folders = slices.ContainsFunc(c.Profiles, func(p config.Profile) bool { return len(p.Folders) > 0 })
	for name, client := range c.Clients {
		r.Clients[name] = bridge.ClientVisibility{Profile: client.Profile, ToolMode: client.ToolMode, MaxResultTokens: client.MaxResultTokens, SingleCopy: client.SingleCopy}
	}
	for _, p := range c.Profiles {
		r.Profiles[p.Name] = bridge.ProfileVisibility{ToolMode: p.ToolMode}
	}
	if !views.SetProfiles(c.Profiles) && front.HasVisibility(r) {
		return
	}
	front.SetVisibility(r)
}

// commandApprovals stores in the history database which commands the user has approved.
type commandApprovals struct{ facts *store.Store }

func (a commandApprovals) key(server, key string) string { return "approved/" + server + "/" + key }

// Approved reports whether the user has approved the command that key identifies, and in which sandbox.
func (a commandApprovals) Approved(ctx context.Context, server, key string) (sandbox []byte, ok bool, err error) {
	return a.facts.Metadata(ctx, a.key(server, key))
}

// Approve stores the approval of the user.
func (a commandApprovals) Approve(ctx context.Context, server, key string, sandbox []byte) error {
	return a.facts.SaveMetadata(ctx, a.key(server, key), sandbox)
}

// serverCallbacks returns what servers reach: the clients, and for replay servers the server that
// they replay.
func serverCallbacks(front *bridge.Bridge, calls *gateway.Gateway, servers *supervisor.Supervisor, accounts *accountChooser) upstream.Callbacks {
	return upstream.Callbacks{
		OnNotification: func(server, owner, method string, params json.RawMessage) {
			switch method {
			case "notifications/resources/updated":
				front.ResourceUpdated(server, owner, params)
			case "notifications/tasks/status":
				front.LegacyTaskStatusChanged(server, owner, params)
			case "notifications/elicitation/complete":
				front.ElicitationCompleted(server, params)
			case "notifications/tasks":
				front.ModernTaskUpdated(server, owner, params)
			default:
				front.ExtensionNotified(server, method, params, func(call *core.Call) bool {
					return accounts.choose(call) == nil && servers.Serves(owner, call)
				})
			}
		},
		OnRequest:      front.Ask,
		OnModernChange: front.ModernConnectionChanged,
		LiveCall: func(ctx context.Context, server, method, name string, params json.RawMessage) (core.Reply, error) {
			return liveCall(ctx, calls, servers, server, method, name, params)
		},
	}
}

// liveCall calls the server that a replay server replays. It is recorded as a call of its own, and
// needs the approvals of a client.
func liveCall(ctx context.Context, calls *gateway.Gateway, servers *supervisor.Supervisor, server, method, name string, params json.RawMessage) (core.Reply, error) {
	if status, ok := servers.Status(server); ok && status.Transport == core.Replay { // could be a circle
		return core.Reply{}, core.Errorf(core.CodeValidation, "%q is itself a replay server", server)
	}
	parsed, err := wire.ScanParams(params)
	if err != nil {
		return core.Reply{}, core.Errorf(core.CodeValidation, "cannot parse the parameters")
	}
	return calls.Call(ctx, &core.Call{
		Client: core.Client{Name: "drawbridge-replay", Version: version}, Era: core.Legacy,
		Server: server, Method: method, Name: name, PublicName: name,
		Params: params, Arguments: parsed.Arguments, Meta: parsed.Meta, ProgressToken: parsed.ProgressToken,
	}, nil)
}

// packageOf returns the package that a server runs with its version, or its image, or "".
func packageOf(s *config.Server, pids []int) string {
	spec, ok := marketplace.Find(s)
	if !ok {
		return ""
	}
	if spec.Launcher == marketplace.Image {
		return spec.Text
	}
	found := marketplace.Resolve(spec, launcherCaches(), pids, nil)
	if found.Version == "" {
		return spec.Package
	}
	return spec.Package + "@" + found.Version
}

// isCached implements supervisor.Options.Cached.
func isCached(s *config.Server) bool {
	spec, ok := marketplace.Find(s)
	return ok && marketplace.Cached(spec, launcherCaches())
}

func launcherCaches() marketplace.Environment {
	home, _ := os.UserHomeDir() // without one, the caches of launchers are not searched
	return marketplace.Environment{Home: home, Getenv: os.Getenv}
}
