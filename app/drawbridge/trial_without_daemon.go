package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// tryServer starts or connects to a server once while no daemon runs, with the configuration, the
// secrets and the sign-ins of the daemon. It leaves neither a process nor a file, except for a
// token that a sign-in renews.
func tryServer(ctx context.Context, o cli.ServeOptions, request []byte) (result []byte, err error) {
	c, err := o.Sources.Load()
	if err != nil {
		var in supervisor.TestRequest
		if json.Unmarshal(request, &in) != nil || in.Server != "" {
			return nil, err
		}
		c = config.Default() // the request contains the server
	}
	workDir, err := os.MkdirTemp("", "drawbridge-test-")
	if err != nil {
		return nil, fmt.Errorf("cannot create a folder for the server: %w", err)
	}
	defer os.RemoveAll(workDir)

	log := slog.New(slog.DiscardHandler)
	spawner := process.NewSpawner(process.Options{Log: log}) // no ledger, because the daemon owns it
	vault := secret.For(o.Folders.Data, os.Getenv)
	logins := newLogins(o.Folders.Data, vault, log)
	// The output must not show secrets. Some of them become known when the server is started.
	secrets, others := configuredValues(c, os.LookupEnv)
	configured := append(secrets, others...)
	hideSecrets := func(text string) string {
		known := redact.Redactor{Values: redact.NewValues(append(vault.KnownSecrets(), configured...))}
		return known.Text(text)
	}
	logs := serverlog.Open("", hideSecrets)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
		defer cancel()
		err = errors.Join(err, logins.Close(ctx), spawner.Close(ctx), logs.Close())
	}()
	dialer := &upstream.Dialer{
		Secret: vault.Get, SignIn: logins, TrialSignIn: trialLogins{logins}, Spawner: spawner, Logs: logs, Log: log, DefaultWorkspace: workDir,
		ClientInfo: clientInfo(), PrivatePaths: func() []string { return privatePaths(o.Folders, o.Sources) }, Redact: hideSecrets,
	}
	t, err := supervisor.TryOnce(ctx, c, request, dialer.Try)
	if err != nil {
		return nil, err
	}
	t.Command, t.Error, t.Hint = hideSecrets(t.Command), hideSecrets(t.Error), hideSecrets(t.Hint)
	return json.Marshal(t)
}
