package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/dial"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/netchange"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/reload"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/updates"
	"github.com/drawbridge-mcp/drawbridge/config"
	"github.com/drawbridge-mcp/drawbridge/frontend"
)

// runDaemon runs the daemon until ctx is done or a part fails. The wiring is one straight line:
// what opens something registers its close on the next line, and life.stop closes in the reverse
// order.
func runDaemon(ctx context.Context, o cli.ServeOptions, lost <-chan struct{}) (err error) {
	if err := o.Folders.Make(); err != nil {
		return fmt.Errorf("cannot use the data folder, choose another one with --data: %w", err)
	}
	growHeapAtStart()
	lock, err := loopback.Lock(o.Folders.Data)
	if err != nil {
		return err
	}
	defer lock.Close()
	log, logFile, err := openLog(o.Folders.Logs, os.Stderr, o.Debug)
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	defer logFile.Close()
	slog.SetDefault(log)
	life := newLifecycle(log)
	defer func() { err = errors.Join(err, life.stop()) }()

	bus := new(event.Bus)
	admin, err := loopback.OpenAdminToken(o.Folders.Data)
	if err != nil {
		return err
	}
	tokens, err := loopback.NewTokens(o.Folders.Data, log)
	if err != nil {
		return err
	}

	files, err := loadConfig(o, bus, log)
	if err != nil {
		return err
	}

	spawner := process.NewSpawner(process.Options{Log: log, Ledger: filepath.Join(o.Folders.State, "processes.json")})
	life.onStop("processes", 3*time.Second, spawner.Close)
	containers := execLedger(o.Folders)
	earlier := &startupCleanup{spawner: spawner, containers: containers, bus: bus, log: log, over: make(chan struct{})}

	logs := serverlog.Open(filepath.Join(o.Folders.Logs, "servers"))
	life.onStop("server logs", time.Second, func(context.Context) error { return logs.Close() })

	history, err := store.Open(ctx, store.Options{
		Path: historyFile(o.Folders), Log: log, Now: timeSource,
		Notify: func(sentence string) {
			bus.Publish(event.Health, event.Notice{Subject: "history", Message: sentence})
		},
	})
	if err != nil {
		return err
	}
	life.onStop("history", 2*time.Second, func(context.Context) error { return history.Close() })
	recorder := history.Recorder()
	life.run("recorder", 4*time.Second, recorder.Run) // writes the remaining records for at most 3 s
	lastID, err := history.LastCallID(ctx)
	if err != nil {
		log.Warn("Cannot read the newest call", "error", err)
	}

	views, baseline := newTrust(history, bus, log)
	own := newBuiltinOverlay(views)
	inbox := approvals.New(approvals.Options{Bus: bus})
	// An approval that nobody can see is not requested: the call is refused with an error that says so.
	rules := policy.New(policy.Options{Views: own, Approvals: inbox, Reachable: inbox.Watched})
	vault := secret.For(o.Folders.Data, os.Getenv)
	logins := newLogins(o.Folders.Data, vault, log)
	life.onStop("sign-ins", 3*time.Second, logins.Close)
	records := newHistoryWiring(history, views, bus, log, vault, logins.keeper)
	logs.Redact(recorder.Redact)
	dialer := &dial.Dialer{
		Secret:   records.secrets.secretReader(vault),
		Observer: records.frameLog, SignIn: logins, TrialSignIn: trialLogins{logins}, Redact: recorder.Redact,
		Spawner: spawner, Ready: earlier.wait, Logs: logs, Log: log, DockerLedger: containers,
		Private:          func() []string { return privatePaths(o.Folders) },
		DefaultWorkspace: filepath.Join(o.Folders.State, "default-workspace"),
		ClientInfo:       clientInfo(), Capabilities: json.RawMessage(relayedCapabilities),
		DefinitionHash: trust.DefinitionHash, Package: packageOf,
		Recording: recordingOf(history),
	}
	servers := supervisor.New(supervisor.Options{
		Log: log, Bus: bus, Registry: views, Connect: dialer.Connect,
		Impaired: func(server string) string { b, _ := rules.Breaker(server); return b.Reason },
		Catalogs: history, Eras: history, Journal: dialer.Journal,
		LastLines: dialer.LastLines, Fetching: dialer.Fetching, Usage: dialer.Usage, CommandApprovals: commandApprovals{history}, Logins: logins.keeper.LoginState,
	})
	accounts := new(accountChooser)
	calls := gateway.New(gateway.Options{Upstreams: newUpstreams(own, servers, history), ChooseAccount: accounts.choose, Policy: rules, Recorder: records.validator, Bus: bus, Log: log, LastID: lastID, Now: timeSource})
	checks := newCheckRunner(history, servers, views, calls, bus, log)
	front := bridge.New(bridge.Options{
		Registry: views, Gateway: calls, Lister: servers, Approvals: inbox, Log: log, Version: version, Now: timeSource, StoredResult: storedResult(history),
		Builtin: own.views, BuiltinTools: own.inAggregate, DescribeServer: own.describes,
		WantsWorkspace: func(id string) bool { return servers.WantsWorkspace(id) || accounts.folderDecides(id) }, SessionEnded: servers.EndSession, ShimEnded: servers.EndShim, NameLimit: clientconf.NameLimit,
		ProcessOf: processOf(accounts, servers),
	})
	// The servers are called through the parts above; what they send and what changes goes back to them.
	dialer.Callbacks = serverCallbacks(front, calls, servers, accounts)
	logins.keeper.Observe(servers.LoginChanged, records.secrets.refresh)
	rules.ObserveBreakers(func(b policy.BreakerStatus) {
		reportBreaker(b, bus, log)
		servers.Announce(b.Server)
	})
	restoreTasks(ctx, history, front, log)
	views.OnChange(func(c registry.Change) {
		front.ListChanged(c)
		records.changed()
		checks.Changed(c.Server)
		bus.Publish(event.Catalog, c.Server)
	})

	connections := newConnectionObserver(history, dialer, servers, bus, log, files.Current)
	counts := newMeter(bus, servers, front, history, rules, dialer, calls, func() config.Metrics { return files.Current().Metrics })
	newer := updates.New(updates.Options{Version: version, Storage: history, Bus: bus, Log: log})
	sender := newTelemetry(bus, counts, recorder.Redact, log)
	phases := configPhases{
		// Servers list their tools by the rules, and use the secrets and sign-ins, so they come last.
		{"rules", []func(*config.Config){
			func(c *config.Config) { baseline.Apply(trustRules(c)) },
			rules.Apply,
			accounts.apply,
			func(c *config.Config) { own.apply(c.Bridge, front) },
			func(c *config.Config) { applyVisibility(c, views, front) },
		}},
		{"records", []func(*config.Config){
			func(c *config.Config) { keepHistory(history, c.History) },
			records.apply,
			func(c *config.Config) { counts.apply(c.Metrics) },
			func(c *config.Config) { sender.apply(c.Metrics.OTLP) },
			func(c *config.Config) { newer.Apply(updateSource(c.Updates)) },
		}},
		{"sign-ins", []func(*config.Config){logins.apply}},
		{"servers", []func(*config.Config){servers.Apply}},
	}

	listener, err := listen(o, files, log)
	if err != nil {
		return err
	}
	port := uint16(listener.Addr().(*net.TCPAddr).Port)
	url := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	sessions := loopback.OpenBrowserSessions(loopback.SessionOptions{DataDir: o.Folders.Data, Port: port, Log: log, Now: timeSource,
		Ended: func(code string) { removeExpiredBrowserFiles(o.Folders.Data, code) }})
	removeExpiredBrowserFiles(o.Folders.Data, "")
	startedAt := time.Now().UTC()

	connector, guard, err := newClientConfigGuard(o, bus, tokens, vault, url, log)
	if err != nil {
		return err
	}

	ctx, quit := context.WithCancel(ctx)
	defer quit()
	settings := newDesktopSettings(o.Folders, servers, quit)
	var restart atomic.Bool
	replaced := newReplacementWatcher(calls, files, bus, log, func() {
		restart.Store(true)
		quit()
	})
	pages := api.New(api.Options{
		Version: version, URL: url, StartedAt: startedAt, ConfigPath: o.Sources.Main(),
		Servers: servers, Views: views, Calls: calls, History: history, Upkeep: history, Recorder: recorder, Logs: logs,
		Files: files, Sessions: sessions, Admin: admin, Tokens: tokens, Bridge: front, Bus: bus, UI: frontend.FS(), Log: log,
		Desktop: settings, Usage: dialer.Usage, Connector: connector, Secrets: vault, Logins: logins, ConnectedClients: front, Doctor: doctorOptions(files.Current), Diagnosed: bundleOptions(o.Folders, o.Sources), Approvals: inbox, Commands: servers, Debug: servers.Debug, Try: dialer.Try, Rules: rules, Trust: baseline, Metadata: history, Observer: connections, SandboxRules: dialer.SandboxRules, SandboxRefusals: dialer.SandboxRefusals,
		Visibility: files, ListSizes: front, Directory: marketplace.NewList(filepath.Join(o.Folders.Data, "directory.json")), Bundles: filepath.Join(o.Folders.Data, "bundles"), Copies: config.CopiesOf(o.Folders.Data),
		Redact: recorder.Redact, FrameLog: records.frameLog, CheckRunner: checks,
		Notices: func() []event.Notice {
			all := slices.Concat(earlier.notices(), vaultNotices(vault), settings.notices())
			if n := loginNotice(process.LoginFailure()); n.Message != "" {
				all = append(all, n)
			}
			for _, n := range []event.Notice{updateNotice(files.Current().Updates, newer), replaced.Notice()} {
				if n.Message != "" {
					all = append(all, n)
				}
			}
			return all
		}, Metrics: counts, Releases: func() bool { return knowsReleases(files.Current().Updates) },
	})
	mux := http.NewServeMux()
	authorized := loopback.Bearer(loopback.BearerOptions{
		Tokens: tokens, Log: log,
		Required: func() bool { return files.Current().Bridge.RequireToken },
	})(records.withFrameLog(front))
	for _, path := range []string{"/mcp", "/s/", "/p/"} {
		mux.Handle(path, authorized)
	}
	mux.Handle("/", pages)
	server := loopback.NewServer(counts.requests(loopback.Guard(loopback.GuardOptions{
		Port: port, AllowedHosts: func() []string { return files.Current().Bridge.AllowedHosts }, Shell: api.IsShell,
	})(mux)))

	server.ConnState = counts.countConnection
	life.run("events", time.Second, pages.Run)
	life.run("trust", 3*time.Second, baseline.Run)
	life.run("sign-ins", time.Second, logins.keeper.Run)
	life.run("metrics", time.Second, counts.run)
	life.run("telemetry", 2*time.Second, sender.run)
	life.run("updates", time.Second, newer.Run)
	life.run("connections of servers", 3*time.Second, connections.Run)
	life.run("files of servers", 3*time.Second, newFileObserver(history, dialer, log, files.Current).Run)
	if lost != nil { // the watchdog starts the installed version
		life.run("replacement", time.Second, replaced.Run)
	}
	records.start(life)
	life.run("checks", time.Second, checks.Run) // stops before the records, because it makes calls
	life.runSlow("supervisor", 6*time.Second, servers.Run)
	life.run("network", time.Second, func(ctx context.Context) error {
		return netchange.Watch(ctx, log, servers.NetworkChanged)
	})
	life.run("configuration", 2*time.Second, func(ctx context.Context) error {
		return files.Run(ctx, phases.apply) // finishes a write in progress
	})
	life.run("clients", time.Second, guard.Run)
	life.run("http", time.Second, func(ctx context.Context) error { return serveHTTP(ctx, server, listener) })
	if files.Current().Bridge.Socket {
		if socket, err := loopback.ListenSocket(o.Folders.Data); err != nil {
			log.Warn("Cannot open the socket; the shim and the commands use the port instead", "error", err)
		} else {
			life.run("socket", time.Second, func(ctx context.Context) error { return serveSocket(ctx, server, socket) })
		}
	}
	life.run("sweep", 5*time.Second, earlier.run) // after http, so that it does not delay the first responses
	life.run("bridge", time.Second, front.Run)    // stops before http, so that open streams get their last response
	drainCalls(life, calls)
	self := loopback.Runtime{PID: os.Getpid(), URL: url, Version: version, StartedAt: startedAt, Config: absolute(o.Sources.Main())}
	if err = loopback.WriteRuntime(o.Folders.Data, self); err != nil && history.ReleaseReservedSpace(err) {
		err = loopback.WriteRuntime(o.Folders.Data, self)
	}
	if err != nil {
		return err
	}
	life.onStop("runtime file", time.Second, func(context.Context) error { return loopback.RemoveRuntime(o.Folders.Data) })
	if !o.NoTray {
		me := &desktopServices{desktopSettings: settings, history: history, approvals: inbox, baseline: baseline, pages: pages, folders: o.Folders, url: url, log: log}
		runTray(life, me.trayOptions(ctx, tray.Options{Bus: bus, Log: log}))
		life.run("notifications", 6*time.Second, me.notifications(&desktop.Watcher{
			Bus: bus, Enabled: func() bool { return files.Current().Desktop.Notifications },
		}).Run)
	}
	life.run("breadth", time.Second, newAdaptiveGOMAXPROCS().run)
	life.run("memory", time.Second, func(ctx context.Context) error {
		return releaseMemoryWhenIdle(ctx, calls.LastID, func() {
			if err := history.ReleaseMemory(ctx); err != nil {
				log.Debug("Cannot release the memory of the history", "error", err)
			}
			process.ReleaseMemory()
		})
	})
	log.Info("Drawbridge is ready", "url", url, "version", version, "servers", len(files.Current().Servers))
	if !files.Current().Bridge.RequireToken {
		log.Warn("The bridge accepts calls without a token: any program, run by any user of this machine, can call any tool")
	}

	select {
	case <-ctx.Done():
		log.Info("Stopping")
		if restart.Load() {
			return errRestart
		}
		return nil
	case <-lost:
		return errors.New("the watchdog has exited: stopping, because nothing would clean up after a crash")
	case err := <-life.ended:
		return err
	}
}

// loadConfig reads the configuration. With --strict an error in it is an error of the program.
func loadConfig(o cli.ServeOptions, bus *event.Bus, log *slog.Logger) (*reload.Reloader, error) {
	files := reload.New(reload.Options{Sources: o.Sources, LastGood: o.Folders.LastGood(), Bus: bus, Log: log})
	err := files.Load()
	if o.Strict {
		if err == nil && files.Current().Broken() {
			err = config.Problems(files.Current().Problems)
		}
		return files, err
	}
	if err != nil {
		log.Error("The configuration cannot be read", "error", err)
	}
	return files, nil
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

// absolute returns path as an absolute path, because other processes have other working
// directories.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// reportBreaker reports that the circuit breaker of a server opened or closed.
func reportBreaker(b policy.BreakerStatus, bus *event.Bus, log *slog.Logger) {
	level := slog.LevelInfo
	if b.State == policy.BreakerOpen {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "Breaker changed", "server", b.Server, "state", b.State, "reason", b.Reason)
	bus.Publish(event.Policy, b)
}

// relayedCapabilities are the capabilities that we declare to servers, which a client of ours may have. If the
// calling client lacks one, a request for it returns a clear error.
const relayedCapabilities = `{"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"roots":{}}`

func clientInfo() json.RawMessage {
	info, _ := json.Marshal(map[string]string{"name": "drawbridge", "title": "Drawbridge", "version": version})
	return info
}
