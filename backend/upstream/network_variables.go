package upstream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// groupNetwork in inheritEnv stands for all variables that programs need behind a proxy or with a
// private certificate authority, regardless of their values.
const groupNetwork = "network"

// proxyVariableNames are variables whose values may contain a user name and a password.
var proxyVariableNames = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
}

// networkVariableNames are variables with paths of certificates, switches and host names. They
// contain no secrets, and without them npx and uvx cannot reach the network of many companies.
var networkVariableNames = []string{
	"NO_PROXY", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE", "PIP_CERT", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "GIT_SSL_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE",
}

// inheritedNames returns the names in inheritEnv with groupNetwork expanded.
func inheritedNames(names []string) []string {
	i := slices.Index(names, groupNetwork)
	if i < 0 {
		return names
	}
	return append(append(slices.Delete(slices.Clone(names), i, i+1), networkVariableNames...), proxyVariableNames...)
}

// networkVariables returns the network variables that every local server gets by default: all
// except proxies whose address contains more than a host and a port.
func (e environment) networkVariables() map[string]string {
	env := map[string]string{}
	for _, name := range networkVariableNames {
		if value, _ := e.lookup(name); value != "" {
			env[name] = value
		}
	}
	for _, name := range proxyVariableNames {
		if value, _ := e.lookup(name); value != "" && !mayHoldPassword(value) {
			env[name] = value
		}
	}
	return env
}

// engineVariableNames are variables that select a Docker Engine: addresses, names and paths.
var engineVariableNames = []string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "CONTAINER_HOST",
}

// engineVariables returns the variables that docker and podman commands get by default, so that
// they use the same Engine as servers of type docker.
func (e environment) engineVariables() map[string]string {
	env := map[string]string{}
	for _, name := range engineVariableNames {
		if value, _ := e.lookup(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// mayHoldPassword reports whether the address of a proxy contains a user or a query. It prefers a
// needless warning to a password in the environment of a server.
func mayHoldPassword(proxy string) bool { return strings.ContainsAny(proxy, "@?") }

// withheldWarnings returns a warning if a proxy is set here but not passed to the server. It
// contains names of variables but never a value.
func (e environment) withheldWarnings(c *config.Server, vars map[string]string) []string {
	if slices.Contains(c.InheritEnv, groupNetwork) {
		return nil
	}
	var names []string
	for _, name := range proxyVariableNames {
		if _, passed := vars[name]; passed {
			continue // possibly as an empty value in its configuration
		}
		if value, _ := e.lookup(name); value != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s set in Drawbridge's environment but not passed to the server, because of the user name or password in it: add %q to inheritEnv if the server needs the network", areSetText(names), groupNetwork)}
}

func areSetText(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
