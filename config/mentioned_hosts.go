package config

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// urlInText matches the authority of URLs. It ends before a path, query or quotation mark.
var urlInText = osutil.LazyRegexp(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#"'<>]+`)

// registries are the hosts from which launchers download packages.
var registries = map[string][]string{
	"npx": {"registry.npmjs.org"}, "npm": {"registry.npmjs.org"}, "pnpm": {"registry.npmjs.org"}, "bunx": {"registry.npmjs.org"},
	"uvx": {"pypi.org", "files.pythonhosted.org"}, "uv": {"pypi.org", "files.pythonhosted.org"}, "pipx": {"pypi.org", "files.pythonhosted.org"},
}

// MentionedHosts returns the host names of the URLs in the arguments, environment and address of s,
// and those of the registry of its launcher.
func (s *Server) MentionedHosts() []string {
	hosts := slices.Clone(registries[strings.TrimSuffix(filepath.Base(s.Command), ".exe")])
	texts := append(slices.Clone(s.Args), s.URL)
	for _, value := range s.Env {
		texts = append(texts, value)
	}
	for _, text := range texts {
		for _, found := range urlInText().FindAllString(text, -1) {
			if u, err := url.Parse(found); err == nil && u.Hostname() != "" {
				hosts = append(hosts, strings.ToLower(u.Hostname()))
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
