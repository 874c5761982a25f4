package dockerexec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	// The Engine's client lives in moby's own module now. The module
	// github.com/docker/docker ended at v28.5.2 and carries vulnerability reports
	// that will never be marked as fixed there.
	"github.com/moby/moby/client"
)

// endpoint is where an Engine is reached.
type endpoint struct {
	host string // "" is the client's own default
	tls  string // folder with ca.pem, cert.pem, key.pem, or ""
	env  bool   // everything comes from DOCKER_HOST and its kin
}

// connect makes a client for the Engine that the docker command would use. It
// does not dial yet.
func connect(host string) (cli *client.Client, shown string, err error) {
	at := endpoint{host: host}
	if host == "" {
		if at, err = find(); err != nil {
			return nil, "", err
		}
	}
	var options []client.Opt
	switch {
	case strings.HasPrefix(at.host, "ssh://"):
		return nil, at.host, fmt.Errorf("%w at %s: Docker over ssh is not supported; forward its socket and set DOCKER_HOST", ErrNoDocker, at.host)
	case at.env:
		options = append(options, client.FromEnv)
	case at.host != "":
		options = append(options, client.WithHost(at.host))
		if at.tls != "" {
			options = append(options, client.WithTLSClientConfig(
				present(at.tls, "ca.pem"), present(at.tls, "cert.pem"), present(at.tls, "key.pem")))
		}
	}
	if cli, err = client.New(options...); err != nil {
		return nil, at.host, fmt.Errorf("%w: %w", ErrNoDocker, err)
	}
	return cli, cli.DaemonHost(), nil
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
	home, _ := os.UserHomeDir()
	folder := os.Getenv("DOCKER_CONFIG")
	if folder == "" {
		folder = filepath.Join(home, ".docker")
	}
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		if text, err := os.ReadFile(filepath.Join(folder, "config.json")); err == nil {
			_ = json.Unmarshal(text, &config) // a broken file is the docker command's to report
		}
		name = config.CurrentContext
	}
	if name != "" && name != "default" {
		return namedContext(folder, name)
	}
	if runtime.GOOS == "windows" {
		return endpoint{}, nil
	}
	for _, socket := range []string{
		"/var/run/docker.sock",
		filepath.Join(home, ".docker", "run", "docker.sock"),
		filepath.Join(home, ".docker", "desktop", "docker.sock"),
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"),
	} {
		if _, err := os.Stat(socket); err == nil && filepath.IsAbs(socket) {
			return endpoint{host: "unix://" + socket}, nil
		}
	}
	return endpoint{}, nil
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
	at := endpoint{host: meta.Endpoints["docker"].Host}
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
