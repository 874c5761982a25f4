package dockerexec

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// ImageIdentity identifies an image whose name may refer to another image later.
type ImageIdentity struct {
	ID      string   // "sha256:...", local to the Engine
	Digests []string // "mcp/time@sha256:...", in the registries that it was pulled from
	Tags    []string // "mcp/time:latest", local names
	Running bool     // a running container of the server uses it
}

// Digest returns the registry digest of the image for name, or "" if it was not pulled from a
// registry.
func (i ImageIdentity) Digest(name string) string {
	for _, one := range i.Digests {
		if of, digest, _ := strings.Cut(one, "@"); familiarName(of) == familiarName(name) {
			return digest
		}
	}
	return ""
}

// familiarName removes the prefixes that the docker command adds to names of Docker Hub.
func familiarName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "index."), "docker.io/")
	return strings.TrimPrefix(name, "library/")
}

// Identify returns the image that the running container of server uses, if it was created from
// ref, or else the local image that the next container would use. It does not pull. It returns
// ErrNoImage if the image is not present.
func Identify(ctx context.Context, engine Engine, server, ref string) (ImageIdentity, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cli, at, err := newClient(engine)
	if err != nil {
		return ImageIdentity{}, err
	}
	defer cli.Close()
	found, err := cli.ContainerList(ctx, client.ContainerListOptions{Limit: maxContainers, Filters: make(client.Filters).Add("label", ServerLabel+"="+server)})
	if err != nil {
		return ImageIdentity{}, translateError(at, "", err)
	}
	for _, c := range found.Items {
		// The list shows the current name of the image; the container keeps the one from which it
		// was created.
		made, err := cli.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if err != nil || made.Container.Config == nil || made.Container.Config.Image != ref {
			continue
		}
		i, err := identify(ctx, cli, at, made.Container.Image)
		if err != nil { // the image was removed, but the container still runs
			i = ImageIdentity{ID: made.Container.Image}
		}
		i.Running = true
		return i, nil
	}
	return identify(ctx, cli, at, ref)
}

func identify(ctx context.Context, cli *client.Client, at Engine, ref string) (ImageIdentity, error) {
	image, err := cli.ImageInspect(ctx, ref)
	switch {
	case errdefs.IsNotFound(err):
		return ImageIdentity{}, fmt.Errorf("%w: %q", ErrNoImage, ref)
	case err != nil:
		return ImageIdentity{}, translateError(at, ref, err)
	}
	return ImageIdentity{ID: image.ID, Digests: image.RepoDigests, Tags: image.RepoTags}, nil
}

// LatestDigest returns the digest that ref has in its registry now. The Engine queries the
// registry, without credentials.
func LatestDigest(ctx context.Context, engine Engine, ref string) (digest string, err error) {
	cli, at, err := newClient(engine)
	if err != nil {
		return "", err
	}
	defer cli.Close()
	answer, err := cli.DistributionInspect(ctx, ref, client.DistributionInspectOptions{})
	switch {
	case client.IsErrConnectionFailed(err):
		return "", translateError(at, ref, err)
	case err != nil:
		return "", fmt.Errorf("cannot query the registry for image %q: %w", ref, err)
	}
	return answer.Descriptor.Digest.String(), nil
}
