package main

import (
	"context"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
	"github.com/drawbridge-mcp/drawbridge/frontend"
)

// makeHandlers makes the server of the page, its API and the bridge, and the guard of the clients'
// configuration files. address is where the server will listen, and quit ends the daemon, with errRestart to start an installed new version.
func (d *daemon) makeHandlers(address netip.AddrPort, quit context.CancelCauseFunc) (*http.Server, *clientconf.Guard, error) {
	o := d.options
	sessions := loopback.OpenBrowserSessions(loopback.SessionOptions{DataDir: o.Folders.Data, Port: address.Port(), Log: d.log, Now: timeSource,
		CodeEnded: func(code string) { removeExpiredBrowserFiles(o.Folders.Data, code) }})
	removeExpiredBrowserFiles(o.Folders.Data, "")
	connector, guard, err := newClientConfigGuard(o, d.bus, d.tokens, d.vault, d.url, d.log)
	if err != nil {
		return nil, nil, err
	}
	d.settings = newDesktopSettings(o.Folders, d.servers, func() { quit(nil) })
	d.replaced = newReplacementWatcher(d.calls, d.files, d.bus, d.log, func() { quit(errRestart) })
	recorder := d.history.Recorder()
	d.pages = api.New(api.Options{
		Version: version, URL: d.url, StartedAt: d.startedAt, ConfigPath: o.Sources.Main(),
		Servers: d.servers, Views: d.views, Calls: d.calls, History: d.history, HistoryStore: d.history, Recorder: recorder, Logs: d.logs,
		ConfigEditor: d.files, Sessions: sessions, Admin: d.admin, Tokens: d.tokens, Bridge: d.front, Bus: d.bus, UI: frontend.FS(), Log: d.log,
		Desktop: d.settings, Usage: d.dialer.Usage, Connector: connector, Secrets: d.vault, Logins: d.logins,
		Doctor: doctorOptions(d.files.Current), DiagnosticSources: bundleOptions(o.Folders, o.Sources), Approvals: d.inbox, CommandApprovals: d.servers,
		Live: d.dialer.LiveCall, Debug: d.servers.Debug, Try: d.dialer.Try, Rules: d.rules, Trust: d.baseline, Metadata: d.history, Observer: d.connections,
		SandboxRules: d.dialer.SandboxRules, SandboxRefusals: d.dialer.SandboxRefusals,
		Visibility: d.files, Directory: marketplace.NewList(filepath.Join(o.Folders.Data, "directory.json")),
		BundleFolder: filepath.Join(o.Folders.Data, "bundles"), Copies: config.BackupsOf(o.Folders.Data),
		Redact: recorder.Redact, FrameLog: d.records.frameLog, CheckRunner: d.checks,
		Notices: d.notices, Metrics: d.counts, KnowsReleases: func() bool { return knowsReleases(d.files.Current().Updates) },
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
		me := &desktopServices{desktopSettings: d.settings, history: d.history, approvals: d.inbox, baseline: d.baseline, pages: d.pages, folders: d.options.Folders, url: d.url, log: d.log}
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
