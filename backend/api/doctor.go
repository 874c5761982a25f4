package api

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

type findingInput struct {
	ID string `path:"id" maxLength:"300"`
}

func (a *API) registerDoctor(r *web.Router) {
	web.Op(r, "GET", "/api/v1/doctor", "Problems with servers and clients, with their fixes", a.examine)
	web.Op(r, "POST", "/api/v1/doctor/{id}", "Apply the fix for a finding and run the diagnosis again", a.fix)
}

// doctorOptions returns the input of the doctor: the options of the program and the state that the
// API has.
func (a *API) doctorOptions(ctx context.Context) (doctor.Options, error) {
	o, err := a.Doctor(ctx)
	if err != nil {
		return o, err
	}
	o.Daemon, o.Servers, o.Withheld, o.Clients = a.URL, a.Servers.Statuses(), a.Trust.Withheld(), a.Clients.Connector.List()
	o.Ping = func(ctx context.Context, client string) error {
		t, ok, err := a.Tokens.Get(client)
		if err != nil || !ok {
			return err // the shim makes one when it starts
		}
		return doctor.PingBridge(ctx, a.URL, t.Token)
	}
	for _, s := range o.Clients {
		if s.State != clientconf.Connected {
			continue
		}
		var one clientconf.Connection
		if a.Clients.AddActivity(&one, s); one.Tools > 0 {
			o.ToolLists = append(o.ToolLists, doctor.ToolListState{Client: s.Key, Name: s.Client.Name, Shown: one.Tools, Offered: one.Offered, Reload: s.Client.Reload})
		}
	}
	st := a.Secrets.Status(ctx)
	o.KeyringLocked, o.VaultProblem, o.Unlock = st.Locked, st.Notice, a.Secrets.Unlock
	if !st.Locked {
		o.MissingSecrets = config.ReferencedSecrets(a.ConfigEditor.Current())
		all, err := a.Secrets.List(ctx)
		if err != nil {
			return o, err
		}
		for _, e := range all {
			delete(o.MissingSecrets, e.Name)
		}
	}
	o.Restart = a.Servers.Restart
	o.Restore = func(ctx context.Context, key string) error {
		_, err := a.Clients.Connector.Restore(ctx, key, a.Clients.TokenFor)
		return err
	}
	o.Rotate = func(ctx context.Context, client string) error {
		if _, err := a.Tokens.Rotate(client); err != nil {
			return err
		}
		_, err := a.Clients.Connector.UpdateEntries(ctx, client, "", a.Clients.TokenFor)
		return err
	}
	o.UpdateURL = func(ctx context.Context, client string) error {
		_, err := a.Clients.Connector.UpdateEntries(ctx, client, a.URL, a.Clients.TokenFor)
		return err
	}
	return o, nil
}

func (a *API) examine(ctx context.Context, _ *web.None) (*web.Answer[web.List[doctor.Finding]], error) {
	o, err := a.doctorOptions(ctx)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[doctor.Finding]{Items: doctor.Examine(ctx, o)})
}

func (a *API) fix(ctx context.Context, in *findingInput) (*web.Answer[web.List[doctor.Finding]], error) {
	o, err := a.doctorOptions(ctx)
	if err != nil {
		return nil, err
	}
	if err := doctor.Fix(ctx, o, in.ID); err != nil {
		return nil, err
	}
	return a.examine(ctx, nil)
}

func (a *API) registerDiagnostics(r *web.Router) {
	web.Op(r, "GET", "/api/v1/diagnostics", "Diagnostics for a bug report, with the text of each file; secrets are redacted", a.diagnostics)
	web.Op(r, "GET", "/api/v1/diagnostics/zip", "Diagnostics as a zip file", a.diagnosticsZip)
}

func (a *API) diagnostics(ctx context.Context, _ *web.None) (*web.Answer[web.List[doctor.File]], error) {
	files, err := a.bundleFiles(ctx)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[doctor.File]{Items: files})
}

func (a *API) diagnosticsZip(ctx context.Context, _ *web.None) (*web.Download, error) {
	files, err := a.bundleFiles(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var b bytes.Buffer
	if err := doctor.WriteZip(&b, files, now); err != nil {
		return nil, err
	}
	return web.Zip(doctor.BundleName(now), b.Bytes()), nil
}

func (a *API) bundleFiles(ctx context.Context) ([]doctor.File, error) {
	o := a.DiagnosticSources(ctx)
	o.Version, o.Now, o.Redact = a.Version, time.Now(), a.Redact
	o.Documents = map[string]any{"servers": a.Servers.Statuses(), "config-problems": a.ConfigEditor.Problems(), "sessions": len(a.Bridge.Sessions())}
	o.Documents["status"] = a.statusNow()
	if findings, err := a.examine(ctx, nil); err == nil {
		o.Documents["doctor"] = findings.Body.Items
	}
	tokens, err := a.Tokens.ListWithSecrets()
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		o.Secrets = append(o.Secrets, t.Token)
	}
	o.Secrets = append(o.Secrets, a.Secrets.KnownSecrets()...)
	return doctor.Bundle(o), nil
}

func (a *API) serverUsage(context.Context, *web.None) (*web.Answer[web.List[ServerUsage]], error) {
	return web.Reply(web.List[ServerUsage]{Items: a.usageOf(a.Servers.Statuses())})
}

// usageOf measures the servers that have a process on this machine. It measures all of them at the
// same time, because measurements that wait for each other share one list of the processes: one
// after the other, 200 servers took 20 s.
func (a *API) usageOf(servers []core.ServerStatus) []ServerUsage {
	measured := make([]*ServerUsage, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		if s.PID == 0 && len(s.Instances) == 0 {
			continue
		}
		all.Go(func() {
			if u, err := a.Usage(s.ID); err == nil {
				measured[i] = &ServerUsage{Server: s.ID, RSS: u.RSS, CPU: u.CPU, Processes: len(u.Tree)}
			}
		})
	}
	all.Wait()
	list := []ServerUsage{}
	for _, u := range measured {
		if u != nil {
			list = append(list, *u)
		}
	}
	return list
}
