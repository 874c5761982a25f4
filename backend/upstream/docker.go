package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
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

// runningProcesses holds the local processes of each server, one for each connection. The zero
// value is ready to use.
type runningProcesses struct {
	mu       sync.Mutex
	byServer map[string][]localProcess
}

// localProcess is a process and the name of its launcher, or "".
type localProcess struct {
	*process.Process
	launcher string
}

func (r *runningProcesses) add(server string, p localProcess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byServer == nil {
		r.byServer = map[string][]localProcess{}
	}
	r.byServer[server] = append(r.byServer[server], p)
}

func (r *runningProcesses) remove(server string, p localProcess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := slices.DeleteFunc(r.byServer[server], func(o localProcess) bool { return o == p })
	if len(left) == 0 {
		delete(r.byServer, server)
		return
	}
	r.byServer[server] = left
}

func (r *runningProcesses) get(server string) []localProcess {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.byServer[server])
}

func (d *Dialer) pids(server string) (list []int) {
	usage, err := d.Usage(server)
	if err != nil {
		return nil // it has none, or is exiting
	}
	for _, p := range usage.Tree {
		list = append(list, p.PID)
	}
	return list
}

// Usage returns the resource usage of all processes of a server. It returns an error if the
// server has no local process.
func (d *Dialer) Usage(server string) (process.Usage, error) {
	all := process.Usage{Tree: []process.Proc{}}
	found := false
	var failed error
	for _, p := range d.running.get(server) {
		u, err := p.Usage()
		if err != nil {
			failed = err // the process is exiting
			continue
		}
		found = true
		all.RSS += u.RSS
		all.CPU += u.CPU
		all.Tree = append(all.Tree, u.Tree...)
	}
	switch {
	case found:
		return all, nil
	case failed != nil:
		return process.Usage{}, failed
	}
	return process.Usage{}, core.Errorf(core.CodeUnavailable, "server %q has no process on this machine", server)
}

// Trees returns the process ids of each server that has processes on this machine.
func (d *Dialer) Trees() map[string][]int {
	d.running.mu.Lock()
	var names []string
	var list []*process.Process
	for server, all := range d.running.byServer {
		for _, p := range all {
			names, list = append(names, server), append(list, p.Process)
		}
	}
	d.running.mu.Unlock()
	trees := map[string][]int{}
	if len(list) == 0 {
		return trees
	}
	for i, pids := range process.TreePIDs(list) {
		trees[names[i]] = append(trees[names[i]], pids...)
	}
	return trees
}

// Idle reports whether no server has a process on this machine.
func (d *Dialer) Idle() bool {
	d.running.mu.Lock()
	defer d.running.mu.Unlock()
	return len(d.running.byServer) == 0
}
