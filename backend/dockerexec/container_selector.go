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

// Place says which container is meant: by Name, else by Label, else by Service. A
// label or service may be carried by several: the newest running one is taken.
type Place struct {
	Engine  Engine
	Name    string // or id
	Label   string // "key" or "key=value"
	Service string // of docker compose
	Project string // of docker compose; "" is any
	// Start starts the container when it is stopped. Ending a process in it does not
	// stop it again.
	Start bool
}

// The labels that docker compose gives to its containers.
const (
	composeService = "com.docker.compose.service"
	composeProject = "com.docker.compose.project"
)

// labels are what the container has to carry; nil when it has a name.
func (p Place) labels() []string {
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

// String names the container for people.
func (p Place) String() string {
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

// life is one run of a container.
type life struct {
	id    string // of the container
	begun string // as the Engine says it: another run has another time
}

// locate returns the container, which runs.
func locate(ctx context.Context, cli *client.Client, at Engine, p Place) (life, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	name, err := p.pick(ctx, cli, at)
	if err != nil {
		return life{}, err
	}
	found, err := cli.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err != nil {
		return life{}, p.explain(at, err)
	}
	id := found.Container.ID
	switch state := found.Container.State; {
	case state == nil:
		return life{}, fmt.Errorf("%w: the one %s is in no state", ErrNotRunning, p)
	case state.Running && !state.Paused && !state.Restarting:
		return life{id, state.StartedAt}, nil
	case p.Start && (state.Status == container.StateExited || state.Status == container.StateCreated):
		if _, err := cli.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
			return life{}, fmt.Errorf("cannot start the container %s: %w", p, p.explain(at, err))
		}
		return locate(ctx, cli, at, Place{Engine: p.Engine, Name: id})
	default:
		return life{}, fmt.Errorf("%w: the one %s is %s", ErrNotRunning, p, state.Status)
	}
}

// nameShape is the shape of a container's name or id; the Engine itself shows names with a
// slash in front.
var nameShape = regexp.MustCompile(`^/?[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// checkName refuses what would be another request of the Engine's: the name stands in a path.
func checkName(name string) error {
	if nameShape.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q cannot be the name of a container. Names are made of letters, digits and _ . -", name)
}

// over reports whether this run of the container has ended. While the Engine does not
// answer it has not.
func (l life) over(ctx context.Context, cli *client.Client) bool {
	now, err := cli.ContainerInspect(ctx, l.id, client.ContainerInspectOptions{})
	if err != nil {
		return errdefs.IsNotFound(err)
	}
	state := now.Container.State
	return state == nil || !state.Running || state.StartedAt != l.begun
}

// explain says of err which container was meant.
func (p Place) explain(at Engine, err error) error {
	err = explain(at, p.Name, err)
	if p.Name == "" && (errors.Is(err, ErrNoContainer) || errors.Is(err, ErrNotRunning)) {
		return fmt.Errorf("%w: the one %s went away", ErrNotRunning, p)
	}
	return err
}

// pick finds the container's name or id. It need not run.
func (p Place) pick(ctx context.Context, cli *client.Client, at Engine) (string, error) {
	if p.Name != "" {
		return p.Name, checkName(p.Name)
	}
	filters := make(client.Filters)
	for _, label := range p.labels() {
		filters.Add("label", label)
	}
	list, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return "", explain(at, p.String(), err)
	}
	best := -1
	for i, c := range list.Items {
		if best < 0 || better(c, list.Items[best]) {
			best = i
		}
	}
	switch {
	case best < 0:
		return "", fmt.Errorf("%w %s", ErrNoContainer, p)
	case list.Items[best].State != container.StateRunning && !p.Start:
		return "", fmt.Errorf("%w: the one %s", ErrNotRunning, p)
	}
	return list.Items[best].ID, nil
}

// better prefers what runs, then what is newer.
func better(c, than container.Summary) bool {
	running, other := c.State == container.StateRunning, than.State == container.StateRunning
	if running != other {
		return running
	}
	return c.Created > than.Created
}
