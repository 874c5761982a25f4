package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// groupNetwork in inheritEnv stands for all the variables that programs need
// behind a proxy, or behind an authority of one's own, whatever they hold.
const groupNetwork = "network"

// proxies may hold a user and a password.
var proxies = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
}

// network are paths of certificates, switches and names of hosts: no secrets, and
// without them npx or uvx reach nothing from inside many companies.
var network = []string{
	"NO_PROXY", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE", "PIP_CERT", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "GIT_SSL_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE",
}

// inherited are the names that inheritEnv means.
func inherited(names []string) []string {
	i := slices.Index(names, groupNetwork)
	if i < 0 {
		return names
	}
	return append(append(slices.Delete(slices.Clone(names), i, i+1), network...), proxies...)
}

// networkVariables are the variables of the network that every program on this machine gets
// unasked: all but the address of a proxy that holds more than a host and a port.
func (e environment) networkVariables() map[string]string {
	env := map[string]string{}
	for _, name := range network {
		if value, _ := e.lookup(name); value != "" {
			env[name] = value
		}
	}
	for _, name := range proxies {
		if value, _ := e.lookup(name); value != "" && !holdsPassword(value) {
			env[name] = value
		}
	}
	return env
}

// engines say which Docker Engine is meant and how to reach it: addresses, names and paths.
var engines = []string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "CONTAINER_HOST",
}

// engineVariables are the variables that the commands of Docker and Podman get unasked, so that they
// speak to the Engine that servers of type docker are run by.
func (e environment) engineVariables() map[string]string {
	env := map[string]string{}
	for _, name := range engines {
		if value, _ := e.lookup(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// holdsPassword says that a proxy's address has a user, or anything behind a question
// mark: too careful is a warning, too careless a password in a stranger's process.
func holdsPassword(proxy string) bool { return strings.ContainsAny(proxy, "@?") }

// withheldWarnings warns when a proxy is set here that the server does not hear of. It
// names variables and never shows a value.
func (e environment) withheldWarnings(c *config.Server, vars map[string]string) []string {
	if slices.Contains(c.InheritEnv, groupNetwork) {
		return nil
	}
	var names []string
	for _, name := range proxies {
		if _, passed := vars[name]; passed {
			continue // by its entry perhaps, and perhaps as nothing
		}
		if value, _ := e.lookup(name); value != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s set here and not passed on, because of a user or password in it: add %q to inheritEnv if the server needs the network", areSet(names), groupNetwork)}
}

func areSet(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
