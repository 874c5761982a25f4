package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// DockerView is what a picker of containers shows.
type DockerView struct {
	Engine     DockerEngine               `json:"engine"`
	Contexts   []dockerexec.DockerContext `json:"contexts" nullable:"false"`
	Containers []Container                `json:"containers" nullable:"false"`
}

// DockerEngine is the Engine that was queried.
type DockerEngine struct {
	State   string `json:"state" enum:"ok,absent,refused" doc:"absent: Docker is not responding; refused: the user has no permission"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Address string `json:"address"`
	Context string `json:"context"`
	Version string `json:"version"`
}

// Container is one container of an Engine.
type Container struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Image     string    `json:"image"`
	State     string    `json:"state" doc:"State reported by Docker: running, exited, created, paused ..."`
	Status    string    `json:"status" doc:"Human-readable status, such as Up 3 minutes"`
	CreatedAt time.Time `json:"createdAt"`
	Project   string    `json:"project" doc:"Docker Compose project, or empty"`
	Service   string    `json:"service" doc:"Docker Compose service, or empty"`
	Servers   []string  `json:"servers" nullable:"false" doc:"Configured servers that refer to it"`
	Managed   bool      `json:"managed" doc:"Whether Drawbridge created it for a server"`
}

// ContainerDetail is what there is inside a container.
type ContainerDetail struct {
	Container
	User        string                        `json:"user"`
	Workdir     string                        `json:"workdir"`
	Entrypoint  []string                      `json:"entrypoint" nullable:"false"`
	Command     []string                      `json:"command" nullable:"false"`
	Environment []string                      `json:"environment" nullable:"false" doc:"Names of the environment variables"`
	Shell       bool                          `json:"shell" doc:"Whether it has a shell; without one, a server in it cannot be stopped reliably"`
	Init        bool                          `json:"init"`
	Programs    []dockerexec.ContainerProgram `json:"programs" nullable:"false" doc:"Interpreters and package runners, and programs with mcp in their name"`
	Processes   []dockerexec.ContainerProcess `json:"processes" nullable:"false"`
	Suggestions []Suggestion                  `json:"suggestions" nullable:"false"`
}

// Suggestion is a server that could be added, to be looked at and tested by the user.
type Suggestion struct {
	Title string `json:"title"`
	Entry string `json:"entry" doc:"JSON text: a server's object, as in the configuration file"`
}

type dockerInput struct {
	Host    string `query:"host" maxLength:"1024" doc:"Address of the Docker Engine"`
	Context string `query:"context" maxLength:"256" doc:"Name of a Docker context"`
	All     bool   `query:"all" doc:"Include stopped containers"`
}

type containerInput struct {
	ID      string `path:"id" maxLength:"256" doc:"Container id or name"`
	Host    string `query:"host" maxLength:"1024"`
	Context string `query:"context" maxLength:"256"`
}

func (f *Feature) listContainers(ctx context.Context, in *dockerInput) (*web.Answer[DockerView], error) {
	view := DockerView{Contexts: dockerexec.Contexts(), Containers: []Container{}}
	list, at, version, err := dockerexec.List(ctx, dockerexec.Engine{Host: in.Host, Context: in.Context}, in.All)
	view.Engine = DockerEngine{State: "ok", Address: at.Host, Context: at.Context, Version: version}
	if view.Engine.Context == "" && in.Host == "" {
		view.Engine.Context = "default"
	}
	switch {
	case errors.Is(err, dockerexec.ErrPermission):
		view.Engine.State, view.Engine.Message = "refused", err.Error()
		view.Engine.Hint = "Add this user to the docker group, log in again and restart Drawbridge."
	case err != nil && ctx.Err() == nil:
		view.Engine.State, view.Engine.Message = "absent", err.Error()
		view.Engine.Hint = "Install and start Docker, or select another Engine."
	case err != nil:
		return nil, err
	}
	for _, found := range list {
		view.Containers = append(view.Containers, f.container(found))
	}
	return web.Reply(view)
}

func (f *Feature) container(found dockerexec.ContainerSummary) Container {
	return Container{ID: found.ID, Name: found.Name, Image: found.Image, State: found.State, Status: found.Status, CreatedAt: found.Created,
		Project: found.Project, Service: found.Service, Servers: f.serversIn(found), Managed: found.Managed}
}

// serversIn lists the configured servers that name a container.
func (f *Feature) serversIn(found dockerexec.ContainerSummary) []string {
	ids := []string{}
	for _, s := range f.Config.Current().Servers {
		d := s.Docker
		named := d.Container != "" && (d.Container == found.Name || strings.HasPrefix(d.Container, found.ID))
		served := d.Service != "" && d.Service == found.Service && (d.Project == "" || d.Project == found.Project)
		if s.Type == core.Docker && (named || served) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func (f *Feature) getContainer(ctx context.Context, in *containerInput) (*web.Answer[ContainerDetail], error) {
	found, err := dockerexec.Inspect(ctx, dockerexec.Engine{Host: in.Host, Context: in.Context}, in.ID)
	switch {
	case errors.Is(err, dockerexec.ErrNoContainer):
		return nil, &core.Error{Code: core.CodeNotFound, Message: "there is no such container", Cause: err}
	case err != nil:
		return nil, &core.Error{Code: core.CodeUnavailable, Message: err.Error(), Cause: err, Retriable: true}
	}
	out := ContainerDetail{
		Container: f.container(found.ContainerSummary), User: found.User, Workdir: found.Workdir, Entrypoint: web.NonNil(found.Entrypoint), Command: web.NonNil(found.Command),
		Environment: web.NonNil(found.Environment), Shell: found.Shell, Init: found.Init,
		Programs: web.NonNil(found.Programs), Processes: web.NonNil(found.Processes), Suggestions: suggestServers(found, in),
	}
	return web.Reply(out)
}

// maxSuggestions is the maximum number of suggested servers.
const maxSuggestions = 10

// suggestServers makes a server of each program that has mcp in its name. The name of a compose
// service outlives its container, so it is preferred.
func suggestServers(found *dockerexec.ContainerDetails, in *containerInput) []Suggestion {
	where := map[string]string{}
	switch {
	case found.Service != "":
		where["service"], where["project"] = found.Service, found.Project
	default:
		where["container"] = found.Name
	}
	if in.Host != "" {
		where["host"] = in.Host
	} else if in.Context != "" {
		where["context"] = in.Context
	}
	list := []Suggestion{}
	for _, p := range found.Programs {
		if !strings.Contains(p.Name, "mcp") || len(list) == maxSuggestions {
			continue
		}
		entry, err := json.Marshal(map[string]any{"type": "docker", "command": p.Path, "docker": where})
		if err == nil && !slices.ContainsFunc(list, func(s Suggestion) bool { return s.Entry == string(entry) }) {
			list = append(list, Suggestion{Title: path.Base(p.Path) + " in " + config.Docker{Container: found.Name}.Where(), Entry: string(entry)})
		}
	}
	return list
}
