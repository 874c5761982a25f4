package sandbox

import "slices"

// sandboxEntry is the object form of sandbox in the configuration.
type sandboxEntry struct {
	Mode        string   `json:"mode,omitempty"`
	Read        []string `json:"read,omitempty"`
	Write       []string `json:"write,omitempty"`
	Network     string   `json:"network,omitempty"`
	Ports       []int    `json:"ports,omitempty"`
	UnixSockets string   `json:"unixSockets,omitempty"`
	BestEffort  bool     `json:"bestEffort,omitempty"`
}

// union returns the elements of both lists, each once.
func union[E comparable](a, b []E) []E {
	all := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

func noneOrDefault(none bool) string {
	if none {
		return "none"
	}
	return ""
}
