package dockerexec

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Engine selects a Docker Engine. The zero value is the one that the docker command would use.
type Engine struct {
	Host    string `json:"host"`              // "unix:///var/run/docker.sock", "tcp://..."; takes precedence over Context
	Context string `json:"context,omitempty"` // name of a docker context
}

type endpoint struct {
	host    string // "" means the default of the client
	tls     string // folder with ca.pem, cert.pem, key.pem, or ""
	env     bool   // configured by DOCKER_HOST and related variables
	context string // of the docker command, or ""
}

// newClient returns a client for an Engine. It does not dial yet. at is the resolved Engine.
func newClient(engine Engine) (cli *client.Client, at Engine, err error) {
	where := endpoint{host: engine.Host}
	switch {
	case engine.Host != "":
		// The certificates of the environment belong to the Engine in DOCKER_HOST.
		where.env = engine.Host == os.Getenv("DOCKER_HOST")
	case engine.Context == "default":
		where = localEndpoint()
	case engine.Context != "":
		where, err = namedContext(dockerFolder(), engine.Context)
	default:
		where, err = defaultEndpoint()
	}
	if err != nil {
		return nil, engine, err
	}
	at = Engine{where.host, where.context}
	var options []client.Opt
	switch {
	case strings.HasPrefix(where.host, "ssh://"):
		return nil, at, fmt.Errorf("%w at %s: Docker over ssh is not supported; forward its socket and set DOCKER_HOST", ErrNoDocker, where.host)
	case where.env:
		options = append(options, client.FromEnv)
	case where.host != "":
		options = append(options, client.WithHost(where.host))
		if where.tls != "" {
			options = append(options, client.WithTLSClientConfig(
				pathIfExists(where.tls, "ca.pem"), pathIfExists(where.tls, "cert.pem"), pathIfExists(where.tls, "key.pem")))
		}
	}
	if cli, err = client.New(options...); err != nil {
		return nil, at, fmt.Errorf("%w: %w", ErrNoDocker, err)
	}
	at.Host = cli.DaemonHost()
	return cli, at, nil
}

func pathIfExists(dir, name string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// defaultEndpoint selects the Engine as the docker command does: DOCKER_HOST, else the context in
// DOCKER_CONTEXT or in the docker configuration, else the default socket. If that is missing, it
// uses the socket of Docker Desktop or of a rootless Engine.
func defaultEndpoint() (endpoint, error) {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return endpoint{host: host, env: true}, nil
	}
	if name := currentContext(); name != "default" {
		return namedContext(dockerFolder(), name)
	}
	return localEndpoint(), nil
}

// dockerFolder returns the folder of the docker command's configuration.
func dockerFolder() string {
	if folder := os.Getenv("DOCKER_CONFIG"); folder != "" {
		return folder
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".docker")
}

// currentContext returns the name of the context that the docker command would use, "default" if
// none is set.
func currentContext() string {
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		if text, err := os.ReadFile(filepath.Join(dockerFolder(), "config.json")); err == nil {
			_ = json.Unmarshal(text, &config) // the docker command reports an invalid file
		}
		name = config.CurrentContext
	}
	return cmp.Or(name, "default")
}

func localEndpoint() endpoint {
	if runtime.GOOS == "windows" {
		return endpoint{}
	}
	home, _ := os.UserHomeDir()
	for _, socket := range []string{
		"/var/run/docker.sock",
		filepath.Join(home, ".docker", "run", "docker.sock"),
		filepath.Join(home, ".docker", "desktop", "docker.sock"),
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"),
	} {
		if _, err := os.Stat(socket); err == nil && filepath.IsAbs(socket) {
			return endpoint{host: "unix://" + socket}
		}
	}
	return endpoint{}
}

// DockerContext is a context of the docker command.
type DockerContext struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Current bool   `json:"current"`
}

// maxContexts is the maximum number of contexts, besides the default one, that Contexts returns.
const maxContexts = 100

// Contexts returns the contexts of the docker command, the default one first.
func Contexts() []DockerContext {
	current, folder := currentContext(), dockerFolder()
	list := []DockerContext{{Name: "default", Address: localEndpoint().host, Current: current == "default"}}
	entries, _ := os.ReadDir(filepath.Join(folder, "contexts", "meta"))
	for _, entry := range entries[:min(len(entries), maxContexts)] {
		var meta struct {
			Name      string
			Endpoints map[string]struct{ Host string }
		}
		text, err := os.ReadFile(filepath.Join(folder, "contexts", "meta", entry.Name(), "meta.json"))
		if err == nil && json.Unmarshal(text, &meta) == nil && meta.Name != "" && contextID(meta.Name) == entry.Name() {
			list = append(list, DockerContext{Name: meta.Name, Address: meta.Endpoints["docker"].Host, Current: meta.Name == current})
		}
	}
	slices.SortFunc(list[1:], func(a, b DockerContext) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func namedContext(folder, name string) (endpoint, error) {
	id := contextID(name)
	text, err := os.ReadFile(filepath.Join(folder, "contexts", "meta", id, "meta.json"))
	if err != nil {
		return endpoint{}, fmt.Errorf("%w: docker context %q is selected but does not exist", ErrNoDocker, name)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(text, &meta); err != nil || meta.Endpoints["docker"].Host == "" {
		return endpoint{}, fmt.Errorf("%w: docker context %q has no Engine endpoint", ErrNoDocker, name)
	}
	at := endpoint{host: meta.Endpoints["docker"].Host, context: name}
	if tls := filepath.Join(folder, "contexts", "tls", id, "docker"); pathIfExists(tls, "ca.pem")+pathIfExists(tls, "cert.pem") != "" {
		at.tls = tls
	}
	return at, nil
}

// contextID returns the name of the folder in which the docker command stores a context.
func contextID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

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
