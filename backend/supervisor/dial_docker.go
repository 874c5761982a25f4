package supervisor

import (
	"context"
	"errors"
	"fmt"

	"drawbridge/backend/dockerexec"
	"drawbridge/backend/hub"
	"drawbridge/backend/upstream"
	"drawbridge/config"
)

// exec says what to run inside which container. The container has its own
// environment; only what the configuration names is added.
func (d *Dialer) exec(c *config.Server, env environment) (dockerexec.Spec, error) {
	container, err := env.expand("docker.container", c.Docker.Container)
	if err != nil {
		return dockerexec.Spec{}, err
	}
	label, err := env.expand("docker.label", c.Docker.Label)
	if err != nil {
		return dockerexec.Spec{}, err
	}
	if container == "" && label == "" {
		return dockerexec.Spec{}, &hub.Error{Code: hub.CodeValidation,
			Message: "no container is named",
			Hint:    "Set docker.container to the name of a running container, or docker.label to a label of it."}
	}
	command, err := env.expand("command", c.Command)
	if err != nil {
		return dockerexec.Spec{}, err
	}
	args, err := env.expandList("args", c.Args)
	if err != nil {
		return dockerexec.Spec{}, err
	}
	vars, err := env.expandAll("env", c.Env)
	if err != nil {
		return dockerexec.Spec{}, err
	}
	for _, name := range inherited(c.InheritEnv) {
		if value, ok := env.lookup(name); ok {
			if _, set := vars[name]; !set {
				vars[name] = value
			}
		}
	}
	workdir, err := env.expand("docker.workdir", c.Docker.Workdir)
	if err != nil {
		return dockerexec.Spec{}, err
	}
	return dockerexec.Spec{
		Container: container, Label: label, Cmd: append([]string{command}, args...), Env: pairs(vars),
		User: c.Docker.User, Workdir: workdir, Ledger: d.DockerLedger,
	}, nil
}

// enter runs the process inside the container.
func (d *Dialer) enter(ctx context.Context, c *config.Server, spec dockerexec.Spec, s *started) (upstream.Pipe, error) {
	stderr := d.Logs.Writer(c.ID)
	spec.Stderr = stderr
	e, err := dockerexec.Start(ctx, spec)
	if err != nil {
		return nil, dockerRefusal(c, err)
	}
	tape := s.tape()
	s.set(0, func() (Exit, bool) {
		select {
		case <-e.Done():
			return Exit{Code: e.Exit().Code, Text: e.Exit().String()}, true
		default:
			return Exit{}, false
		}
	})
	return &watched{Pipe: tapePipe(e, tape), stopped: stderr.Close}, nil
}

// dockerRefusal sorts the ways in which there is nothing to enter: what may come
// back is waited for, what a person has to change is not.
func dockerRefusal(c *config.Server, err error) error {
	switch {
	case errors.Is(err, dockerexec.ErrNoDocker), errors.Is(err, dockerexec.ErrNoContainer), errors.Is(err, dockerexec.ErrNotRunning):
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	case errors.Is(err, dockerexec.ErrPermission), errors.Is(err, dockerexec.ErrNoBinary):
		return &hub.Error{Code: hub.CodeValidation, Message: err.Error(), Cause: err}
	}
	return err
}
