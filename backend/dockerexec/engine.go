package dockerexec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	// The Engine's client lives in moby's own module now. The module
	// github.com/docker/docker ended at v28.5.2 and carries vulnerability reports
	// that will never be marked as fixed there.
	"github.com/moby/moby/client"
)

// Engine says which Docker Engine is meant. The zero value is the one that the docker
// command would use.
type Engine struct {
	Host    string `json:"host"`              // "unix:///var/run/docker.sock", "tcp://..."; it wins over Context
	Context string `json:"context,omitempty"` // name of a docker context
}

// endpoint is where an Engine is reached.
type endpoint struct {
	host    string // "" is the client's own default
	tls     string // folder with ca.pem, cert.pem, key.pem, or ""
	env     bool   // everything comes from DOCKER_HOST and its kin
	context string // of the docker command, or ""
}

// connect makes a client for an Engine. It does not dial yet. at is where that is.
func connect(engine Engine) (cli *client.Client, at Engine, err error) {
	where := endpoint{host: engine.Host}
	switch {
	case engine.Host != "":
		// The certificates of the environment are for the Engine that it names.
		where.env = engine.Host == os.Getenv("DOCKER_HOST")
	case engine.Context == "default":
		where = standard()
	case engine.Context != "":
		where, err = namedContext(dockerFolder(), engine.Context)
	default:
		where, err = find()
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
				present(where.tls, "ca.pem"), present(where.tls, "cert.pem"), present(where.tls, "key.pem")))
		}
	}
	if cli, err = client.New(options...); err != nil {
		return nil, at, fmt.Errorf("%w: %w", ErrNoDocker, err)
	}
	at.Host = cli.DaemonHost()
	return cli, at, nil
}

func present(dir, name string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// find follows the docker command: DOCKER_HOST, else the context that
// DOCKER_CONTEXT or the docker configuration names, else the default socket, or
// that of Docker Desktop or of a rootless Engine when the default one is absent.
func find() (endpoint, error) {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return endpoint{host: host, env: true}, nil
	}
	if name := currentContext(); name != "default" {
		return namedContext(dockerFolder(), name)
	}
	return standard(), nil
}

// dockerFolder is where the docker command keeps its configuration.
func dockerFolder() string {
	if folder := os.Getenv("DOCKER_CONFIG"); folder != "" {
		return folder
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".docker")
}

// currentContext is the context that the docker command would use, "default" without one.
func currentContext() string {
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		if text, err := os.ReadFile(filepath.Join(dockerFolder(), "config.json")); err == nil {
			_ = json.Unmarshal(text, &config) // a broken file is the docker command's to report
		}
		name = config.CurrentContext
	}
	return cmp.Or(name, "default")
}

// standard is the Engine of this machine.
func standard() endpoint {
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

// Context is an Engine that the docker command knows by a name.
type Context struct {
	Name    string
	Address string
	Current bool
}

// maxContexts bounds Contexts.
const maxContexts = 100

// Contexts lists the contexts of the docker command, the default one first.
func Contexts() []Context {
	current, folder := currentContext(), dockerFolder()
	list := []Context{{Name: "default", Address: standard().host, Current: current == "default"}}
	entries, _ := os.ReadDir(filepath.Join(folder, "contexts", "meta"))
	for _, entry := range entries[:min(len(entries), maxContexts)] {
		var meta struct {
			Name      string
			Endpoints map[string]struct{ Host string }
		}
		text, err := os.ReadFile(filepath.Join(folder, "contexts", "meta", entry.Name(), "meta.json"))
		if err == nil && json.Unmarshal(text, &meta) == nil && meta.Name != "" && contextID(meta.Name) == entry.Name() {
			list = append(list, Context{Name: meta.Name, Address: meta.Endpoints["docker"].Host, Current: meta.Name == current})
		}
	}
	slices.SortFunc(list[1:], func(a, b Context) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// namedContext reads what `docker context` keeps about one context.
func namedContext(folder, name string) (endpoint, error) {
	id := contextID(name)
	text, err := os.ReadFile(filepath.Join(folder, "contexts", "meta", id, "meta.json"))
	if err != nil {
		return endpoint{}, fmt.Errorf("%w: docker context %q is set but not there", ErrNoDocker, name)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(text, &meta); err != nil || meta.Endpoints["docker"].Host == "" {
		return endpoint{}, fmt.Errorf("%w: docker context %q names no Engine", ErrNoDocker, name)
	}
	at := endpoint{host: meta.Endpoints["docker"].Host, context: name}
	if tls := filepath.Join(folder, "contexts", "tls", id, "docker"); present(tls, "ca.pem")+present(tls, "cert.pem") != "" {
		at.tls = tls
	}
	return at, nil
}

// contextID is the folder that the docker command keeps a context in.
func contextID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
