package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Sandbox configures what the process of a stdio server may reach.
type Sandbox struct {
	On bool
	// Read and Write are additional paths: absolute, or relative to the home directory if they
	// begin with "~/". What may be written may be read as well.
	Read  []string `json:",omitempty"`
	Write []string `json:",omitempty"`
	// NoNetwork refuses TCP connections, except those to Ports, and listening for them.
	NoNetwork bool  `json:",omitempty"`
	Ports     []int `json:",omitempty"`
	// UnixSockets is "any", "none", or "", which means "none" with NoNetwork and "any" otherwise.
	UnixSockets string `json:",omitempty" key:"unixSockets"`
	// BestEffort starts the server even if the system cannot enforce all of it.
	BestEffort bool `json:",omitempty" key:"bestEffort"`
}

// Values of sandbox and of sandbox.network.
const (
	sandboxOff  = "off"
	sandboxOn   = "on"
	networkAny  = "any"
	networkNone = "none"
)

// maxSandboxPaths limits the paths of one sandbox.
const maxSandboxPaths = 200

// sandboxField reads "off", "on", or an object, which means on unless it has a mode.
func sandboxField(to *Sandbox) field {
	return field{"sandbox", func(r *reader, name string, at Position, n *node) {
		if n.kind == kindObject {
			to.On = true
			section(name, sandboxFields(to)...).read(r, name, at, n)
			return
		}
		if n.kind != kindString {
			r.reportWrongKind(n, name, `"off", "on" or an object`)
			return
		}
		sandboxMode(name, to).read(r, name, at, n)
	}}
}

func sandboxMode(name string, to *Sandbox) field {
	mode := oneOfThen(name, []string{sandboxOff, sandboxOn}, func(word string) { to.On = word == sandboxOn })
	return field{name, func(r *reader, name string, at Position, n *node) {
		if n.kind == kindString && n.text == "observe" { // accepted for one release
			to.On = false
			r.report(n.at, name, true, `write "off" or "on"`, "'observe'%s means off: what servers open is no longer recorded", r.inServer())
			return
		}
		mode.read(r, name, at, n)
	}}
}

func sandboxFields(to *Sandbox) []field {
	return schemaTree().Defs["sandbox"].fields(to,
		sandboxMode("mode", to),
		sandboxPaths("read", &to.Read),
		sandboxPaths("write", &to.Write),
		oneOfThen("network", []string{networkAny, networkNone}, func(word string) { to.NoNetwork = word == networkNone }),
		portList("ports", &to.Ports),
	)
}

func sandboxPaths(name string, to *[]string) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		var paths []string
		list(name, &paths).read(r, name, at, n)
		if len(paths) > maxSandboxPaths {
			r.errorf(n.at, name, "'%s'%s must contain at most %d paths", name, r.inServer(), maxSandboxPaths)
			return
		}
		for _, path := range paths {
			if !strings.HasPrefix(path, "/") && path != "~" && !strings.HasPrefix(path, "~/") {
				r.report(n.at, name, false, "start each path with / or ~/", "'%s'%s must contain absolute paths, not '%.200s'", name, r.inServer(), path)
				return
			}
		}
		*to = paths
	}}
}

func portList(name string, to *[]int) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindList {
			r.reportWrongKind(n, name, "a list of port numbers")
			return
		}
		var ports []int
		for _, item := range n.items {
			port, ok := r.integer(item, name, 1, 65535)
			if !ok {
				return
			}
			ports = append(ports, int(port))
		}
		if len(ports) > maxSandboxPaths {
			r.errorf(n.at, name, "'%s'%s must contain at most %d ports", name, r.inServer(), maxSandboxPaths)
			return
		}
		*to = ports
	}}
}

// sandbox validates the sandbox of a server whose type is known.
func (r *reader) sandbox(e *entry, m member) {
	at := r.keyAt(e, m, "sandbox")
	switch {
	case !e.Sandbox.On:
	case e.Type == core.Docker && e.Docker.Image != "":
		if len(e.Sandbox.Ports) > 0 {
			r.report(at, "sandbox.ports", false, "remove it", "'ports'%s is not supported for a container: network access is either allowed or blocked entirely", r.inServer())
		}
	case e.Type != core.Stdio:
		r.report(at, "sandbox", false, "remove it, or use the settings of its container", "'sandbox' applies only to stdio servers and containers with an image, not to %s server '%s'", e.Type, e.Label)
	case len(e.Sandbox.Ports) > 0 && !e.Sandbox.NoNetwork:
		r.report(at, "sandbox.ports", true, `set network to "none"`, "'ports'%s has no effect while all network access is allowed", r.inServer())
	}
}

// NoUnixSockets reports whether the server must not connect to Unix sockets.
func (s *Sandbox) NoUnixSockets() bool {
	return s.UnixSockets == networkNone || s.UnixSockets == "" && s.NoNetwork
}

// AllowsBeyond returns what s allows in addition to old, as ends of the sentence "the server may ...".
func (s *Sandbox) AllowsBeyond(old *Sandbox) (list []string) {
	switch {
	case !old.On:
		return nil
	case !s.On:
		return []string{"run without a sandbox"}
	}
	for _, path := range s.Read {
		if !slices.Contains(old.Read, path) && !slices.Contains(old.Write, path) {
			list = append(list, "read "+path)
		}
	}
	for _, path := range s.Write {
		if !slices.Contains(old.Write, path) {
			list = append(list, "write to "+path)
		}
	}
	if old.NoNetwork && !s.NoNetwork {
		list = append(list, "connect to any host and port")
	} else if old.NoNetwork {
		for _, port := range s.Ports {
			if !slices.Contains(old.Ports, port) {
				list = append(list, "connect to port "+strconv.Itoa(port))
			}
		}
	}
	if old.NoUnixSockets() && !s.NoUnixSockets() {
		list = append(list, "connect to Unix sockets")
	}
	if s.BestEffort && !old.BestEffort {
		list = append(list, "start even if the sandbox is incomplete")
	}
	return list
}

// Mode returns the mode as in the configuration: "off" or "on".
func (s *Sandbox) Mode() string {
	if s.On {
		return sandboxOn
	}
	return sandboxOff
}
