package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/guests"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/launch"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/oauth"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/profiles"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
	"github.com/drawbridge-mcp/drawbridge/frontend"

	"gopkg.in/natefinch/lumberjack.v2"
)

// daemon has the parts of the running daemon, in the order in which they are made.
type daemon struct {
	options   cli.ServeOptions
	startedAt time.Time
	now       func() time.Time // of history, gateway, bridge and sessions; nil means time.Now
	log       *slog.Logger
	life      *lifecycle
	bus       *core.Bus
	admin     *loopback.AdminToken
	tokens    *loopback.Tokens
	files     *config.Reloader

	// What is stored.
	spawner *process.Spawner
	cleanup *startupCleanup
	logs    *serverlog.Logs
	history *store.Store
	vault   *secret.Store
	logins  *logins

	// The call path.
	views    *registry.Registry
	baseline *trust.Baseline
	own      *builtinOverlay
	inbox    *approvals.Inbox
	rules    *policy.Policy
	records  *historyWiring
	dialer   *upstream.Dialer
	launch   *launch.Feature
	packages *marketplace.Feature
	servers  *supervisor.Supervisor
	accounts *accountChooser
	calls    *gateway.Gateway
	checks   *history.CheckRunner
	front    *bridge.Bridge

	// What observes calls and servers.
	connections *sandbox.DestinationSampler
	counts      *meter
	sender      *telemetry
	newer       *desktop.Checker

	// What is served.
	url       string
	settings  *desktopSettings
	replaced  *desktop.ReplacementWatcher
	profiles  *profiles.Feature
	clients   *clientconf.Feature
	guests    *guests.Feature
	recorded  *history.Feature
	approvals *approvals.Feature
	windows   *desktop.Feature
	pages     *api.API
}

// runDaemon runs the daemon until ctx is done or a part fails. What opens something registers its
// close on the next line, and life.stop closes in the reverse order.
func runDaemon(ctx context.Context, o cli.ServeOptions, lost <-chan struct{}) (err error) {
	if err := o.Folders.Make(); err != nil {
		return fmt.Errorf("cannot use the data folder: %w (choose another one with --data)", err)
	}
	growHeapAtStart()
	lock, err := loopback.Lock(o.Folders.Data)
	if err != nil {
		return err
	}
	defer lock.Close()
	_ = loopback.RemoveRuntime(o.Folders.Data) // of a daemon that was killed
	log, logFile, err := openLog(o.Folders.Logs, os.Stderr, o.Debug)
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	defer logFile.Close()
	slog.SetDefault(log)
	d := &daemon{options: o, now: timeSource, log: log, life: newLifecycle(log), bus: new(core.Bus)}
	defer func() { err = errors.Join(err, d.life.stop()) }()

	if d.admin, err = loopback.OpenAdminToken(o.Folders.Data); err != nil {
		return err
	}
	if d.tokens, err = loopback.NewTokens(o.Folders.Data, log); err != nil {
		return err
	}
	if d.files, err = loadConfig(o, d.bus, log); err != nil {
		return err
	}
	process.BeginLoginEnv(d.files.Current().Global.LoginShellTimeout) // no server starts before it is known
	if err := d.openStorage(ctx); err != nil {
		return err
	}
	d.makeCallPath(ctx)
	listener, err := listen(o, d.files, log)
	if err != nil {
		return err
	}
	address := listener.Addr().(*net.TCPAddr).AddrPort()
	d.url = "http://" + address.String()
	d.startedAt = time.Now().UTC()

	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	server, guard, err := d.makeHandlers(address, quit)
	if err != nil {
		return err
	}
	d.startCallPath(lost != nil)
	d.followNetwork()
	d.life.run("clients", time.Second, guard.Run)
	d.serve(server, listener)
	if err := d.announce(); err != nil {
		return err
	}
	d.startDesktop(ctx)
	log.Info("Drawbridge is ready", "url", d.url, "version", version, "servers", len(d.files.Current().Servers))
	if !d.files.Current().Bridge.RequireToken {
		log.Warn("The bridge accepts calls without an access token: any program, run by any user of this machine, can call any tool")
	}

	select {
	case <-ctx.Done():
		log.Info("Stopping")
		if cause := context.Cause(ctx); errors.Is(cause, errRestart) {
			return cause
		}
		return nil
	case <-lost:
		return errors.New("the watchdog has exited: stopping, because nothing would clean up after a crash")
	case err := <-d.life.ended:
		return err
	}
}

// openStorage opens what the daemon has on disk besides its configuration.
func (d *daemon) openStorage(ctx context.Context) (err error) {
	folders := d.options.Folders
	d.spawner = process.NewSpawner(process.Options{Log: d.log, Ledger: filepath.Join(folders.State, "processes.json")})
	d.life.onStop("processes", 3*time.Second, d.spawner.Close)
	d.cleanup = &startupCleanup{spawner: d.spawner, containers: execLedger(folders), bus: d.bus, log: d.log, done: make(chan struct{})}

	d.history, err = store.Open(ctx, store.Options{
		Path: history.File(folders), Log: d.log, Now: d.now,
		Notify: func(sentence string) {
			d.bus.Publish(core.NoticeEvent, core.Notice{Subject: "history", Message: sentence})
		},
	})
	if err != nil {
		return err
	}
	d.life.onStop("history", 2*time.Second, func(context.Context) error { return d.history.Close() })
	d.life.run("recorder", 4*time.Second, d.history.Recorder().Run) // writes the remaining records for at most 3 s

	d.logs = serverlog.Open(filepath.Join(folders.Logs, "servers"), d.history.Recorder().Redact)
	d.life.onStop("server logs", time.Second, func(context.Context) error { return d.logs.Close() })

	d.vault = secret.For(folders.Data, os.Getenv)
	d.logins = newLogins(folders.Data, d.vault, d.log)
	d.life.onStop("sign-ins", 3*time.Second, d.logins.Close)
	return nil
}

// serve starts the HTTP server at its port and its socket, and then the bridge.
func (d *daemon) serve(server *http.Server, listener net.Listener) {
	d.life.run("http", time.Second, func(ctx context.Context) error { return serveHTTP(ctx, server, listener) })
	if d.files.Current().Bridge.Socket {
		if socket, err := loopback.ListenSocket(d.options.Folders.Data); err != nil {
			d.log.Warn("Cannot open the socket; the shim and the commands use the port instead", "error", err)
		} else {
			d.life.run("socket", time.Second, func(ctx context.Context) error { return serveSocket(ctx, server, socket) })
		}
	}
	d.life.run("guests", time.Second, d.guests.Run)
	d.life.run("cleanup", 5*time.Second, d.cleanup.run) // after http, so that it does not delay the first responses
	d.life.run("bridge", time.Second, d.front.Run)      // stops before http, so that open streams get their last response
	d.life.early = append(d.life.early, d.front.RefuseRequests, d.calls.RefuseCalls)
	drainCalls(d.life, d.calls)
}

// loadConfig reads the configuration. With --strict an error in it is an error of the program.
func loadConfig(o cli.ServeOptions, bus *core.Bus, log *slog.Logger) (*config.Reloader, error) {
	files := config.NewReloader(config.ReloaderOptions{Sources: o.Sources, LastGood: o.Folders.LastGoodConfigFile(), Backups: config.BackupsOf(o.Folders.Data), Bus: bus, Log: log})
	err := files.Load()
	if o.Strict {
		if err == nil && files.Current().Broken() {
			err = config.Problems(files.Current().Problems)
		}
		return files, err
	}
	if err != nil {
		log.Error("Cannot read the configuration", "error", err)
	}
	return files, nil
}

// absolute returns path as an absolute path, because other processes have other working
// directories.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// makeHandlers makes the server of the page, its API and the bridge, and the guard of the clients'
// configuration files. address is where the server will listen, and quit ends the daemon, with errRestart to start an installed new version.
func (d *daemon) makeHandlers(address netip.AddrPort, quit context.CancelCauseFunc) (*http.Server, *clientconf.Guard, error) {
	o := d.options
	sessions := loopback.OpenBrowserSessions(loopback.SessionOptions{DataDir: o.Folders.Data, Port: address.Port(), Log: d.log, Now: d.now,
		CodeEnded: func(code string) { removeExpiredBrowserFiles(o.Folders.Data, code) }})
	removeExpiredBrowserFiles(o.Folders.Data, "")
	connector, guard, err := newClientConfigGuard(o, d.bus, d.tokens, d.vault, d.files.Sync, d.url, d.log)
	if err != nil {
		return nil, nil, err
	}
	d.settings = newDesktopSettings(o.Folders, d.servers, func() { quit(nil) })
	d.replaced = newReplacementWatcher(d.calls, d.files, d.bus, d.log, func() { quit(errRestart) })
	recorder := d.history.Recorder()
	d.profiles = &profiles.Feature{Config: d.files, Views: d.views, Store: d.history, Tokens: d.tokens, Limits: d.limitsOf}
	d.clients = &clientconf.Feature{Version: version, URL: d.url, Connector: connector, Tokens: d.tokens, Config: d.files.Current, Servers: d.servers, Views: d.views, Bridge: d.front, Limits: d.limitsOf, ListCost: d.profiles.ListCost}
	d.profiles.Entries = d.clients.EntriesOf
	changes, servers := &trust.Feature{Baseline: d.baseline, Views: d.views, Destinations: d.connections.Destinations}, &supervisor.Feature{
		Servers: d.servers, Config: d.files, Views: d.views, Logs: d.logs, Dialer: d.dialer, Debug: d.servers.Debug, Reset: d.rules.Reset, Redact: recorder.Redact,
	}
	d.approvals = &approvals.Feature{Inbox: d.inbox, Bus: d.bus, Config: d.files, Store: d.history, Sources: []approvals.Source{servers, changes, d.launch},
		Holds: func(c *config.Condition, call *core.Call) bool { return policy.Holds(c, call, d.files.Current()) }}
	d.recorded = &history.Feature{
		Version: version, Store: d.history, Gateway: d.calls, Views: d.views, Config: d.files.Current, Checks: d.checks, FrameLog: d.records.frameLog,
		Tokens: d.tokens, Sessions: d.front.Sessions, Log: d.log, Live: d.dialer.LiveCall,
		Limits: d.limitsOf, ListCost: func(token string) (*bridge.ListCost, string) {
			cost, mode, _ := d.profiles.ListCost(token, d.clients.EntriesOf(token), "")
			return cost, mode
		},
	}
	d.guests = &guests.Feature{
		Folder: filepath.Join(o.Folders.Data, "guests"), Config: d.files, Tokens: d.tokens, Handler: d.records.withFrameLog(d.front), End: d.front.EndClient, Log: d.log,
		IsClient: func(name string) bool { _, err := clientconf.ByID(name); return err == nil },
	}
	d.windows = &desktop.Feature{URL: d.url, Sessions: sessions, Settings: d.settings}
	d.pages = api.New(api.Options{
		Version: version, URL: d.url, StartedAt: d.startedAt, ConfigPath: o.Sources.Main(),
		Servers: d.servers, Views: d.views, History: d.recorded,
		ConfigEditor: d.files, Renamer: d.files, Sessions: sessions, Admin: d.admin, Tokens: d.tokens, Bus: d.bus, UI: frontend.FS(), Log: d.log,
		FollowWindow: d.windows.FollowWindow, Usage: servers.UsageOf, Clients: d.clients, Logins: d.logins,
		Approvals: d.approvals, Commands: d.servers,
		Rules: d.rules, Trust: d.baseline, Features: append(d.features(), d.approvals, changes, servers, d.windows), Observer: d.connections,
		Copies:  config.BackupsOf(o.Folders.Data),
		Notices: d.notices, Metrics: d.counts, Started: d.files.Started, KnowsReleases: func() bool { return knowsReleases(d.files.Current().Updates) },
	})
	mux := http.NewServeMux()
	authorized := loopback.Bearer(loopback.BearerOptions{
		Tokens: d.tokens, Log: d.log,
		Required: func() bool { return d.files.Current().Bridge.RequireToken },
	})(d.records.withFrameLog(d.front))
	for _, path := range []string{"/mcp", "/s/", "/p/"} {
		mux.Handle(path, authorized)
	}
	mux.Handle("/", d.pages)
	server := loopback.NewServer(d.counts.requests(loopback.Guard(loopback.GuardOptions{
		Port: address.Port(), Address: address.Addr(), AllowedHosts: func() []string { return d.files.Current().Bridge.AllowedHosts }, IsPageShell: api.IsShell,
	})(mux)))
	server.ConnState = d.counts.countConnection
	return server, guard, nil
}

func (d *daemon) features() []web.Feature {
	data, redact := d.options.Folders.Data, d.history.Recorder().Redact
	d.packages = &marketplace.Feature{
		Version: version, Config: d.files, Servers: d.servers, Dialer: d.dialer, Secrets: d.vault, Trust: d.baseline, Views: d.views, Rules: d.rules, Store: d.history, Redact: redact,
		List: marketplace.NewList(filepath.Join(data, "directory.json")), Uploads: marketplace.Uploads{Folder: filepath.Join(data, "bundles")},
	}
	return []web.Feature{
		d.packages, d.launch,
		&oauth.Feature{Logins: d.logins, Config: d.files.Current, Servers: d.servers},
		d.clients, d.guests,
		&doctor.Feature{
			Version: version, URL: d.url, Folders: d.options.Folders, Sources: d.options.Sources, Config: d.files, Servers: d.servers,
			Clients: d.clients, Secrets: d.vault, Withheld: d.baseline.Withheld, Status: func() any { return d.pages.Status() }, Local: doctor.Local, Redact: redact,
		},
		d.recorded,
		&policy.Feature{Policy: d.rules, Config: d.files.Current, Servers: d.servers, Views: d.views, Inbox: d.inbox, Store: d.history},
		d.profiles,
		&sandbox.Feature{Config: d.files, Servers: d.servers, Rules: d.dialer.SandboxRules, Refusals: d.dialer.SandboxRefusals, Sampler: d.connections},
		&secret.Feature{Store: d.vault, Config: d.files.Current, Servers: d.servers, Log: d.log},
	}
}

// notices returns what needs the attention of the user besides the servers.
func (d *daemon) notices() []core.Notice {
	all := slices.Concat(d.cleanup.notices(), vaultNotices(d.vault), d.settings.notices())
	if n := loginNotice(process.LoginFailure()); n.Message != "" {
		all = append(all, n)
	}
	for _, n := range []core.Notice{updateNotice(d.files.Current().Updates, d.newer), d.replaced.Notice()} {
		if n.Message != "" {
			all = append(all, n)
		}
	}
	return all
}

// startDesktop starts the tray and the notifications, and what saves processor time and memory
// while nothing is called. ctx is done when the daemon stops.
func (d *daemon) startDesktop(ctx context.Context) {
	if !d.options.NoTray {
		me := &desktopServices{desktopSettings: d.settings, history: d.history, approvals: d.inbox, baseline: d.baseline, profiles: d.profiles, pages: d.pages, windows: d.windows, folders: d.options.Folders, url: d.url, log: d.log}
		runTray(d.life, me.trayOptions(ctx, tray.Options{Bus: d.bus, Log: d.log}))
		d.life.run("notifications", 6*time.Second, me.notifications(&desktop.Watcher{
			Bus: d.bus, Enabled: func() bool { return d.files.Current().Desktop.Notifications },
		}).Run)
	}
	d.life.run("adaptive GOMAXPROCS", time.Second, newAdaptiveGOMAXPROCS().run)
	d.life.run("memory", time.Second, func(ctx context.Context) error {
		return releaseMemoryWhenIdle(ctx, d.calls.LastID, func() {
			if err := d.history.ReleaseMemory(ctx); err != nil {
				d.log.Debug("Cannot release the memory of the history", "error", err)
			}
			d.pages.ReleaseMemory()
			process.ReleaseMemory()
		})
	})
}

// openLog returns the program's log. It writes JSON lines to dir, rotated at 10 MB with five files
// retained, and text to terminal from level INFO (DEBUG with debug). Callers never log arguments,
// results or secrets.
func openLog(dir string, terminal io.Writer, debug bool) (*slog.Logger, io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "drawbridge.log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	f.Close() // the file now exists with our mode, which lumberjack does not change
	file := &lumberjack.Logger{Filename: path, MaxSize: 10, MaxBackups: 5}
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	both := slog.NewMultiHandler(slog.NewJSONHandler(file, options), slog.NewTextHandler(terminal, options))
	return slog.New(both), file, nil
}
