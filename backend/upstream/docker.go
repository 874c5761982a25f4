package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// dialDocker returns the dial function of a docker server: into an existing container, which at
// selects, or into one created for it. shown is the command as the user sees it.
func (d *Dialer) dialDocker(c *config.Server, env environment, s *startedProcess) (dial func(context.Context) (Pipe, error), at dockerexec.Selector, shown string, err error) {
	if c.Docker.Image != "" {
		image, err := d.imageSpec(c, env)
		return func(ctx context.Context) (Pipe, error) { return d.createContainer(ctx, c, image, s) },
			dockerexec.Selector{Engine: image.Engine}, "docker run -i --rm " + shownCommand(c.Docker.Image, c), err
	}
	spec, err := d.execSpec(c, env)
	return func(ctx context.Context) (Pipe, error) { return d.execInContainer(ctx, c, spec, s) },
		spec.Selector, "docker exec -i " + shownCommand(c.Docker.Where(), c), err
}

// shownCommand returns where followed by the command as in the configuration. Expanded arguments
// may contain a secret.
func shownCommand(where string, c *config.Server) string {
	text := where
	for _, word := range append([]string{c.Command}, c.Args...) {
		if word != "" {
			text += " " + word
		}
	}
	return text
}

// textExpander expands several values. After the first error it expands nothing more.
type textExpander struct {
	env environment
	err error
}

func (t *textExpander) expand(key, value string) string {
	if t.err != nil {
		return ""
	}
	var text string
	text, t.err = t.env.expand(key, value)
	return text
}

func (t *textExpander) list(key string, values []string) (list []string) {
	if t.err == nil {
		list, t.err = t.env.expandList(key, values)
	}
	return list
}

// variables returns the environment that the configuration sets for the process, in addition to
// the environment of its container.
func (t *textExpander) variables(c *config.Server) []string {
	if t.err != nil {
		return nil
	}
	var vars map[string]string
	if vars, t.err = t.env.expandAll("env", c.Env); t.err != nil {
		return nil
	}
	for _, name := range inheritedNames(c.InheritEnv) {
		if value, ok := t.env.lookup(name); ok {
			if _, set := vars[name]; !set {
				vars[name] = value
			}
		}
	}
	return envList(vars)
}

func (t *textExpander) engine(c *config.Server) dockerexec.Engine {
	return dockerexec.Engine{Host: t.expand("docker.host", c.Docker.Host), Context: t.expand("docker.context", c.Docker.Context)}
}

// execSpec returns what to run in which container.
func (d *Dialer) execSpec(c *config.Server, env environment) (dockerexec.Spec, error) {
	t := &textExpander{env: env}
	spec := dockerexec.Spec{
		Selector: dockerexec.Selector{
			Engine: t.engine(c), Name: t.expand("docker.container", c.Docker.Container), Label: t.expand("docker.label", c.Docker.Label),
			Service: t.expand("docker.service", c.Docker.Service), Project: t.expand("docker.project", c.Docker.Project), Start: c.Docker.Start,
		},
		Cmd: append([]string{t.expand("command", c.Command)}, t.list("args", c.Args)...), Env: t.variables(c),
		User: t.expand("docker.user", c.Docker.User), Workdir: t.expand("docker.workdir", c.Docker.Workdir), Ledger: d.DockerLedger,
		CloseStdin: containerEOF, Term: containerTerm,
	}
	if t.err == nil && spec.Name == "" && spec.Label == "" && spec.Service == "" {
		t.err = &core.Error{Code: core.CodeValidation,
			Message: "no container is specified",
			Hint:    "Set docker.container to the name of a container, docker.service to a Docker Compose service, or docker.image to create one.",
			Remedy:  core.EditConfig("docker")}
	}
	return spec, t.err
}

// imageSpec returns the container to create.
func (d *Dialer) imageSpec(c *config.Server, env environment) (dockerexec.ContainerSpec, error) {
	t := &textExpander{env: env}
	image := dockerexec.ContainerSpec{
		Engine: t.engine(c), Ref: t.expand("docker.image", c.Docker.Image), Program: t.expand("command", c.Command), Args: t.list("args", c.Args),
		Env: t.variables(c), User: t.expand("docker.user", c.Docker.User), Workdir: t.expand("docker.workdir", c.Docker.Workdir),
		Network: t.expand("docker.network", c.Docker.Network), Init: !c.Docker.NoInit, Pull: c.Docker.Pull != config.PullNever,
		Server: c.ID, Ledger: d.DockerLedger, CloseStdin: containerEOF, Term: containerTerm,
	}
	for _, mount := range t.list("docker.mounts", c.Docker.Mounts) {
		source, target, readOnly, ok := config.SplitMount(mount)
		if !ok {
			t.err = core.Errorf(core.CodeValidation, "docker.mounts contains an entry without a source and a target folder")
		}
		image.Mounts = append(image.Mounts, dockerexec.Mount{Source: source, Target: target, ReadOnly: readOnly})
	}
	if c.Docker.Memory != "" {
		image.Memory, _ = config.ParseSize(c.Docker.Memory) // validated with the configuration
	}
	if c.Docker.CPUs != "" {
		image.CPUs, _ = strconv.ParseFloat(c.Docker.CPUs, 64)
	}
	if c.Sandbox.On && t.err == nil {
		t.err = confineImage(&c.Sandbox, &image)
	}
	if t.err == nil && image.Ref == "" {
		t.err = core.Errorf(core.CodeValidation, "docker.image is empty")
	}
	return image, t.err
}

// confineImage applies a sandbox to a container: its own files become read-only, the paths of the
// sandbox are mounted under the same names, and network none replaces its network.
func confineImage(s *config.Sandbox, image *dockerexec.ContainerSpec) error {
	image.ReadOnly = true
	if s.NoNetwork {
		image.Network = "none"
	}
	for i, paths := range [][]string{s.Read, s.Write} {
		for _, path := range paths {
			if rest, ok := strings.CutPrefix(path, "~"); ok {
				home, err := os.UserHomeDir()
				if err != nil {
					return fmt.Errorf("cannot mount %s without a home directory: %w", path, err)
				}
				path = filepath.Join(home, rest)
			}
			image.Mounts = append(image.Mounts, dockerexec.Mount{Source: path, Target: path, ReadOnly: i == 0})
		}
	}
	return nil
}

// execInContainer runs the process in an existing container.
func (d *Dialer) execInContainer(ctx context.Context, c *config.Server, spec dockerexec.Spec, s *startedProcess) (Pipe, error) {
	stderr := d.Logs.Writer(c.ID)
	spec.Stderr = stderr
	e, err := dockerexec.Start(ctx, spec)
	if err != nil {
		return nil, errors.Join(dockerError(spec.Selector, err), stderr.Close())
	}
	if e.WithoutShell() {
		s.addWarning("the image has no shell, so the server in the container can be stopped only by closing its stdin")
	}
	return d.containerPipe(c, e, stderr, s), nil
}

// createContainer creates a container and runs the process in it.
func (d *Dialer) createContainer(ctx context.Context, c *config.Server, image dockerexec.ContainerSpec, s *startedProcess) (Pipe, error) {
	stderr := d.Logs.Writer(c.ID)
	image.Stderr, image.OnProgress = stderr, func(line string) { d.Logs.Append(c.ID, serverlog.Info, line) }
	b, err := dockerexec.Create(ctx, image)
	if err != nil {
		return nil, errors.Join(dockerError(dockerexec.Selector{Engine: image.Engine}, err), stderr.Close())
	}
	d.Logs.Append(c.ID, serverlog.Info, "runs in container "+b.ID())
	return d.containerPipe(c, b, stderr, s), nil
}

// containerPipe returns the pipe of a process in a container.
func (d *Dialer) containerPipe(c *config.Server, p interface {
	Pipe
	Exit() dockerexec.Exit
}, stderr interface{ Close() error }, s *startedProcess) Pipe {
	recorder := s.newRecorder()
	s.set(0, func() (Exit, bool) {
		select {
		case <-p.Done():
			return Exit{Code: p.Exit().Code, Text: p.Exit().String(), Lost: p.Exit().Lost}, true
		default:
			return Exit{}, false
		}
	})
	return &pipeWithStop{Pipe: recordPipe(p, recorder, c.ID, d.Observer), stopped: stderr.Close}
}

// dockerError classifies an error of package dockerexec. Missing dependencies, such as a
// stopped container, are waited for; errors that only the user can correct are not.
func dockerError(p dockerexec.Selector, err error) error {
	e := &core.Error{Code: core.CodeValidation, Message: err.Error(), Cause: err}
	waits := false
	switch {
	case errors.Is(err, dockerexec.ErrNoDocker):
		waits = true
		e.Hint, e.Remedy = StartDockerAdvice("")
	case errors.Is(err, dockerexec.ErrNotRunning):
		waits = true
		e.Hint, e.Remedy = startContainer(p)
	case errors.Is(err, dockerexec.ErrNoContainer):
		waits = true
		e.Hint, e.Remedy = "Create the container, or correct the docker section of the server.", core.EditConfig("docker")
	case errors.Is(err, dockerexec.ErrPermission):
		_, e.Remedy = StartDockerAdvice("permission denied")
		e.Hint = "Add this user to the docker group, log in again and restart Drawbridge; or select another Engine with docker.host."
	case errors.Is(err, dockerexec.ErrNoBinary):
		e.Hint, e.Remedy = "Correct the command: it must exist inside the container.", core.EditConfig("command")
	case errors.Is(err, dockerexec.ErrNoImage):
		e.Hint, e.Remedy = "Pull or build the image with docker; an image that requires a login must be pulled with docker pull.", core.EditConfig("docker")
	case errors.Is(err, dockerexec.ErrRefused):
		e.Hint, e.Remedy = "Correct the docker section of the server.", core.EditConfig("docker")
	default:
		return err
	}
	if waits {
		e.Code = core.CodeUnavailable
		return &MissingDependency{fmt.Errorf("%w: %w", ErrDependencyMissing, e), func(ctx context.Context) error { return dockerexec.WaitUntilStartable(ctx, p) }}
	}
	return e
}

// startContainer returns how to start the selected container, which exists.
func startContainer(p dockerexec.Selector) (hint string, remedy core.Remedy) {
	remedy = core.Remedy{Kind: core.RemedyStartContainer, Name: p.Name}
	if p.Name == "" || p.Engine != (dockerexec.Engine{}) {
		return "Start the container.", remedy
	}
	remedy.Command = "docker start " + p.Name // the Engine accepted the name, so it is one word
	return "Start the container: " + remedy.Command, remedy
}
