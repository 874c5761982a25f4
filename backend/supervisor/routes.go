package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the servers, as the API shows them.
type Feature struct {
	Servers Servers
	Config  ConfigEditor
	Views   *registry.Registry
	Logs    interface {
		Tail(server string, n int) []serverlog.Line // the last n lines; 0 returns all in memory
	}
	Dialer Dialer
	Debug  func(id string) (Debug, error)
	Reset  func(server string)      // lets the policy forget the failures of a server
	Redact func(text string) string // redacts text that was not recorded
}

// Servers controls the servers; *Supervisor implements it.
type Servers interface {
	Statuses() []core.ServerStatus
	Status(id string) (core.ServerStatus, bool)
	Start(ctx context.Context, id string) error
	Stop(ctx context.Context, id string) error
	Restart(ctx context.Context, id string) error
	PendingCommands() []PendingCommand
	Approve(ctx context.Context, server, key string) error
	SuppressCommandNotice(server string)
}

// Dialer starts servers for trials; *upstream.Dialer implements it.
type Dialer interface {
	Try(ctx context.Context, c *config.Server, as string, use func(upstream.Connection)) upstream.Trial
	BeginTrial() (end func(), err error)
	Usage(id string) (process.Usage, error)
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/servers", "All servers, in configuration order", f.listServers)
	web.Op(r, "GET", "/api/v1/servers/{id}", "A server with the end of its log and its resource usage", f.getServer)
	web.Op(r, "POST", "/api/v1/servers/{id}/{action}", "Start, stop, restart, enable or disable a server; connect, disconnect and reconnect are aliases of the first three", f.changeServer)
	web.Op(r, "POST", "/api/v1/servers", "Add a server to the main configuration file", f.addServer)
	web.Op(r, "POST", "/api/v1/parse-servers", "Find the servers in a pasted text, such as a block of a README or a command line; nothing is written", f.parseServers)
	web.Op(r, "DELETE", "/api/v1/servers/{id}", "Remove a server from the configuration", f.removeServer)
	web.Op(r, "GET", "/api/v1/servers/{id}/debug", "Debug information for a server, with its latest messages; recognized secrets are redacted", f.debugServer)
	web.Op(r, "GET", "/api/v1/servers/{id}/log", "Log of a server: its stderr output and lifecycle events", f.serverLog)
	web.Op(r, "GET", "/api/v1/server-usage", "Resource usage of the servers", f.serverUsage)
	web.Op(r, "GET", "/api/v1/tools", "All tools with their public names", f.listTools)
	web.Op(r, "GET", "/api/v1/servers/{id}/tools", "All tools of a server, including hidden ones, with their settings", f.listToolSettings)
	web.Op(r, "POST", "/api/v1/servers/{id}/tools", "Change tool settings in the configuration, in a single edit", f.setTools)
	web.Op(r, "POST", "/api/v1/test", "Test a server: start it or connect to it, and list what it offers; nothing is stored", f.testServer)
	web.Op(r, "GET", "/api/v1/docker", "Containers that a server can run in", f.listContainers)
	web.Op(r, "GET", "/api/v1/docker/containers/{id}", "Programs and processes in a container", f.getContainer)
}

// logLines is how much of a server's log its page shows.
const logLines = 500

func (f *Feature) listServers(context.Context, *web.None) (*web.Answer[web.List[core.ServerStatus]], error) {
	return web.Reply(web.List[core.ServerStatus]{Items: web.NonNil(f.Servers.Statuses())})
}

func (f *Feature) getServer(_ context.Context, in *web.ServerInput) (*web.Answer[ServerDetail], error) {
	st, ok := f.Servers.Status(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	d := ServerDetail{ServerStatus: st, Log: web.NonNil(f.Logs.Tail(st.ID, logLines))}
	for i := range d.Log {
		d.Log[i].Text = serverlog.Clean(d.Log[i].Text)
	}
	if usage, err := f.Dialer.Usage(st.ID); err == nil {
		d.Usage = &usage
	}
	return web.Reply(d)
}

type actionInput struct {
	ID     string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Action string `path:"action" enum:"start,stop,restart,enable,disable,connect,disconnect,reconnect"`
}

func (f *Feature) changeServer(ctx context.Context, in *actionInput) (*web.Answer[core.ServerStatus], error) {
	if _, ok := f.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	change := map[string]func(context.Context, string) error{
		"start": f.Servers.Start, "stop": f.Servers.Stop, "restart": f.Servers.Restart,
		"connect": f.Servers.Start, "disconnect": f.Servers.Stop, "reconnect": f.Servers.Restart,
		"enable": f.Config.Enable, "disable": f.Config.Disable,
	}[in.Action]
	if err := change(ctx, in.ID); err != nil {
		return nil, err
	}
	if in.Action != "stop" && in.Action != "disable" && in.Action != "disconnect" {
		f.Reset(in.ID) // the user has handled the cause
	}
	st, _ := f.Servers.Status(in.ID)
	return web.Reply(st)
}

// debugServer returns everything known about a server, with its last messages.
func (f *Feature) debugServer(_ context.Context, in *web.ServerInput) (*web.Answer[Debug], error) {
	if _, ok := f.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	d, err := f.Debug(in.ID)
	if err != nil {
		return nil, err
	}
	d.Environment, d.Processes, d.Stderr, d.Frames = web.NonNil(d.Environment), web.NonNil(d.Processes), web.NonNil(d.Stderr), web.NonNil(d.Frames)
	for i := range d.Stderr {
		d.Stderr[i] = serverlog.Clean(d.Stderr[i])
	}
	for i := range d.Frames {
		d.Frames[i].Text, d.Frames[i].HTTP = f.Redact(d.Frames[i].Text), f.Redact(d.Frames[i].HTTP)
	}
	d.Configured = f.Redact(d.Configured) // an entry may contain --api-key VALUE in plain text
	return web.Reply(d)
}

// AddInputBody is a new server.
type AddInputBody struct {
	Name  string   `json:"name" minLength:"1" maxLength:"64" doc:"Name in the configuration"`
	Entry web.JSON `json:"entry" doc:"The server's JSON object, as in the configuration file"`
}

type addInput struct{ Body AddInputBody }

// addServer writes a new server into the main configuration file.
func (f *Feature) addServer(ctx context.Context, in *addInput) (*web.Answer[core.ServerStatus], error) {
	f.Servers.SuppressCommandNotice(core.Slug(in.Body.Name))
	if err := f.Config.Add(ctx, in.Body.Name, []byte(in.Body.Entry)); err != nil {
		return nil, err
	}
	id := core.Slug(in.Body.Name)
	st, ok := f.Servers.Status(id)
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
func (f *Feature) parseServers(_ context.Context, in *parseInput) (*web.Answer[ParsedServers], error) {
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

func (f *Feature) removeServer(ctx context.Context, in *web.ServerInput) (*web.None, error) {
	if _, ok := f.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	return &web.None{}, f.Config.Remove(ctx, in.ID)
}

type toolsInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only the tools of this server, by id or name"`
}

func (f *Feature) listTools(_ context.Context, in *toolsInput) (*web.Answer[web.List[Tool]], error) {
	list := web.List[Tool]{Items: []Tool{}}
	for _, item := range f.Views.All().Items(core.Tools) {
		if in.Server != "" && item.Server != in.Server {
			continue
		}
		tool := parseTool(core.Item{Name: item.Name, Raw: item.Raw})
		tool.Name, tool.Server = item.Public, item.Server
		list.Items = append(list.Items, tool)
	}
	if _, known := f.Servers.Status(in.Server); in.Server != "" && len(list.Items) == 0 && !known {
		return nil, web.ErrNoSuchServer
	}
	return web.Reply(list)
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

// ServerDetail is one server with the end of its log.
type ServerDetail struct {
	core.ServerStatus
	Log   []serverlog.Line `json:"log" nullable:"false"`
	Usage *process.Usage   `json:"usage,omitempty"`
}

// Tool is one tool under its public name.
type Tool struct {
	Name         string `json:"name" doc:"Public name"`
	Server       string `json:"server"`
	Tool         string `json:"tool" doc:"The server's own name"`
	Title        string `json:"title"`
	Description  string `json:"description"`
	InputSchema  string `json:"inputSchema" doc:"JSON text"`
	OutputSchema string `json:"outputSchema" doc:"JSON text, or empty"`
	Annotations  string `json:"annotations" doc:"JSON text, or empty"`
	Raw          string `json:"raw" doc:"JSON text: the complete entry as clients see it"`
}

type logInput struct {
	ID    string    `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Level string    `query:"level" enum:"debug,info,warn,error,stderr,lifecycle" doc:"Minimum level (lines of stderr count as info); stderr: only output of the server; lifecycle: only its events"`
	After time.Time `query:"after" doc:"Only lines after this time"`
	Limit int       `query:"limit" minimum:"1" maximum:"10000" default:"500" doc:"Maximum number of lines; the newest are returned"`
}

// serverLog returns the lines of one server, oldest first, escaped for display.
func (f *Feature) serverLog(_ context.Context, in *logInput) (*web.Answer[web.List[serverlog.Line]], error) {
	if _, ok := f.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	wants, ok := serverlog.Filter(in.Level)
	if !ok {
		return nil, core.Errorf(core.CodeValidation, "level must be one of %s", serverlog.FilterChoices)
	}
	list := web.List[serverlog.Line]{Items: []serverlog.Line{}}
	all := f.Logs.Tail(in.ID, 0)
	begin := len(all)
	for left := in.Limit; begin > 0 && left > 0 && all[begin-1].At.After(in.After); begin-- {
		if wants(all[begin-1]) {
			left--
		}
	}
	for _, line := range all[begin:] {
		if wants(line) {
			line.Text = serverlog.Clean(line.Text)
			list.Items = append(list.Items, line)
		}
	}
	return web.Reply(list)
}
