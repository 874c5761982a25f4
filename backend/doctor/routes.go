package doctor

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the diagnosis, as the API shows it.
type Feature struct {
	Version string
	URL     string // of the daemon
	Folders config.Folders
	Sources config.Sources
	Config  interface {
		Current() *config.Config
		Problems() []config.Problem
	}
	Servers interface {
		Statuses() []core.ServerStatus
		Restart(ctx context.Context, id string) error
	}
	Clients  *clientconf.Feature
	Secrets  *secret.Store
	Withheld func() map[string]int                                                           // changed definitions, by server
	Status   func() any                                                                      // the state of the daemon, as in its document
	Local    func(ctx context.Context, c *config.Config, getenv func(string) string) Options // see Local
	Redact   func(string) string                                                             // redacts text that was not recorded
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/doctor", "Problems with servers and clients, with their fixes", f.examine)
	web.Op(r, "POST", "/api/v1/doctor/{id}", "Apply the fix for a finding and run the diagnosis again", f.fix)
	web.Op(r, "GET", "/api/v1/diagnostics", "Diagnostics for a bug report, with the text of each file; secrets are redacted", f.diagnostics)
	web.Op(r, "GET", "/api/v1/diagnostics/zip", "Diagnostics as a zip file", f.diagnosticsZip)
}

type findingInput struct {
	ID string `path:"id" maxLength:"300"`
}

// options returns the input of the doctor.
func (f *Feature) options(ctx context.Context) (Options, error) {
	o, tokens := f.Local(ctx, f.Config.Current(), os.Getenv), f.Clients.Tokens
	o.Daemon, o.Servers, o.Withheld, o.Clients = f.URL, f.Servers.Statuses(), f.Withheld(), f.Clients.Connector.List()
	o.Ping = func(ctx context.Context, client string) error {
		t, ok, err := tokens.Get(client)
		if err != nil || !ok {
			return err // the shim makes one when it starts
		}
		return PingBridge(ctx, f.URL, t.Token)
	}
	for _, s := range o.Clients {
		if s.State != clientconf.Connected {
			continue
		}
		var one clientconf.Connection
		if f.Clients.AddActivity(&one, s); one.Tools > 0 && one.Sessions > 0 { // a client without a session lists anew
			o.ToolLists = append(o.ToolLists, ToolListState{Client: s.Key, Name: s.Client.Name, Shown: one.Tools, Offered: one.Offered, Reload: s.Client.Reload})
		}
	}
	if err := o.addSecrets(ctx, f.Secrets); err != nil {
		return o, err
	}
	o.Restart = f.Servers.Restart
	o.Restore = func(ctx context.Context, key string) error {
		_, err := f.Clients.Connector.Restore(ctx, key, f.Clients.TokenFor)
		return err
	}
	o.Rotate = func(ctx context.Context, client string) error {
		if _, err := tokens.Rotate(client); err != nil {
			return err
		}
		_, err := f.Clients.Connector.UpdateEntries(ctx, client, "", f.Clients.TokenFor)
		return err
	}
	o.UpdateURL = func(ctx context.Context, client string) error {
		_, err := f.Clients.Connector.UpdateEntries(ctx, client, f.URL, f.Clients.TokenFor)
		return err
	}
	return o, nil
}

func (f *Feature) examine(ctx context.Context, _ *web.None) (*web.Answer[web.List[Finding]], error) {
	o, err := f.options(ctx)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[Finding]{Items: Examine(ctx, o)})
}

func (f *Feature) fix(ctx context.Context, in *findingInput) (*web.Answer[web.List[Finding]], error) {
	o, err := f.options(ctx)
	if err != nil {
		return nil, err
	}
	if err := Fix(ctx, o, in.ID); err != nil {
		return nil, err
	}
	return f.examine(ctx, nil)
}

func (f *Feature) diagnostics(ctx context.Context, _ *web.None) (*web.Answer[web.List[File]], error) {
	files, err := f.bundleFiles(ctx)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[File]{Items: files})
}

func (f *Feature) diagnosticsZip(ctx context.Context, _ *web.None) (*web.Download, error) {
	files, err := f.bundleFiles(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var b bytes.Buffer
	if err := WriteZip(&b, files, now); err != nil {
		return nil, err
	}
	return web.Zip(BundleName(now), b.Bytes()), nil
}

func (f *Feature) bundleFiles(ctx context.Context) ([]File, error) {
	o := localBundle(ctx, f.Folders, f.Sources, os.Getenv)
	o.Version, o.Redact = f.Version, f.Redact
	o.Documents = map[string]any{"servers": f.Servers.Statuses(), "config-problems": f.Config.Problems(), "sessions": len(f.Clients.Bridge.Sessions()), "status": f.Status()}
	if findings, err := f.examine(ctx, nil); err == nil {
		o.Documents["doctor"] = findings.Body.Items
	}
	tokens, err := f.Clients.Tokens.ListWithSecrets()
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		o.Secrets = append(o.Secrets, t.Token)
	}
	o.Secrets = append(o.Secrets, f.Secrets.KnownSecrets()...)
	return Bundle(o), nil
}
