package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"drawbridge/backend/doctor"
	"drawbridge/backend/loopback"
	"drawbridge/backend/process"
	"drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Look for what keeps servers and clients from working", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, err := p.examine(cmd.Context())
			if err != nil {
				return err
			}
			wrong := 0
			for _, f := range findings {
				if f.Level == doctor.Problem {
					wrong++
				}
			}
			if p.json {
				if err := p.document(map[string]any{"items": findings, "next": ""}); err != nil {
					return err
				}
			} else {
				p.printFindings(findings)
			}
			if wrong > 0 {
				return silentError{fmt.Errorf("%d problems", wrong)}
			}
			return nil
		},
	}
}

func (p *program) printFindings(findings []doctor.Finding) {
	marks := map[doctor.Level]string{doctor.OK: "ok     ", doctor.Warning: "warning", doctor.Problem: "PROBLEM"}
	for _, f := range findings {
		fmt.Fprintf(p.Stdout, "%s  %s %s: %s\n", marks[f.Level], f.Check, line(f.Subject), line(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(p.Stdout, "         %s\n", line(f.Fix))
		}
	}
}

func (p *program) examine(ctx context.Context) ([]doctor.Finding, error) {
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	current, err := config.SourcesFor("", folders, p.Getenv).Load()
	if current == nil {
		current = config.Default()
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		current.Problems = problems
	} else if err != nil {
		return nil, err
	}
	c, err := p.connector()
	if err != nil {
		return nil, err
	}
	path := p.Getenv("PATH")
	if env, err := process.LoginEnv(ctx); err == nil && env["PATH"] != "" {
		path = env["PATH"]
	}
	o := doctor.Options{
		Config: current, Getenv: p.Getenv, Clients: c.List(),
		LookPath:  func(program string) (string, error) { return process.Resolve(program, path) },
		Listening: listening,
		Docker:    askDocker,
	}
	if rt, running, err := loopback.FindDaemon(folders.Data); err == nil && running {
		o.Daemon = rt.URL
		o.Reach = func(ctx context.Context, client string) error { return p.reach(ctx, rt.URL, client) }
	}
	return doctor.Examine(ctx, o), nil
}

func listening(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// askDocker asks the command, which knows contexts and rootless sockets.
func askDocker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name := "docker"
	if runtime.GOOS == "windows" {
		name = "docker.exe"
	}
	out, err := exec.CommandContext(ctx, name, "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err != nil {
		return fmt.Errorf("Docker does not answer: %w: %s", err, line(string(bytes.TrimSpace(out))))
	}
	return nil
}

// reach pings the bridge with the client's own token.
func (p *program) reach(ctx context.Context, url, client string) error {
	folders, err := p.folders()
	if err != nil {
		return err
	}
	tokens, err := loopback.NewTokens(folders.Data, nil)
	if err != nil {
		return err
	}
	t, ok, err := tokens.Get(client)
	if err != nil {
		return err
	}
	if !ok {
		return nil // the shim makes one when it starts
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", bytes.NewReader([]byte(ping)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+t.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return fmt.Errorf("the bridge answers %s", resp.Status)
	}
	return nil
}

func (p *program) uninstall() *cobra.Command {
	var yes, data, force bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Disconnect every client and put back what was moved", Args: noArgs,
		Long: "Disconnect every client and put back what was moved. With --delete-data our own folders go too: configuration, history, logs.\nThe program itself is removed by what installed it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				if err := p.ask("Disconnect every client?"); err != nil {
					return err
				}
			}
			if err := p.disconnectAll(cmd.Context(), force); err != nil {
				return err
			}
			if !data {
				return nil
			}
			folders, err := p.folders()
			if err != nil {
				return err
			}
			if held, err := loopback.Held(folders.Data); err != nil || held {
				return errors.Join(err, errors.New("Drawbridge is running: quit it before its data is deleted"))
			}
			for _, dir := range []string{folders.Config, folders.State, folders.Logs, folders.Data} {
				if err := os.RemoveAll(dir); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&force, "force", false, "also where an entry was changed by hand")
	cmd.Flags().BoolVar(&data, "delete-data", false, "delete configuration, history and logs")
	return cmd
}
