package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// KeepsLess reports whether the configuration may delete calls that was would keep.
func (h History) KeepsLess(was History) bool {
	return narrower(h.KeepFor, was.KeepFor) || narrower(h.MaxBytes, was.MaxBytes)
}

// narrower compares two limits; 0 means none.
func narrower[N ~int64](next, was N) bool { return next > 0 && (was == 0 || next < was) }

// Equal reports whether both define the same server, ignoring their position in files.
func (s Server) Equal(o Server) bool {
	s.Source, s.keys = o.Source, o.keys
	return reflect.DeepEqual(s, o)
}

// Diff compares the servers of two configurations by id. Each list is in the
// order of its configuration; a different order alone is not a difference. Either may be nil.
func Diff(current, next *Config) (added, changed, removed []string) {
	before, after := byID(current), byID(next)
	if next != nil {
		for _, s := range next.Servers {
			switch was, known := before[s.ID]; {
			case !known:
				added = append(added, s.ID)
			case !was.Equal(s):
				changed = append(changed, s.ID)
			}
		}
	}
	if current != nil {
		for _, s := range current.Servers {
			if _, stays := after[s.ID]; !stays {
				removed = append(removed, s.ID)
			}
		}
	}
	return added, changed, removed
}

// Same reports whether both configurations have the same servers in the same order and the same
// settings, ignoring problems and files.
func Same(a, b *Config) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Servers, b.Servers, Server.Equal) && SameVisibility(a, b) && reflect.DeepEqual(a.settings(), b.settings())
}

// settings returns c without what Same compares in another way, or ignores.
func (c Config) settings() Config {
	c.Servers, c.Profiles, c.Clients, c.VisibilityUnknown = nil, nil, nil, ""
	c.Problems, c.Files, c.FilesIgnored, c.texts = nil, nil, false, nil
	return c
}

// Equal reports whether both have the same meaning.
func (e OTLP) Equal(o OTLP) bool { return reflect.DeepEqual(e, o) }

func byID(c *Config) map[string]Server {
	if c == nil {
		return nil
	}
	m := make(map[string]Server, len(c.Servers))
	for _, s := range c.Servers {
		m[s.ID] = s
	}
	return m
}

// With returns a copy of c with the given servers and problems. The servers must be valid
// together.
func (c *Config) With(servers []Server, problems []Problem) *Config {
	copied := *c
	copied.Servers, copied.Problems = servers, problems
	return &copied
}

// LaunchKey returns a hash of the settings that need a restart when they change.
func (s *Server) LaunchKey() string {
	b, _ := json.Marshal(struct {
		Type       core.Transport
		Command    string
		Args       []string
		Env        map[string]string
		InheritEnv []string
		Cwd        string
		URL        string
		Headers    map[string]string
		Docker     Docker
		Framing    string
		Debug      bool
		Insecure   bool    `json:",omitempty"` // omitted when unset, so that keys saved by earlier versions stay valid
		OAuth      OAuth   `json:",omitzero"`
		Sandbox    Sandbox `json:",omitzero"`
		Replay     Replay  `json:",omitzero"`
	}{s.Type, s.Command, s.Args, s.Env, s.InheritEnv, s.Cwd, s.URL, s.Headers, s.Docker, s.Framing, s.Debug, s.AllowInsecure, s.OAuth, s.Sandbox, s.Replay})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

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
