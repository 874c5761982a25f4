package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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
	Remedy       core.Remedy      `json:"remedy,omitzero"`
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

func (f *Feature) testServer(ctx context.Context, in *testInput) (*web.Answer[TestResult], error) {
	out := newTestResult()
	server, as, err := resolveTrialServer(f.Config.Current(), &in.Body, &out)
	if err != nil {
		return nil, err
	}
	if server == nil {
		return web.Reply(out)
	}
	end, err := f.Dialer.BeginTrial()
	if err != nil {
		return nil, err
	}
	defer end()
	out.Transport = server.Type
	out.setTrial(f.Dialer.Try(ctx, server, as, nil))
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

func (out *TestResult) setTrial(t upstream.Trial) {
	out.Stage, out.OK = "done", t.Err == nil
	if t.Err != nil {
		out.Stage, out.Error, out.Hint, out.Remedy, out.Code = "start", t.Reason, t.Hint, t.Remedy, core.CodeOf(t.Err)
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
