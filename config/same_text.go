package config

// SameText reports whether c was read from the same bytes of the same files as o.
func (c *Config) SameText(o *Config) bool {
	if c == nil || o == nil || len(c.texts) != len(o.texts) || c.Locked != o.Locked {
		return false
	}
	for i, t := range c.texts {
		if t != o.texts[i] {
			return false
		}
	}
	return true
}

// With returns a copy of c with the given servers and problems. The servers must be valid
// together.
func (c *Config) With(servers []Server, problems []Problem) *Config {
	copied := *c
	copied.Servers, copied.Problems = servers, problems
	return &copied
}
