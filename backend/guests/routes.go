package guests

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Guest is a client in a container, in a virtual machine or on another host.
type Guest struct {
	Name      string      `json:"name" doc:"Name of its access token, and in the history"`
	Profile   string      `json:"profile" doc:"The only profile that it can use; empty: all servers"`
	Approval  string      `json:"approval" enum:"never,ask,deny,destructive" doc:"Whether its calls wait for approval, at least"`
	Folder    string      `json:"folder" doc:"Folder with its socket and its access token, to be mounted in the sandbox"`
	UID       int         `json:"uid" doc:"Id of a user who can connect besides this one and root; 0: none"`
	CreatedAt time.Time   `json:"createdAt"`
	Problem   string      `json:"problem" doc:"Why its socket is not open; empty if it is"`
	Setup     []SetupStep `json:"setup" nullable:"false" doc:"What to write where, without the access token"`
}

// SetupStep is a part of the setup of a guest.
type SetupStep struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type guestInput struct {
	Body struct {
		Name     string `json:"name" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" patternDescription:"1 to 32 lower-case letters, digits and '-'"`
		Profile  string `json:"profile,omitempty" maxLength:"32" doc:"The only profile that it can use; empty: all servers"`
		Approval string `json:"approval,omitempty" enum:"never,ask,destructive" doc:"Whether its calls wait for approval, at least; ask if missing"`
		UID      int    `json:"uid,omitempty" minimum:"0" doc:"Id, on this machine, of another user who can connect: for programs that run in a container as neither root nor you"`
	}
}

type guestNameInput struct {
	Name string `path:"name" maxLength:"64"`
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/guests", "Guests: clients in sandboxes, each with a socket of its own", f.list)
	web.Op(r, "GET", "/api/v1/guests/{name}", "A guest", f.get)
	web.Op(r, "POST", "/api/v1/guests", "Add a guest", f.create)
	web.Op(r, "DELETE", "/api/v1/guests/{name}", "Remove a guest, and end its connections, sessions and calls", f.delete)
}

func (f *Feature) list(context.Context, *web.None) (*web.Answer[web.List[Guest]], error) {
	out := web.List[Guest]{Items: []Guest{}}
	list, err := f.tokens()
	for _, t := range list {
		out.Items = append(out.Items, f.guest(t))
	}
	if err != nil {
		return nil, err
	}
	return web.Reply(out)
}

func (f *Feature) get(_ context.Context, in *guestNameInput) (*web.Answer[Guest], error) {
	t, ok, err := f.Tokens.Get(in.Name)
	if err == nil && (!ok || !t.Guest) {
		err = core.Errorf(core.CodeNotFound, "there is no guest named %q", in.Name)
	}
	if err != nil {
		return nil, err
	}
	return web.Reply(f.guest(t))
}

func (f *Feature) create(ctx context.Context, in *guestInput) (*web.Answer[Guest], error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	if runtime.GOOS == "windows" {
		program, _ := os.Executable()
		return nil, noSockets(in.Body.Name, program)
	}
	t, err := f.add(context.WithoutCancel(ctx), in.Body.Name, in.Body.Profile, cmp.Or(in.Body.Approval, config.ApprovalAsk), in.Body.UID)
	if err != nil {
		return nil, err
	}
	return web.Reply(f.guest(t))
}

func (f *Feature) delete(ctx context.Context, in *guestNameInput) (*web.None, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	return &web.None{}, f.remove(context.WithoutCancel(ctx), in.Name)
}

// guest describes a guest.
func (f *Feature) guest(t loopback.Token) Guest {
	c := f.Config.Current()
	folder := filepath.Join(f.Folder, t.Name)
	program, _ := os.Executable() // otherwise the steps name the program
	g := Guest{
		Name: t.Name, Profile: c.Clients[t.Name].Profile, Approval: cmp.Or(c.Policy.Clients[t.Name].Approval, config.ApprovalNever),
		Folder: folder, UID: t.UID, CreatedAt: t.CreatedAt, Setup: setup(t.Name, folder, cmp.Or(program, "/usr/bin/drawbridge")),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if socket := f.open[t.Name]; socket == nil {
		g.Problem = "its socket is not open"
	} else if socket.err != nil {
		g.Problem = socket.err.Error()
	}
	return g
}
