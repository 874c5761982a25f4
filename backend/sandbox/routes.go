package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the sandbox of servers and where they connect to, as the API shows them.
type Feature struct {
	Config interface {
		Current() *config.Config
		SetSandbox(ctx context.Context, id string, value json.RawMessage) error
	}
	Servers interface {
		Status(id string) (core.ServerStatus, bool)
	}
	// Rules returns the rules with which a server was last started.
	Rules func(server string) (Rules, bool)
	// Refusals returns what the sandbox of a server refused since that start.
	Refusals func(server string) (list []Refusal, more int)
	Sampler  *DestinationSampler
}

// SandboxStatus is the sandbox of a server and what this system can enforce of it.
type SandboxStatus struct {
	Server      string       `json:"server"`
	Mode        string       `json:"mode" enum:"off,on"`
	Applies     bool         `json:"applies" doc:"Whether a sandbox can confine a server of this type"`
	Reason      string       `json:"reason" doc:"Why not, or why it is incomplete; empty if neither"`
	Enough      bool         `json:"enough" doc:"Whether the system can enforce enough for the server to start with sandbox on"`
	Protections []Protection `json:"protections" nullable:"false" doc:"What this system can and cannot confine"`
	Read        []string     `json:"read" nullable:"false" doc:"Additional paths, as configured"`
	Write       []string     `json:"write" nullable:"false"`
	Network     string       `json:"network" enum:"any,none"`
	Ports       []int        `json:"ports" nullable:"false"`
	UnixSockets string       `json:"unixSockets" enum:"any,none" doc:"Whether it may connect to Unix sockets; by default, as network"`
	BestEffort  bool         `json:"bestEffort"`
	Access      *Access      `json:"access,omitempty" doc:"What the rules of its newest start allow; absent if it was not started in a sandbox"`
	Refused     []Refusal    `json:"refused" nullable:"false" doc:"What the sandbox denied since the server was started, according to the server's stderr output"`
	RefusedMore int          `json:"refusedMore" doc:"How many other paths it denied, up to a limit"`
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/servers/{id}/sandbox", "The sandbox of a server: its mode, and the restrictions that this system can enforce", f.getSandbox)
	web.Op(r, "POST", "/api/v1/servers/{id}/sandbox", "Change the sandbox of a server in the configuration", f.changeSandbox)
	web.Op(r, "GET", "/api/v1/servers/{id}/destinations", "Hosts and ports that the processes of a server connect to", f.destinations)
}

func (f *Feature) getSandbox(_ context.Context, in *web.ServerInput) (*web.Answer[SandboxStatus], error) {
	st, err := f.sandboxOf(in.ID)
	if err != nil {
		return nil, err
	}
	return web.Reply(st)
}

func (f *Feature) sandboxOf(id string) (SandboxStatus, error) {
	s, ok := f.Config.Current().Server(id)
	if !ok {
		return SandboxStatus{}, web.ErrNoSuchServer
	}
	c := s.Sandbox
	st := SandboxStatus{
		Server: s.ID, Mode: c.Mode(), Applies: s.Type == core.Stdio || s.Type == core.Docker && s.Docker.Image != "", Protections: Protections(),
		Read: web.NonNil(c.Read), Write: web.NonNil(c.Write), Network: "any", Ports: web.NonNil(c.Ports), BestEffort: c.BestEffort, Refused: []Refusal{},
	}
	if c.NoNetwork {
		st.Network = "none"
	}
	if st.UnixSockets = "any"; c.NoUnixSockets() {
		st.UnixSockets = "none"
	}
	if !st.Applies {
		st.Reason = "A sandbox confines stdio servers and containers that Drawbridge creates, not servers of type " + string(s.Type) + "."
		if s.Type == core.Docker {
			st.Reason = "A sandbox cannot confine an existing container."
		}
		return st, nil
	}
	if s.Type == core.Docker {
		st.Enough, st.Protections, st.UnixSockets = true, ContainerProtections(), "none"
		return st, nil
	}
	missing, enough := Unsupported(Rules{NoNetwork: c.NoNetwork, Ports: c.Ports, NoUnixSockets: c.NoUnixSockets()})
	if st.Enough = enough; len(missing) > 0 {
		st.Reason = "This system cannot " + joinNor(missing) + "."
	}
	if c.On {
		home, err := os.UserHomeDir()
		if err != nil {
			return st, err
		}
		rules, _ := f.Rules(s.ID) // if it was not started, at least what they protect
		list, more := f.Refusals(s.ID)
		st.RefusedMore = more
		configured := Rules{Read: c.Read, Write: c.Write} // perhaps since the last start
		for _, one := range list {
			one = one.WithAllow(rules, home)
			if allowed := one.Unreadable && configured.MayRead(one.Allow) || configured.MayWrite(one.Allow); one.Allow == "" || !allowed {
				st.Refused = append(st.Refused, one)
			}
		}
	}
	access, err := f.sandboxAccess(&s)
	st.Access = access
	return st, err
}

// sandboxAccess returns what the sandbox allows to a server that was started in one, or nil.
func (f *Feature) sandboxAccess(s *config.Server) (*Access, error) {
	if !s.Sandbox.On || !Available() {
		return nil, nil
	}
	rules, ok := f.Rules(s.ID)
	if !ok {
		return nil, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	access := rules.Access(home, slices.Concat(s.Args, []string{s.Cwd}, s.Sandbox.Write))
	return &access, nil
}

// checkAllowed returns an error if only an edit of the configuration may allow path: a server can
// report any path, and what it reports ends up on a button.
func (f *Feature) checkAllowed(server, path string, write bool) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = filepath.Join(home, rest)
	}
	rules, _ := f.Rules(server)
	why := rules.WhyNotOffered(home, path, write)
	if why == "" {
		return nil
	}
	key := "sandbox.read"
	if write {
		key = "sandbox.write"
	}
	return &core.Error{Code: core.CodeValidation, Message: path + " " + why, Hint: "Allow a more specific path. If the server needs access to exactly this path, add it to " + key + " in the configuration.", Remedy: core.EditConfig("sandbox")}
}

func joinNor(list []string) string {
	text := ""
	for i, one := range list {
		if i > 0 {
			text += ", nor "
		}
		text += one
	}
	return text
}

type changeSandboxInput struct {
	ID   string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Body struct {
		Mode string `json:"mode" enum:"off,on,read,write" doc:"read and write allow a path, and leave the mode as it is"`
		Path string `json:"path,omitempty" maxLength:"4096" doc:"read, write: an absolute path, or one that starts with ~/"`
	}
}

func (f *Feature) changeSandbox(ctx context.Context, in *changeSandboxInput) (*web.Answer[SandboxStatus], error) {
	st, err := f.sandboxOf(in.ID)
	if err != nil {
		return nil, err
	}
	if !st.Applies && in.Body.Mode != "off" {
		return nil, &core.Error{Code: core.CodeValidation, Message: st.Reason}
	}
	value, _ := json.Marshal(in.Body.Mode)
	switch in.Body.Mode {
	case "read", "write":
		if in.Body.Path == "" {
			return nil, core.Errorf(core.CodeValidation, "the path is empty")
		}
		if err := f.checkAllowed(st.Server, in.Body.Path, in.Body.Mode == "write"); err != nil {
			return nil, err
		}
		s, _ := f.Config.Current().Server(st.Server)
		entry := sandboxEntry{Read: st.Read, Write: st.Write, Network: noneOrDefault(st.Network == "none"), Ports: st.Ports, UnixSockets: s.Sandbox.UnixSockets, BestEffort: st.BestEffort}
		if st.Mode != "on" {
			entry.Mode = st.Mode
		}
		if in.Body.Mode == "read" {
			entry.Read = union(entry.Read, []string{in.Body.Path})
		} else {
			entry.Write = union(entry.Write, []string{in.Body.Path})
		}
		value, _ = json.Marshal(entry)
	}
	if err := f.Config.SetSandbox(ctx, st.Server, value); err != nil {
		return nil, err
	}
	if st, err = f.sandboxOf(in.ID); err != nil {
		return nil, err
	}
	return web.Reply(st)
}

// Destinations is where the processes of a server connect to.
type Destinations struct {
	Available bool                `json:"available" doc:"Whether connections of this server can be observed"`
	Reason    string              `json:"reason" doc:"Why not, in one sentence"`
	Items     []store.Destination `json:"items" nullable:"false" doc:"Newest first"`
}

func (f *Feature) destinations(ctx context.Context, in *web.ServerInput) (*web.Answer[Destinations], error) {
	if _, ok := f.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	d := Destinations{Items: []store.Destination{}}
	d.Available, d.Reason = f.Sampler.Available(in.ID)
	list, err := f.Sampler.Destinations(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	d.Items = web.NonNil(list)
	return web.Reply(d)
}
