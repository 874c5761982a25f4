package dockerexec

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

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

// findPrograms runs findProgramsScript in the container.
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
