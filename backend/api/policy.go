package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
)

// Rules reports the policy; *policy.Policy implements it.
type Rules interface {
	Breakers() []policy.BreakerStatus
	Loads() []policy.Load
	Grants() []policy.Grant
	ForgetGrants()
	Reset(server string)
	Explain(policy.ExplainRequest) (policy.Explanation, error)
}

// PolicyStatus is the current state of the policy.
type PolicyStatus struct {
	Breakers []policy.BreakerStatus `json:"breakers" nullable:"false" doc:"Servers whose circuit breaker is open or half-open"`
	Waiting  []policy.Load          `json:"waiting" nullable:"false" doc:"Servers with a concurrency limit and calls that are in flight, queued or rejected by it"`
}

// ToolSetting is one tool of a server, visible to clients or not.
type ToolSetting struct {
	Tool        string       `json:"tool" doc:"The server's own name"`
	PublicName  string       `json:"publicName" doc:"Public name at the endpoint of all servers; empty if hidden"`
	Title       string       `json:"title"`
	Description string       `json:"description" doc:"Description of the server"`
	Shown       bool         `json:"shown"`
	HiddenBy    string       `json:"hiddenBy" enum:",enabled,includeTools,excludeTools,toolChanges" doc:"Configuration key that hides it"`
	ReadOnly    *bool        `json:"readOnly" doc:"As declared by the server; null if not declared"`
	Destructive *bool        `json:"destructive"`
	Idempotent  *bool        `json:"idempotent"`
	OpenWorld   *bool        `json:"openWorld"`
	Settings    ToolSettings `json:"settings" doc:"Settings of this tool in the configuration; empty values are unset"`
}

// ToolSettings are the keys of one tool in the configuration.
type ToolSettings struct {
	Enabled          bool            `json:"enabled"`
	Rename           string          `json:"rename"`
	Title            string          `json:"title"`
	Description      string          `json:"description"`
	Annotations      map[string]bool `json:"annotations" nullable:"false" doc:"What replaces the annotations of the server, such as readOnlyHint"`
	RequestTimeoutMs int64           `json:"requestTimeoutMs"`
	MaxRequestMs     int64           `json:"maxRequestMs"`
	CacheTTLMs       int64           `json:"cacheTtlMs"`
	Approval         string          `json:"approval" enum:",never,ask,deny,destructive"`
	AllowClients     []string        `json:"allowClients" nullable:"false"`
	ValidateInput    string          `json:"validateInput" enum:",off,reject"`
	Record           string          `json:"record" enum:",full,meta,off" doc:"Upper limit for the recording of its calls; overrides the server's setting"`
	RateLimit        *RateSetting    `json:"rateLimit"`
	Retry            *RetrySettings  `json:"retry"`
}

// RateSetting is a rate limit of the configuration.
type RateSetting struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
	By        string  `json:"by" enum:"client,session"`
}

// RetrySettings configures retries.
type RetrySettings struct {
	Attempts int     `json:"attempts"`
	DelaysMs []int64 `json:"delaysMs" nullable:"false"`
}

func (a *API) registerPolicy(doc huma.API) {
	op(a, doc, "GET", "/api/v1/policy", "State of circuit breakers and call queues", a.policyStatus)
	op(a, doc, "POST", "/api/v1/policy/try", "Show what argument rules would have done with recorded calls", a.tryRules)
	op(a, doc, "POST", "/api/v1/policy/suggest", "Suggest conditions for an argument rule that matches calls similar to a given call", a.suggestRule)
	op(a, doc, "GET", "/api/v1/explain", "Explain whether the policy would allow a call", a.explain)
	op(a, doc, "GET", "/api/v1/servers/{id}/tools", "All tools of a server, including hidden ones, with their settings", a.listToolSettings)
	op(a, doc, "POST", "/api/v1/servers/{id}/tools", "Change settings of tools in the configuration, in one edit", a.setTools)
	op(a, doc, "GET", "/api/v1/approvals/grants", "Temporary approvals", a.listGrants)
	op(a, doc, "DELETE", "/api/v1/approvals/grants", "Revoke temporary approvals", a.forgetGrants)
	op(a, doc, "GET", "/api/v1/approvals/{id}", "A pending approval with its complete arguments", a.getApproval)
}

func (a *API) policyStatus(context.Context, *none) (*answer[PolicyStatus], error) {
	return reply(PolicyStatus{Breakers: a.Rules.Breakers(), Waiting: a.Rules.Loads()})
}

type explainInput struct {
	Server string `query:"server" required:"true" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Tool   string `query:"tool" required:"true" minLength:"1" maxLength:"1024" doc:"The server's own name for the tool, or its public name"`
	Client string `query:"client" maxLength:"128" doc:"Name of a client's token"`
	// Arguments are JSON text: they may have several readings, which decoding would hide.
	Arguments string `query:"arguments" maxLength:"65536" doc:"Arguments of the call, the text of a JSON object; without them, argument rules with a condition do not apply"`
	Folder    string `query:"folder" maxLength:"4096" doc:"Absolute path of the client's working folder, for argument rules"`
}

func (a *API) explain(_ context.Context, in *explainInput) (*answer[policy.Explanation], error) {
	now := a.Files.Current()
	rq := policy.ExplainRequest{Server: in.Server, Tool: in.Tool, Client: in.Client, Workspace: in.Folder, Profile: now.Clients[in.Client].Profile}
	if in.Arguments != "" {
		rq.Arguments = []byte(in.Arguments)
	}
	if rq.Profile == "" && in.Folder != "" {
		rq.Profile = now.ProfileOf(in.Folder)
	}
	if server, ok := now.Server(in.Server); ok {
		rq.Account = now.AccountOf(&server, in.Client, rq.Profile, in.Folder)
	}
	e, err := a.Rules.Explain(rq)
	if err != nil {
		return nil, err
	}
	var first []policy.Verdict
	if st, ok := a.Servers.Status(e.Server); ok {
		first = append(first, explainServer(st))
	}
	if rq.Account != "" {
		first = append(first, policy.Verdict{Name: "account", Result: policy.Pass, Detail: fmt.Sprintf("The call uses the account %q.", rq.Account), Key: "mcpServers." + e.Server + ".accounts." + rq.Account})
	}
	view := a.Views.All()
	if profile := now.Clients[in.Client].Profile; in.Client != "" && profile != "" {
		var v policy.Verdict
		if view, v = a.explainProfile(profile, in.Client, e.Server, e.Tool); v.Name != "" {
			first = append(first, v)
		}
	}
	e.Checks = append(first, e.Checks...)
	for _, v := range first {
		e.Passes = e.Passes && v.Result != policy.Refuse
	}
	for _, item := range view.Items(core.Tools) {
		if item.Server == e.Server && item.Name == e.Tool {
			e.PublicName = item.Public
		}
	}
	return reply(e)
}

// explainProfile reports whether the profile of a client contains a tool, and returns what the
// profile offers. It does not judge a tool that the server is not known to have: the catalog check
// does.
func (a *API) explainProfile(profile, client, server, tool string) (*registry.View, policy.Verdict) {
	v := policy.Verdict{Name: "profile", Result: policy.Refuse, Key: "clients." + client + ".profile"}
	view, ok := a.Views.Profile(profile, 0)
	if !ok {
		v.Detail = fmt.Sprintf("The client is assigned to the profile %q, which does not exist.", profile)
		return &registry.View{}, v
	}
	if whole, ok := a.Views.Server(server); ok {
		if target, ok := whole.Own(core.Tools, tool); !ok || target.Raw == nil {
			return view, policy.Verdict{}
		}
	}
	holds := func(one registry.Item) bool { return one.Server == server && one.Name == tool }
	if v.Detail = fmt.Sprintf("The client's profile %q does not contain the tool.", profile); slices.ContainsFunc(view.Items(core.Tools), holds) {
		v.Result, v.Detail = policy.Pass, fmt.Sprintf("The client's profile %q contains the tool.", profile)
	}
	return view, v
}

// explainServer describes what happens to a call at the server.
func explainServer(st core.ServerStatus) policy.Verdict {
	v := policy.Verdict{Name: "server", Result: policy.Wait}
	switch st.State {
	case core.StateRunning:
		v.Result, v.Detail = policy.Pass, "It is running"
	case core.StateDegraded:
		v.Result, v.Detail = policy.Pass, "It responds, but some of its lists are unavailable"
	case core.StateStopped:
		v.Detail = "It is stopped; the next call starts it"
		if st.ManualOnly {
			v.Result, v.Detail = policy.Refuse, "It is stopped, and a call does not start it; use drawbridge start "+st.ID
		}
	case core.StateCrashed:
		v.Detail = "It has crashed; the next call tries to restart it"
	case core.StateDisabled:
		v.Result, v.Detail, v.Key = policy.Refuse, "It is disabled", "mcpServers."+st.Label+".enabled"
	case core.StateNeedsLogin:
		v.Result, v.Detail = policy.Refuse, "You must sign in to it first"
	case core.StateNeedsApproval:
		v.Result, v.Detail = policy.Refuse, "It does not start until you approve its command"
	default:
		v.Detail = "It is not ready; a call waits for it"
	}
	if st.Reason != "" && st.State != core.StateRunning {
		v.Detail += " (" + strings.TrimSuffix(st.Reason, ".") + ")"
	}
	v.Detail += "."
	return v
}

func (a *API) listGrants(context.Context, *none) (*answer[List[policy.Grant]], error) {
	return reply(List[policy.Grant]{Items: a.Rules.Grants()})
}

func (a *API) forgetGrants(context.Context, *none) (*none, error) {
	a.Rules.ForgetGrants()
	return &none{}, nil
}

// catalogOf returns the catalog of a server; nil if it was never listed.
func (a *API) catalogOf(server string) *core.Catalog {
	offers := a.Views.All().Offers()
	i := slices.IndexFunc(offers, func(o registry.Offer) bool { return o.Server == server })
	if i < 0 {
		return nil
	}
	return offers[i].Catalog
}

func (a *API) listToolSettings(_ context.Context, in *serverInput) (*answer[List[ToolSetting]], error) {
	c, ok := a.Files.Current().Server(in.ID)
	if !ok {
		return nil, core.Errorf(core.CodeNotFound, "there is no such server")
	}
	public := map[string]string{}
	for _, item := range a.Views.All().Items(core.Tools) {
		if item.Server == c.ID {
			public[item.Name] = item.Public
		}
	}
	list := List[ToolSetting]{Items: []ToolSetting{}}
	if catalog := a.catalogOf(c.ID); catalog != nil {
		for _, item := range catalog.Tools {
			one := toolSetting(item, c.Filter, public[item.Name])
			if one.Shown && a.withheld(c.ID, item.Name) {
				one.Shown, one.HiddenBy = false, "toolChanges"
			}
			list.Items = append(list.Items, one)
		}
	}
	return reply(list)
}

func toolSetting(item core.Item, f *config.Filter, public string) ToolSetting {
	var about struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Annotations struct {
			Title       string `json:"title"`
			ReadOnly    *bool  `json:"readOnlyHint"`
			Destructive *bool  `json:"destructiveHint"`
			Idempotent  *bool  `json:"idempotentHint"`
			OpenWorld   *bool  `json:"openWorldHint"`
		} `json:"annotations"`
	}
	_ = json.Unmarshal(item.Raw, &about) // untrusted data: invalid fields stay empty
	s := ToolSetting{
		Tool: item.Name, PublicName: public, Title: about.Title, Description: about.Description,
		ReadOnly: about.Annotations.ReadOnly, Destructive: about.Annotations.Destructive, Idempotent: about.Annotations.Idempotent, OpenWorld: about.Annotations.OpenWorld,
		HiddenBy: f.HiddenBy(item.Name), Settings: ToolSettings{Enabled: true, AllowClients: []string{}, Annotations: map[string]bool{}},
	}
	if s.Title == "" {
		s.Title = about.Annotations.Title
	}
	s.Shown = s.HiddenBy == ""
	if f == nil {
		return s
	}
	t := f.Tools[item.Name]
	s.Settings = ToolSettings{
		Enabled: !t.Disabled, Rename: t.Rename, Title: t.Title, Description: t.Description, Annotations: maps.Clone(t.Annotations),
		RequestTimeoutMs: t.RequestTimeout.Milliseconds(), MaxRequestMs: t.MaxRequest.Milliseconds(), CacheTTLMs: t.CacheTTL.Milliseconds(),
		Approval: t.Approval, AllowClients: nonNil(t.AllowClients), ValidateInput: t.ValidateInput, Record: t.Record,
	}
	if s.Settings.Annotations == nil {
		s.Settings.Annotations = map[string]bool{}
	}
	if r := t.RateLimit; r != nil {
		s.Settings.RateLimit = &RateSetting{r.PerSecond, r.Burst, r.By}
	}
	if r := t.Retry; r != nil {
		s.Settings.Retry = &RetrySettings{Attempts: r.Attempts, DelaysMs: []int64{}}
		for _, d := range r.Delays {
			s.Settings.Retry.DelaysMs = append(s.Settings.Retry.DelaysMs, d.Milliseconds())
		}
	}
	return s
}

type setToolsInput struct {
	ID   string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Body struct {
		Tools []string        `json:"tools" minItems:"1" maxItems:"5000" nullable:"false" doc:"The server's own names for the tools"`
		Set   map[string]JSON `json:"set" doc:"Keys to change, as in the configuration; null removes a key"`
	}
}

// toolKeys are the settings that can be changed.
var toolKeys = []string{
	"enabled", "rename", "title", "description", "annotations", "requestTimeoutMs", "maxRequestMs", "cacheTtlMs",
	"approval", "allowClients", "validateInput", "record", "rateLimit", "retry",
}

func (a *API) setTools(ctx context.Context, in *setToolsInput) (*answer[List[ToolSetting]], error) {
	invalid := func(field, message string) error {
		return &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: field, Error: message}}}
	}
	set := make(map[string]json.RawMessage, len(in.Body.Set))
	for key, value := range in.Body.Set {
		if !slices.Contains(toolKeys, key) {
			return nil, invalid("body.set", "contains an unknown key")
		}
		set[key] = json.RawMessage(value)
	}
	if slices.Contains(in.Body.Tools, "") {
		return nil, invalid("body.tools", "contains an empty name")
	}
	if err := a.Files.SetTools(ctx, in.ID, in.Body.Tools, set); err != nil {
		return nil, err
	}
	list, err := a.listToolSettings(ctx, &serverInput{ID: in.ID})
	if err != nil {
		return nil, err
	}
	known := make(map[string]ToolSetting, len(list.Body.Items))
	for _, t := range list.Body.Items {
		known[t.Tool] = t
	}
	c, _ := a.Files.Current().Server(in.ID)
	changed := List[ToolSetting]{Items: []ToolSetting{}}
	for _, name := range in.Body.Tools {
		t, ok := known[name]
		if !ok { // the server does not offer it at the moment
			t = toolSetting(core.Item{Name: name}, c.Filter, "")
		}
		changed.Items = append(changed.Items, t)
	}
	return reply(changed)
}

// getApproval returns one pending approval in full.
func (a *API) getApproval(_ context.Context, in *struct {
	ID string `path:"id" maxLength:"200"`
}) (*answer[Approval], error) {
	if item, ok := a.Approvals.Item(in.ID); ok {
		return reply(fullApproval(&item))
	}
	for _, item := range a.pendingWithoutDeadline() {
		if item.ID == in.ID {
			return reply(truncatedApproval(&item))
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "this approval is no longer pending")
}

// allowAlways writes a permanent permission into the configuration: for the client of the call, or
// for all clients if clients have no tokens.
func (a *API) allowAlways(ctx context.Context, item *approvals.Item, where json.RawMessage) error {
	if item.Held.Rule != "" || where != nil {
		return a.Files.AddArgumentRule(ctx, item.Held.Rule, allowRule(item, where))
	}
	if item.Client.Token == "" {
		return a.Files.SetTools(ctx, item.Server, []string{item.Held.Tool}, map[string]json.RawMessage{"approval": json.RawMessage(`"never"`)})
	}
	var names []string
	if c, ok := a.Files.Current().Server(item.Server); ok && c.Filter != nil {
		names = slices.Clone(c.Filter.Tools[item.Held.Tool].AllowClients)
	}
	if !slices.Contains(names, item.Client.Token) {
		names = append(names, item.Client.Token)
	}
	raw, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return a.Files.SetTools(ctx, item.Server, []string{item.Held.Tool}, map[string]json.RawMessage{"allowClients": raw})
}

// statusOf returns the HTTP status of a code.
func statusOf(code core.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
