package dockerexec

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// ContainerSummary is a container in a list.
type ContainerSummary struct {
	ID      string // shortened as by the docker command
	Name    string
	Image   string
	State   string // "running", "exited", ...
	Status  string // for display: "Up 3 minutes"
	Created time.Time
	Project string // of docker compose, or ""
	Service string // of docker compose, or ""
	Managed bool   // created by Drawbridge
}

// maxContainers is the maximum number of containers that List returns.
const maxContainers = 500

// List returns the containers of an Engine, newest first. all includes stopped ones. at and
// version identify the Engine that answered.
func List(ctx context.Context, engine Engine, all bool) (list []ContainerSummary, at Engine, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cli, at, err := newClient(engine)
	if err != nil {
		return nil, at, "", err
	}
	defer cli.Close()
	found, err := cli.ContainerList(ctx, client.ContainerListOptions{All: all, Limit: maxContainers})
	if err != nil {
		return nil, at, "", translateError(at, "", err)
	}
	if is, err := cli.ServerVersion(ctx, client.ServerVersionOptions{}); err == nil {
		version = is.Version
	}
	for _, c := range found.Items[:min(len(found.Items), maxContainers)] {
		f := ContainerSummary{
			ID: shortID(c.ID), Image: c.Image, State: string(c.State), Status: c.Status, Created: time.Unix(c.Created, 0).UTC(),
			Project: c.Labels[composeProject], Service: c.Labels[composeService], Managed: c.Labels[runLabel] != "",
		}
		if len(c.Names) > 0 {
			f.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b ContainerSummary) int { return b.Created.Compare(a.Created) })
	return list, at, version, nil
}

func shortID(id string) string { return id[:min(len(id), 12)] }

// ContainerDetails describes a container.
type ContainerDetails struct {
	ContainerSummary
	User        string
	Workdir     string
	Entrypoint  []string
	Command     []string
	Environment []string // names
	Shell       bool     // there is a /bin/sh; without it a process may be impossible to stop
	Init        bool     // process 1 is an init
	Programs    []ContainerProgram
	Processes   []ContainerProcess
}

// ContainerProgram is a program in a container that runs servers or may be one.
type ContainerProgram struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// ContainerProcess is a process in a container.
type ContainerProcess struct {
	PID     string `json:"pid"`
	User    string `json:"user"`
	Command string `json:"command"`
}

// Limits of Look.
const (
	maxPrograms  = 100
	maxProcesses = 100
	maxCommand   = 300 // bytes of a process's command line
)

// interpreters are programs that run servers.
var interpreters = []string{"node", "npx", "bun", "bunx", "deno", "python3", "python", "uv", "uvx", "pipx", "java", "dotnet", "ruby", "php", "go", "docker"}

// Inspect inspects a container. Data from the container is only displayed and never used as a
// command.
func Inspect(ctx context.Context, engine Engine, name string) (*ContainerDetails, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cli, at, err := newClient(engine)
	if err != nil {
		return nil, err
	}
	defer cli.Close()
	inspected, err := cli.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err != nil {
		return nil, translateError(at, name, err)
	}
	c := inspected.Container
	in := &ContainerDetails{ContainerSummary: ContainerSummary{ID: shortID(c.ID), Name: strings.TrimPrefix(c.Name, "/")}}
	in.Created, _ = time.Parse(time.RFC3339Nano, c.Created)
	if c.HostConfig != nil {
		in.Init = c.HostConfig.Init != nil && *c.HostConfig.Init
	}
	if config := c.Config; config != nil {
		in.Image, in.User, in.Workdir, in.Entrypoint, in.Command = config.Image, config.User, config.WorkingDir, config.Entrypoint, config.Cmd
		in.Project, in.Service, in.Managed = config.Labels[composeProject], config.Labels[composeService], config.Labels[runLabel] != ""
		for _, kv := range config.Env {
			variable, _, _ := strings.Cut(kv, "=")
			in.Environment = append(in.Environment, variable)
		}
	}
	if c.State != nil {
		in.State = string(c.State.Status)
		if c.State.Running && !c.State.Paused {
			in.addRunningDetails(ctx, cli, c.ID)
		}
	}
	return in, nil
}

// addRunningDetails adds the details that only a running container has.
func (in *ContainerDetails) addRunningDetails(ctx context.Context, cli *client.Client, id string) {
	in.Shell = pathExists(ctx, cli, id, "/bin/sh")
	if in.Shell {
		in.Programs = findPrograms(ctx, cli, id)
	} else {
		for _, name := range interpreters {
			for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
				if pathExists(ctx, cli, id, path.Join(dir, name)) {
					in.Programs = append(in.Programs, ContainerProgram{name, path.Join(dir, name)})
					break
				}
			}
		}
	}
	top, err := cli.ContainerTop(ctx, id, client.ContainerTopOptions{Arguments: []string{"-eo", "pid,user,args"}})
	if err != nil {
		return
	}
	for _, p := range top.Processes[:min(len(top.Processes), maxProcesses)] {
		if len(p) == 3 {
			in.Processes = append(in.Processes, ContainerProcess{PID: p[0], User: p[1], Command: p[2][:min(len(p[2]), maxCommand)]})
		}
	}
}

func pathExists(ctx context.Context, cli *client.Client, id, path string) bool {
	_, err := cli.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: path})
	return err == nil
}

// findProgramsScript prints the paths of the programs in its arguments, and of those in PATH
// whose names contain "mcp".
const findProgramsScript = `for p in "$@"; do command -v "$p"; done
IFS=:
for d in $PATH; do
  for f in "$d"/*mcp*; do [ -x "$f" ] && echo "$f"; done
done`

func findPrograms(ctx context.Context, cli *client.Client, id string) (list []ContainerProgram) {
	out, err := output(ctx, cli, id, "", append([]string{"/bin/sh", "-c", findProgramsScript, "sh"}, interpreters...))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(out) {
		at := strings.TrimSpace(line)
		one := ContainerProgram{path.Base(at), at}
		if strings.HasPrefix(at, "/") && len(at) < 4096 && len(list) < maxPrograms && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// Selector selects a container: by Name, else by Label, else by Service. If several containers have
// the label or service, the newest running one is selected.
type Selector struct {
	Engine  Engine
	Name    string // or id
	Label   string // "key" or "key=value"
	Service string // of docker compose
	Project string // of docker compose; "" means any
	// Start starts the container if it is stopped. It is not stopped again when the process in it
	// is.
	Start bool
}

// Labels that docker compose sets on its containers.
const (
	composeService = "com.docker.compose.service"
	composeProject = "com.docker.compose.project"
)

// labels returns the labels that the container must have, or nil if it is selected by name.
func (p Selector) labels() []string {
	switch {
	case p.Name != "":
		return nil
	case p.Label != "":
		return []string{p.Label}
	case p.Project != "":
		return []string{composeService + "=" + p.Service, composeProject + "=" + p.Project}
	}
	return []string{composeService + "=" + p.Service}
}

// String describes the container for display.
func (p Selector) String() string {
	switch {
	case p.Name != "":
		return fmt.Sprintf("%q", p.Name)
	case p.Label != "":
		return fmt.Sprintf("with label %q", p.Label)
	case p.Project != "":
		return fmt.Sprintf("of compose service %q in project %q", p.Service, p.Project)
	}
	return fmt.Sprintf("of compose service %q", p.Service)
}

type containerRun struct {
	id        string // of the container
	startedAt string // StartedAt of the Engine, which differs between runs
}

// findRunning returns the selected container if it runs. It starts the container first if p.Start
// is set.
func findRunning(ctx context.Context, cli *client.Client, at Engine, p Selector) (containerRun, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name, err := p.resolveID(ctx, cli, at)
	if err != nil {
		return containerRun{}, err
	}
	found, err := cli.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err != nil {
		return containerRun{}, p.translateError(at, err)
	}
	id := found.Container.ID
	switch state := found.Container.State; {
	case state == nil:
		return containerRun{}, fmt.Errorf("%w: the Engine reported no state for the container %s", ErrNotRunning, p)
	case state.Running && !state.Paused && !state.Restarting:
		return containerRun{id, state.StartedAt}, nil
	case p.Start && (state.Status == container.StateExited || state.Status == container.StateCreated):
		if _, err := cli.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
			return containerRun{}, fmt.Errorf("cannot start the container %s: %w", p, p.translateError(at, err))
		}
		return findRunning(ctx, cli, at, Selector{Engine: p.Engine, Name: id})
	default:
		return containerRun{}, fmt.Errorf("%w: the container %s is %s", ErrNotRunning, p, state.Status)
	}
}

// validName matches the names and ids of containers. The Engine itself shows names with a leading
// slash.
var validName = regexp.MustCompile(`^/?[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// checkName rejects strings that would change the path of the request to the Engine, which
// contains the name.
func checkName(name string) error {
	if validName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q is not a valid container name. Names consist of letters, digits and _ . -", name)
}

// hasEnded reports whether this run of the container has ended. It returns false while the Engine
// does not answer.
func (l containerRun) hasEnded(ctx context.Context, cli *client.Client) bool {
	now, err := cli.ContainerInspect(ctx, l.id, client.ContainerInspectOptions{})
	if err != nil {
		return errdefs.IsNotFound(err)
	}
	state := now.Container.State
	return state == nil || !state.Running || state.StartedAt != l.startedAt
}

// translateError converts err with the function translateError and adds which container was selected.
func (p Selector) translateError(at Engine, err error) error {
	err = translateError(at, p.Name, err)
	if p.Name == "" && (errors.Is(err, ErrNoContainer) || errors.Is(err, ErrNotRunning)) {
		return fmt.Errorf("%w: the container %s has stopped", ErrNotRunning, p)
	}
	return err
}

// resolveID returns the name or id of the selected container, which may be stopped.
func (p Selector) resolveID(ctx context.Context, cli *client.Client, at Engine) (string, error) {
	if p.Name != "" {
		return p.Name, checkName(p.Name)
	}
	filters := make(client.Filters)
	for _, label := range p.labels() {
		filters.Add("label", label)
	}
	list, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return "", translateError(at, p.String(), err)
	}
	best := -1
	for i, c := range list.Items {
		if best < 0 || isPreferred(c, list.Items[best]) {
			best = i
		}
	}
	switch {
	case best < 0:
		return "", fmt.Errorf("%w %s", ErrNoContainer, p)
	case list.Items[best].State != container.StateRunning && !p.Start:
		return "", fmt.Errorf("%w: the container %s", ErrNotRunning, p)
	}
	return list.Items[best].ID, nil
}

// isPreferred prefers running containers, then newer ones.
func isPreferred(c, than container.Summary) bool {
	running, other := c.State == container.StateRunning, than.State == container.StateRunning
	if running != other {
		return running
	}
	return c.Created > than.Created
}
