package config

import (
	"reflect"
	"slices"
)

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
