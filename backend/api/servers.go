package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// logLines is how much of a server's log its page shows.
const logLines = 500

func (a *API) listServers(context.Context, *web.None) (*web.Answer[web.List[core.ServerStatus]], error) {
	return web.Reply(web.List[core.ServerStatus]{Items: web.NonNil(a.Servers.Statuses())})
}

func (a *API) getServer(_ context.Context, in *web.ServerInput) (*web.Answer[ServerDetail], error) {
	st, ok := a.Servers.Status(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	d := ServerDetail{ServerStatus: st, Log: web.NonNil(a.Logs.Tail(st.ID, logLines))}
	for i := range d.Log {
		d.Log[i].Text = serverlog.Clean(d.Log[i].Text)
	}
	if usage, err := a.Usage(st.ID); err == nil {
		d.Usage = &usage
	}
	return web.Reply(d)
}

type actionInput struct {
	ID     string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Action string `path:"action" enum:"start,stop,restart,enable,disable,connect,disconnect,reconnect"`
}

func (a *API) changeServer(ctx context.Context, in *actionInput) (*web.Answer[core.ServerStatus], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	change := map[string]func(context.Context, string) error{
		"start": a.Servers.Start, "stop": a.Servers.Stop, "restart": a.Servers.Restart,
		"connect": a.Servers.Start, "disconnect": a.Servers.Stop, "reconnect": a.Servers.Restart,
		"enable": a.ConfigEditor.Enable, "disable": a.ConfigEditor.Disable,
	}[in.Action]
	if err := change(ctx, in.ID); err != nil {
		return nil, err
	}
	if in.Action != "stop" && in.Action != "disable" && in.Action != "disconnect" {
		a.Rules.Reset(in.ID) // the user has handled the cause
	}
	st, _ := a.Servers.Status(in.ID)
	return web.Reply(st)
}

// debugServer returns everything known about a server, with its last messages.
func (a *API) debugServer(_ context.Context, in *web.ServerInput) (*web.Answer[supervisor.Debug], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	d, err := a.Debug(in.ID)
	if err != nil {
		return nil, err
	}
	d.Environment, d.Processes, d.Stderr, d.Frames = web.NonNil(d.Environment), web.NonNil(d.Processes), web.NonNil(d.Stderr), web.NonNil(d.Frames)
	for i := range d.Stderr {
		d.Stderr[i] = serverlog.Clean(d.Stderr[i])
	}
	for i := range d.Frames {
		d.Frames[i].Text, d.Frames[i].HTTP = a.Redact(d.Frames[i].Text), a.Redact(d.Frames[i].HTTP)
	}
	d.Configured = a.Redact(d.Configured) // an entry may contain --api-key VALUE in plain text
	return web.Reply(d)
}

// AddInputBody is a new server.
type AddInputBody struct {
	Name  string   `json:"name" minLength:"1" maxLength:"64" doc:"Name in the configuration"`
	Entry web.JSON `json:"entry" doc:"The server's JSON object, as in the configuration file"`
}

type addInput struct{ Body AddInputBody }

// addServer writes a new server into the main configuration file.
func (a *API) addServer(ctx context.Context, in *addInput) (*web.Answer[core.ServerStatus], error) {
	a.Commands.SuppressCommandNotice(core.Slug(in.Body.Name))
	if err := a.ConfigEditor.Add(ctx, in.Body.Name, []byte(in.Body.Entry)); err != nil {
		return nil, err
	}
	id := core.Slug(in.Body.Name)
	st, ok := a.Servers.Status(id)
	if !ok { // the configuration takes effect a moment later
		st = core.ServerStatus{ID: id, Label: in.Body.Name, State: core.StateStopped}
	}
	return web.Reply(st)
}

type parseInput struct {
	Body struct {
		Text string `json:"text" maxLength:"1048576" doc:"Text as READMEs show it: a block of JSON, TOML or YAML, command lines, an install link or a URL"`
	}
}

// ParsedServers are the servers that a text contains.
type ParsedServers struct {
	Servers        []ParsedServer `json:"servers" nullable:"false"`
	UnreadableLink bool           `json:"unreadableLink" doc:"The text is a link of an application, which cannot be read"`
}

// ParsedServer is a server in the format of the configuration.
type ParsedServer struct {
	Name    string   `json:"name"`
	Entry   web.JSON `json:"entry"`
	Notes   []string `json:"notes" nullable:"false" doc:"What is not copied, and why the server is disabled"`
	Refused string   `json:"refused,omitempty" doc:"Why the server cannot be added; its entry is then the one in the text"`
}

// parseServers reads the servers in a text. Nothing is written, and nothing runs.
func (a *API) parseServers(_ context.Context, in *parseInput) (*web.Answer[ParsedServers], error) {
	all, err := clientconf.ReadPasted(in.Body.Text)
	found := ParsedServers{Servers: []ParsedServer{}, UnreadableLink: err != nil && clientconf.IsApplicationLink(in.Body.Text)}
	for _, i := range all {
		one := ParsedServer{Name: i.Name, Entry: web.JSON(i.Entry), Notes: append([]string{}, i.Notes...)}
		if i.SkipReason != "" {
			one.Entry, one.Refused = web.JSON(i.Original()), fmt.Sprintf("cannot add %q: %s", i.Name, i.SkipReason)
		}
		found.Servers = append(found.Servers, one)
	}
	return web.Reply(found)
}

// removeServer removes a server from the file that defines it.
func (a *API) removeServer(ctx context.Context, in *web.ServerInput) (*web.None, error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	return &web.None{}, a.ConfigEditor.Remove(ctx, in.ID)
}

// TestRequest selects a server for a trial: by an entry, or a configured one.
type TestRequest struct {
	Name   string   `json:"name,omitempty" maxLength:"64" doc:"Name in the configuration"`
	Entry  web.JSON `json:"entry,omitempty" doc:"The server's JSON object, as in the configuration file"`
	Server string   `json:"server,omitempty" maxLength:"256" server:"name" doc:"Id or name of a configured server, instead of name and entry"`
}

// TestResult is the result of a trial. Nothing of it is stored.
type TestResult struct {
	OK           bool             `json:"ok"`
	Stage        string           `json:"stage" enum:"configuration,start,connect,done" doc:"Stage at which the test ended"`
	Error        string           `json:"error"`
	Hint         string           `json:"hint"`
	Code         core.Code        `json:"code"`
	Login        core.LoginState  `json:"login" enum:",needed" doc:"needed: the server responds but requires a sign-in, which is possible once it is configured"`
	Problems     []config.Problem `json:"problems" nullable:"false" doc:"Problems of the entry; may contain warnings on success"`
	Transport    core.Transport   `json:"transport"`
	Command      string           `json:"command" doc:"Command line or URL; secrets are redacted"`
	TookNs       int64            `json:"tookNs"`
	Era          core.Era         `json:"era"`
	Version      string           `json:"protocolVersion"`
	ServerInfo   web.JSON         `json:"serverInfo"`
	Instructions string           `json:"instructions"`
	Tools        []Tool           `json:"tools" nullable:"false"`
	Prompts      []TestItem       `json:"prompts" nullable:"false"`
	Resources    []TestItem       `json:"resources" nullable:"false"`
	Templates    []TestItem       `json:"templates" nullable:"false"`
	Warnings     []string         `json:"warnings" nullable:"false"`
	Log          []string         `json:"log" nullable:"false" doc:"Last lines of the server's output"`
}

// TestItem is a prompt, a resource or a resource template of a trial.
type TestItem struct {
	Name        string `json:"name" doc:"Name, or URI of a resource"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Raw         string `json:"raw" doc:"JSON text: the complete entry"`
}

type testInput struct{ Body TestRequest }

func (a *API) registerTrial(r *web.Router) {
	web.Op(r, "POST", "/api/v1/test", "Test a server: start it or connect to it, and list what it offers; nothing is stored", a.testServer)
}

func (a *API) testServer(ctx context.Context, in *testInput) (*web.Answer[TestResult], error) {
	out := newTestResult()
	server, as, err := resolveTrialServer(a.ConfigEditor.Current(), &in.Body, &out)
	if err != nil {
		return nil, err
	}
	if server == nil {
		return web.Reply(out)
	}
	end, err := a.BeginTrial()
	if err != nil {
		return nil, err
	}
	defer end()
	out.Transport = server.Type
	out.setTrial(a.Try(ctx, server, as, nil))
	return web.Reply(out)
}

// TryOnce returns the response of POST /api/v1/test for the configuration c without a daemon. The
// request is the JSON of a TestRequest.
func TryOnce(ctx context.Context, c *config.Config, request []byte, try func(ctx context.Context, c *config.Server, as string, use func(upstream.Connection)) upstream.Trial) (*TestResult, error) {
	var in TestRequest
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Cause: err}
	}
	if in.Server != "" {
		names := make([]core.ServerIdentity, len(c.Servers))
		for i := range c.Servers {
			names[i] = core.ServerIdentity{ID: c.Servers[i].ID, Label: c.Servers[i].Label}
		}
		id, err := core.FindServer(names, in.Server)
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return nil, web.ErrNoSuchServer
		}
		in.Server = id
	}
	out := newTestResult()
	server, as, err := resolveTrialServer(c, &in, &out)
	if err == nil && server != nil {
		out.Transport = server.Type
		out.setTrial(try(ctx, server, as, nil))
	}
	return &out, err
}

func newTestResult() TestResult {
	return TestResult{
		Stage: "configuration", Problems: []config.Problem{}, Tools: []Tool{}, Prompts: []TestItem{}, Resources: []TestItem{},
		Templates: []TestItem{}, Warnings: []string{}, Log: []string{},
	}
}

// resolveTrialServer returns the server to try; nil if the entry is invalid, which out then
// reports. as is the configured server whose sign-in it may use: one with the same URL.
func resolveTrialServer(now *config.Config, in *TestRequest, out *TestResult) (server *config.Server, as string, err error) {
	if in.Server != "" {
		s, ok := now.Server(in.Server)
		if !ok {
			return nil, "", web.ErrNoSuchServer
		}
		return &s, s.ID, nil
	}
	name := in.Name
	if name == "" {
		name = "server"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(in.Entry, &object) != nil || object == nil {
		return nil, "", &core.Error{Code: core.CodeValidation, Message: "the entry is not a JSON object", Fields: []core.FieldError{{Field: "entry", Error: "not a JSON object"}}}
	}
	// A disabled server can be tried, too.
	delete(object, "disabled")
	delete(object, "enabled")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: object}})
	if err != nil {
		return nil, "", err
	}
	parsed, problems := config.Parse("entry", text)
	out.Problems = append(out.Problems, problems...)
	if parsed == nil || len(parsed.Servers) != 1 {
		out.Code, out.Error = core.CodeValidation, "this is not a valid server entry"
		for _, p := range problems {
			if !p.Warning {
				out.Error, out.Hint = p.Message, p.Suggestion
				break
			}
		}
		return nil, "", nil
	}
	server = &parsed.Servers[0]
	if s, ok := now.Server(server.ID); ok && s.Type == server.Type && s.URL == server.URL && reflect.DeepEqual(s.OAuth, server.OAuth) {
		as = s.ID
	}
	return server, as, nil
}

// setTrial copies the result of a trial.
func (out *TestResult) setTrial(t upstream.Trial) {
	out.Stage, out.OK = "done", t.Err == nil
	if t.Err != nil {
		out.Stage, out.Error, out.Hint, out.Code = "start", t.Reason, t.Hint, core.CodeOf(t.Err)
		if t.Reached {
			out.Stage = "connect"
		}
		if errors.Is(t.Err, core.ErrNeedsLogin) {
			out.Login = core.LoginNeeded
		}
	}
	out.Command, out.TookNs, out.Era, out.Version = t.Command, int64(t.Took), t.Era, t.Version
	out.ServerInfo, out.Instructions = web.JSON(t.Catalog.Info), t.Catalog.Instructions
	for _, item := range t.Catalog.Tools {
		out.Tools = append(out.Tools, parseTool(item))
	}
	for list, items := range map[*[]TestItem][]core.Item{&out.Prompts: t.Catalog.Prompts, &out.Resources: t.Catalog.Resources, &out.Templates: t.Catalog.Templates} {
		for _, item := range items {
			tool := parseTool(item)
			*list = append(*list, TestItem{Name: item.Name, Title: tool.Title, Description: tool.Description, Raw: string(item.Raw)})
		}
	}
	out.Warnings = append(append(out.Warnings, t.Catalog.Warnings...), t.Warning...)
	for _, l := range t.Log {
		if text := serverlog.Clean(l.Text); strings.TrimSpace(text) != "" {
			out.Log = append(out.Log, text)
		}
	}
}

// parseTool parses a tool of a list. It is untrusted data: invalid fields stay empty.
func parseTool(item core.Item) Tool {
	var about struct {
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
	}
	_ = json.Unmarshal(item.Raw, &about)
	return Tool{
		Name: item.Name, Tool: item.Name, Title: about.Title, Description: about.Description, InputSchema: string(about.InputSchema),
		OutputSchema: string(about.OutputSchema), Annotations: string(about.Annotations), Raw: string(item.Raw),
	}
}

type toolsInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only the tools of this server, by id or name"`
}

func (a *API) listTools(_ context.Context, in *toolsInput) (*web.Answer[web.List[Tool]], error) {
	list := web.List[Tool]{Items: []Tool{}}
	for _, item := range a.Views.All().Items(core.Tools) {
		if in.Server != "" && item.Server != in.Server {
			continue
		}
		tool := parseTool(core.Item{Name: item.Name, Raw: item.Raw})
		tool.Name, tool.Server = item.Public, item.Server
		list.Items = append(list.Items, tool)
	}
	if _, known := a.Servers.Status(in.Server); in.Server != "" && len(list.Items) == 0 && !known {
		return nil, web.ErrNoSuchServer
	}
	return web.Reply(list)
}

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

func (a *API) registerDocker(r *web.Router) {
	web.Op(r, "GET", "/api/v1/docker", "Containers that a server can run in", a.listContainers)
	web.Op(r, "GET", "/api/v1/docker/containers/{id}", "Programs and processes in a container", a.getContainer)
}

func (a *API) listContainers(ctx context.Context, in *dockerInput) (*web.Answer[DockerView], error) {
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
	for _, f := range list {
		view.Containers = append(view.Containers, a.container(f))
	}
	return web.Reply(view)
}

func (a *API) container(f dockerexec.ContainerSummary) Container {
	return Container{ID: f.ID, Name: f.Name, Image: f.Image, State: f.State, Status: f.Status, CreatedAt: f.Created,
		Project: f.Project, Service: f.Service, Servers: a.serversIn(f), Managed: f.Managed}
}

// serversIn lists the configured servers that name a container.
func (a *API) serversIn(f dockerexec.ContainerSummary) []string {
	ids := []string{}
	for _, s := range a.ConfigEditor.Current().Servers {
		d := s.Docker
		named := d.Container != "" && (d.Container == f.Name || strings.HasPrefix(d.Container, f.ID))
		served := d.Service != "" && d.Service == f.Service && (d.Project == "" || d.Project == f.Project)
		if s.Type == core.Docker && (named || served) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func (a *API) getContainer(ctx context.Context, in *containerInput) (*web.Answer[ContainerDetail], error) {
	found, err := dockerexec.Inspect(ctx, dockerexec.Engine{Host: in.Host, Context: in.Context}, in.ID)
	switch {
	case errors.Is(err, dockerexec.ErrNoContainer):
		return nil, &core.Error{Code: core.CodeNotFound, Message: "there is no such container", Cause: err}
	case err != nil:
		return nil, &core.Error{Code: core.CodeUnavailable, Message: err.Error(), Cause: err, Retriable: true}
	}
	out := ContainerDetail{
		Container: a.container(found.ContainerSummary), User: found.User, Workdir: found.Workdir, Entrypoint: web.NonNil(found.Entrypoint), Command: web.NonNil(found.Command),
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
