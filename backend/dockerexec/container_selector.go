package dockerexec

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

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

// containerRun identifies one run of a container.
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
