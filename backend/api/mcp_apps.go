package api

import (
	"context"
	_ "embed" // for appFrame
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/danielgtaylor/huma/v2"
)

// An MCP App is an HTML page of a server (a ui:// resource) that shows the results of a tool. The
// web UI shows it in a frame without an origin of its own and without a network; see appFrame.

// maxAppHTML is the size of the largest app that the page shows, in bytes.
const maxAppHTML = 4 << 20

// appFrame is the document of the frame.
//
//go:embed app-frame.html
var appFrame []byte

// appFramePolicy is what an app may do: run its inline scripts. It has no origin, cannot load or
// connect to anything, and cannot be framed by other sites.
const appFramePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
	"font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

func (a *API) serveAppFrame(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	noStore(h)
	h.Set("Content-Type", types[".html"])
	h.Set("Content-Security-Policy", appFramePolicy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Permissions-Policy", permissionsPolicy)
	_, _ = w.Write(appFrame)
}

func (a *API) registerApps(doc huma.API) {
	op(a, doc, "POST", "/api/v1/calls/{id}/app", "Read the MCP App of a recorded call from its server", a.openApp)
	op(a, doc, "POST", "/api/v1/calls/{id}/app/call", "Call a tool for the MCP App of a recorded call; approval rules apply as for a client", a.callForApp)
}

// App is the HTML of an MCP App.
type App struct {
	URI  string `json:"uri"`
	HTML string `json:"html"`
}

// AppCallRequest is a call of a tool by an MCP App.
type AppCallRequest struct {
	Tool      string `json:"tool" minLength:"1" maxLength:"512" doc:"The server's own name for the tool"`
	Arguments JSON   `json:"arguments,omitempty" doc:"JSON object, passed on unchanged"`
}

// AppCallResult is what an MCP App receives for its call: a result or a JSON-RPC error.
type AppCallResult struct {
	CallID string `json:"callId"`
	Result JSON   `json:"result,omitempty" doc:"Result of the tool"`
	Error  JSON   `json:"error,omitempty" doc:"JSON-RPC error, if there is no result"`
}

// appOf returns the URI of the app of a recorded call: that of its result, or that of its tool. It
// returns "" if the call has no app.
func (a *API) appOf(r *store.Record) string {
	if r.Method != "tools/call" || r.FromServer || len(r.Result) == 0 {
		return ""
	}
	if uri := registry.AppURI(r.Result); uri != "" {
		return uri
	}
	if tool, ok := a.ownTool(r.Server, r.Name); ok {
		return registry.AppURI(tool.Raw)
	}
	return ""
}

func (a *API) ownTool(server, name string) (registry.Target, bool) {
	view, ok := a.Views.Server(server)
	if !ok {
		return registry.Target{}, false
	}
	return view.LookupOwnName(core.Tools, name)
}

// appCall returns the recorded call with an id, and the URI of its app.
func (a *API) appCall(ctx context.Context, id string) (*store.Record, string, error) {
	n := parseID(id)
	r, err := a.History.Call(ctx, n)
	if err != nil {
		return nil, "", err
	}
	uri := a.appOf(r)
	if uri == "" {
		return nil, "", core.Errorf(core.CodeNotFound, "the call has no app: neither its result nor its tool refers to one")
	}
	return r, uri, nil
}

type appInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
	By string `header:"X-Drawbridge-Client" hidden:"true"` // set by loopback.RequireAdmin
}

func (a *API) openApp(ctx context.Context, in *appInput) (*answer[App], error) {
	r, uri, err := a.appCall(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	quoted, _ := json.Marshal(uri)
	said, err := a.Calls.Call(ctx, &core.Call{
		Client: a.clientFor(in.By), ByUser: true, Era: core.Legacy, Server: r.Server, Account: r.Account, Method: "resources/read", Name: uri, PublicName: uri,
		Params: append(append([]byte(`{"uri":`), quoted...), '}'),
	}, nil)
	if err != nil {
		return nil, err
	}
	if len(said.Error) > 0 {
		return nil, core.Errorf(core.CodeDegraded, "the server did not return the app %.200q: %s", uri, parseToolResult(said, nil).Error)
	}
	html, err := appHTML(uri, said.Result)
	if err != nil {
		return nil, err
	}
	return reply(App{uri, html})
}

// appHTML returns the HTML in a result of resources/read.
func appHTML(uri string, result []byte) (string, error) {
	var read struct {
		Contents []struct {
			MIMEType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"contents"`
	}
	if json.Unmarshal(result, &read) != nil || len(read.Contents) == 0 {
		return "", core.Errorf(core.CodeDegraded, "the server returned no content for the app %.200q", uri)
	}
	c := read.Contents[0]
	if kind, _, err := mime.ParseMediaType(c.MIMEType); err != nil || kind != "text/html" {
		return "", core.Errorf(core.CodeDegraded, "the app %.200q is not HTML: its type is %s", uri, nameOrUnknown(c.MIMEType))
	}
	html := c.Text
	if c.Blob != "" {
		raw, err := base64.StdEncoding.DecodeString(c.Blob)
		if err != nil {
			return "", core.Errorf(core.CodeDegraded, "the app %.200q is not valid base64", uri)
		}
		html = string(raw)
	}
	switch {
	case len(html) > maxAppHTML:
		return "", core.Errorf(core.CodeDegraded, "the app %.200q is %d bytes long; the limit is %d bytes", uri, len(html), maxAppHTML)
	case strings.TrimSpace(html) == "":
		return "", core.Errorf(core.CodeDegraded, "the app %.200q is empty", uri)
	case !utf8.ValidString(html):
		return "", core.Errorf(core.CodeDegraded, "the app %.200q is not valid UTF-8", uri)
	}
	return html, nil
}

type appCallInput struct {
	ID   string `path:"id" pattern:"^[0-9]{1,18}$"`
	Body AppCallRequest
}

// callForApp calls a tool of the server that the app comes from, with the account of the recorded
// call. The user did not write the arguments, so the call needs the same approvals as that of a
// client.
func (a *API) callForApp(ctx context.Context, in *appCallInput) (*answer[AppCallResult], error) {
	r, _, err := a.appCall(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	args, err := argumentsOf(in.Body.Arguments)
	if err != nil {
		return nil, err
	}
	tool, ok := a.ownTool(r.Server, in.Body.Tool)
	if ok && tool.Raw != nil && !registry.AppMayCall(tool.Raw) {
		return nil, core.Errorf(core.CodeRejected, "cannot call tool %q from an app: its server makes it visible to models only", in.Body.Tool)
	}
	call := &core.Call{
		Client: core.Client{Name: "drawbridge-app", Version: a.Version}, Era: core.Legacy, Server: r.Server, Account: r.Account, Method: "tools/call",
		Name: in.Body.Tool, PublicName: in.Body.Tool, Workspace: r.Workspace,
	}
	call.Params, call.Arguments, call.ProgressToken = callParams(in.Body.Tool, args)
	said, err := a.Calls.Call(ctx, call, nil)
	result := AppCallResult{CallID: strconv.FormatInt(call.ID, 10), Result: JSON(said.Result), Error: JSON(said.Error)}
	if err != nil {
		result.Error = JSON(wire.ErrorObject(appCallRefused, parseToolResult(said, err).Error, nil))
	}
	return reply(result)
}

// appCallRefused is the JSON-RPC error code for a call that has no reply of the server.
const appCallRefused = -32000
