package config

import (
	"maps"
	"slices"
)

// Equal reports whether both define the same server, ignoring their position in files.
func (s Server) Equal(o Server) bool {
	return s.ID == o.ID && s.Label == o.Label && slices.Equal(s.Tags, o.Tags) && s.Type == o.Type &&
		s.Command == o.Command && slices.Equal(s.Args, o.Args) && maps.Equal(s.Env, o.Env) &&
		slices.Equal(s.InheritEnv, o.InheritEnv) && s.Cwd == o.Cwd &&
		s.URL == o.URL && maps.Equal(s.Headers, o.Headers) &&
		s.Docker.Equal(o.Docker) &&
		s.Disabled == o.Disabled && s.AllowInsecure == o.AllowInsecure && s.Trust == o.Trust && s.Debug == o.Debug &&
		s.Record == o.Record && s.ValidateOutput == o.ValidateOutput && s.ToolChanges == o.ToolChanges &&
		s.Session == o.Session && s.Start == o.Start && s.Namespace == o.Namespace && s.Framing == o.Framing &&
		s.StartupTimeout == o.StartupTimeout && s.RequestTimeout == o.RequestTimeout &&
		s.MaxRequest == o.MaxRequest && s.IdleStop == o.IdleStop && s.CatalogRefresh == o.CatalogRefresh &&
		s.Heartbeat == o.Heartbeat && s.Stale == o.Stale && s.Restart == o.Restart &&
		s.Filter.Equal(o.Filter) && s.Rules.equal(o.Rules) && s.HonorTTL == o.HonorTTL
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
	return slices.EqualFunc(a.Servers, b.Servers, Server.Equal) &&
		a.MCPEnabled == b.MCPEnabled && a.Global == b.Global && a.Policy.equal(b.Policy) && a.History.Equal(b.History) && a.Metrics.Equal(b.Metrics) && a.Desktop == b.Desktop &&
		a.Bridge.Equal(b.Bridge) && SameReach(a, b) && a.DirectoryURL == b.DirectoryURL && a.Locked == b.Locked
}

// Equal reports whether both have the same meaning.
func (b Bridge) Equal(o Bridge) bool {
	return b.Listen == o.Listen && b.RequireToken == o.RequireToken && b.ListWait == o.ListWait &&
		b.Naming == o.Naming && b.DescribeServer == o.DescribeServer && b.SelfTools == o.SelfTools && b.Socket == o.Socket &&
		slices.Equal(b.AllowedHosts, o.AllowedHosts) && slices.Equal(b.HistoryFor, o.HistoryFor)
}

// Equal reports whether both have the same meaning.
func (h History) Equal(o History) bool {
	return h.Enabled == o.Enabled && h.KeepFor == o.KeepFor && h.MaxBytes == o.MaxBytes && h.MaxPayload == o.MaxPayload &&
		slices.Equal(h.Redact, o.Redact) && slices.Equal(h.DebugClients, o.DebugClients)
}

// Equal reports whether both have the same meaning.
func (m Metrics) Equal(o Metrics) bool {
	return m.Enabled == o.Enabled && m.Public == o.Public && m.OTLP.Equal(o.OTLP)
}

// Equal reports whether both have the same meaning.
func (e OTLP) Equal(o OTLP) bool {
	return e.Endpoint == o.Endpoint && e.Traces == o.Traces && e.Metrics == o.Metrics && e.Interval == o.Interval && maps.Equal(e.Headers, o.Headers)
}

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
