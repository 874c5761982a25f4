package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"drawbridge/config"
)

// groupNetwork in inheritEnv stands for all the variables that programs need
// behind a proxy, or behind an authority of one's own.
const groupNetwork = "network"

var proxies = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
}

var network = append([]string{
	"NO_PROXY", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE", "PIP_CERT", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "GIT_SSL_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE",
}, proxies...)

// inherited are the names that inheritEnv means.
func inherited(names []string) []string {
	i := slices.Index(names, groupNetwork)
	if i < 0 {
		return names
	}
	return append(slices.Delete(slices.Clone(names), i, i+1), network...)
}

// withheld warns when a proxy is set here that the server does not hear of. It
// names variables and never shows a value: a proxy's address may hold a password.
func (e environment) withheld(c *config.Server, vars map[string]string) []string {
	var names []string
	for _, name := range proxies {
		if value, ok := e.lookup(name); ok && value != "" && vars[name] == "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 || slices.Contains(c.InheritEnv, groupNetwork) {
		return nil
	}
	return []string{fmt.Sprintf("%s set here and not passed on: add %q to inheritEnv if the server needs the network", areSet(names), groupNetwork)}
}

func areSet(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
