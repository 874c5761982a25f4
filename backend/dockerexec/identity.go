package dockerexec

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Identity says which image is meant by a name that may mean another one tomorrow.
type Identity struct {
	ID      string   // "sha256:...", of this Engine
	Digests []string // "mcp/time@sha256:...", as the registries that it came from call it
	Tags    []string // "mcp/time:latest", what it is called here
	Running bool     // a container of the server runs it
}

// Digest is what the registry calls the image that name means, "" when it came from none.
func (i Identity) Digest(name string) string {
	for _, one := range i.Digests {
		if of, digest, _ := strings.Cut(one, "@"); familiar(of) == familiar(name) {
			return digest
		}
	}
	return ""
}

// familiar leaves out what the docker command adds to a name of Docker Hub.
func familiar(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "index."), "docker.io/")
	return strings.TrimPrefix(name, "library/")
}

// Identify asks which image the containers of server run that were made from ref, and when
// there is none, which image the next one would run. It fetches nothing. ErrNoImage says
// that the image is not here yet.
func Identify(ctx context.Context, engine Engine, server, ref string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	cli, at, err := connect(engine)
	if err != nil {
		return Identity{}, err
	}
	defer cli.Close()
	found, err := cli.ContainerList(ctx, client.ContainerListOptions{Limit: maxFound, Filters: make(client.Filters).Add("label", ServerLabel+"="+server)})
	if err != nil {
		return Identity{}, explain(at, "", err)
	}
	for _, c := range found.Items {
		// The list names the image as it is called now; the container keeps what it was made from.
		made, err := cli.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if err != nil || made.Container.Config == nil || made.Container.Config.Image != ref {
			continue
		}
		i, err := identify(ctx, cli, at, made.Container.Image)
		if err != nil { // it was taken away since, and runs all the same
			i = Identity{ID: made.Container.Image}
		}
		i.Running = true
		return i, nil
	}
	return identify(ctx, cli, at, ref)
}

func identify(ctx context.Context, cli *client.Client, at Engine, ref string) (Identity, error) {
	image, err := cli.ImageInspect(ctx, ref)
	switch {
	case errdefs.IsNotFound(err):
		return Identity{}, fmt.Errorf("%w: %q", ErrNoImage, ref)
	case err != nil:
		return Identity{}, explain(at, ref, err)
	}
	return Identity{ID: image.ID, Digests: image.RepoDigests, Tags: image.RepoTags}, nil
}

// Newest asks the registry, through the Engine and without credentials, for the digest that
// ref has there now.
func Newest(ctx context.Context, engine Engine, ref string) (digest string, err error) {
	cli, at, err := connect(engine)
	if err != nil {
		return "", err
	}
	defer cli.Close()
	answer, err := cli.DistributionInspect(ctx, ref, client.DistributionInspectOptions{})
	switch {
	case client.IsErrConnectionFailed(err):
		return "", explain(at, ref, err)
	case err != nil:
		return "", fmt.Errorf("cannot ask the registry for image %q: %w", ref, err)
	}
	return answer.Descriptor.Digest.String(), nil
}

// RunEngine is the Engine that the arguments of a docker command name, the zero one when
// they name none.
func RunEngine(args []string) (e Engine) {
	globals, _, _, _, _ := splitRun(args)
	for n := 0; n < len(globals); {
		w := min(width(globals[n], globalFlags), len(globals)-n)
		name, value, joined := strings.Cut(globals[n], "=")
		if short := globals[n]; !strings.HasPrefix(short, "--") && len(short) > 2 { // -Hunix:///s
			name, value, joined = short[:2], strings.TrimPrefix(short[2:], "="), true
		}
		if !joined && w == 2 {
			value = globals[n+1]
		}
		switch strings.TrimLeft(name, "-") {
		case "H", "host":
			e.Host = value
		case "c", "context":
			e.Context = value
		}
		n += w
	}
	return e
}
