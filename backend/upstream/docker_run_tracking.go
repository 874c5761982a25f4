package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Timeouts at the end of a process in a container. The docker run command passes SIGTERM on to
// the container; the Engine removes what is still running after that.
const (
	containerTerm = time.Second
	containerEOF  = time.Second // shorter than for local processes, because the Engine needs time as well
	removeTimeout = 10 * time.Second
)

// startTrackingContainer starts the process of a server. ended must be called after the process has
// exited: it removes the container of a docker run command, and does nothing for other commands.
func (d *Dialer) startTrackingContainer(c *config.Server, spec process.Spec) (p *process.Process, ended func() error, err error) {
	run, ok := dockerexec.TrackRun(c.ID, spec.Path, spec.Args, spec.Env, d.DockerLedger)
	if !ok {
		p, err = d.Spawner.Start(spec)
		return p, func() error { return nil }, err
	}
	if run.NoTerminal {
		d.Logs.Append(c.ID, serverlog.Warn, "-t was removed from docker run, because a terminal echoes and alters messages")
	}
	if err := run.AddToLedger(); err != nil {
		d.Log.Warn("Container will not be found after a crash", "server", c.ID, "error", err)
	}
	spec.Args = run.Args
	spec.Stop.Term = containerTerm
	if p, err = d.Spawner.Start(spec); err != nil {
		return nil, nil, errors.Join(err, run.RemoveFromLedger())
	}
	return p, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
		defer cancel()
		if err := run.Remove(ctx); err != nil {
			return fmt.Errorf("cannot remove container: %w", err)
		}
		return nil
	}, nil
}

// InputHint returns the hint for a container that ended at once, because "docker run" does not
// connect its standard input without -i, or "".
func (p Process) InputHint(args []string) (string, core.Remedy) {
	if p.Exit == nil || launcherName(p.Path) != "docker" || !dockerexec.RunsWithoutInput(args) {
		return "", core.Remedy{}
	}
	if exit, ended := p.Exit(); !ended || exit.Code != 0 {
		return "", core.Remedy{}
	}
	return "-i is missing: without it, docker run does not pass messages to the server. Add it to args, after run.", core.EditConfig("args")
}
