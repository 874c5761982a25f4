package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// What is different at the end of a `docker run`: the command passes TERM on to the
// container, and what then still runs is removed by the Engine.
const (
	containerTerm = time.Second
	containerEOF  = time.Second // what ends in a container has less time, for the Engine takes some of its own
	removeTimeout = 10 * time.Second
)

// start starts the process of a server. ended is to be called once it has ended: it
// removes the container that a `docker run` has left, and does nothing otherwise.
func (d *Dialer) start(c *config.Server, spec process.Spec) (p *process.Process, ended func() error, err error) {
	run, ok := dockerexec.FollowRun(c.ID, spec.Path, spec.Args, spec.Env, d.DockerLedger)
	if !ok {
		p, err = d.Spawner.Start(spec)
		return p, func() error { return nil }, err
	}
	if run.NoTerminal {
		d.Logs.Append(c.ID, serverlog.Warn, "-t is left out of docker run: a terminal echoes and changes messages")
	}
	if err := run.Enlist(); err != nil {
		d.Log.Warn("Container will not be found after a crash", "server", c.ID, "error", err)
	}
	spec.Args = run.Args
	spec.Stop.Term = containerTerm
	if p, err = d.Spawner.Start(spec); err != nil {
		return nil, nil, errors.Join(err, run.Forget())
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
