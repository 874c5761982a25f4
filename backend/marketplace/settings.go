package marketplace

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// ConfigEditor reads and edits the configuration; *config.Reloader implements it.
type ConfigEditor interface {
	Current() *config.Config
	Add(ctx context.Context, label string, entry json.RawMessage) error
	SetArgument(ctx context.Context, id string, at int, was, now string) error
}

// packageIndex maps packages and URLs to the servers of the configuration that use them.
type packageIndex map[string][]string

func (f *Feature) packages() packageIndex {
	all := packageIndex{}
	for _, s := range f.Config.Current().Servers {
		key := ""
		if spec, ok := Find(&s); ok {
			key = spec.Launcher + " " + spec.Package
		} else if s.URL != "" {
			key = strings.TrimSuffix(s.URL, "/")
		}
		if key != "" {
			all[key] = append(all[key], s.ID)
		}
	}
	return all
}

// serversOf returns the servers that run a package of r or use one of its URLs.
func (p packageIndex) serversOf(r *Record) (ids []string) {
	for _, one := range r.Packages {
		launcher := map[string]string{"npm": NPX, "pypi": UVX, "oci": Image}[one.RegistryType]
		ids = append(ids, p[launcher+" "+one.NameWithoutVersion()]...)
	}
	for _, one := range r.Remotes {
		ids = append(ids, p[strings.TrimSuffix(one.URL, "/")]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
