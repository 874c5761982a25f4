package supervisor

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ToolWithSettings is one tool of a server, visible to clients or not.
type ToolWithSettings struct {
	Tool        string       `json:"tool" doc:"The server's own name"`
	PublicName  string       `json:"publicName" doc:"Public name at the endpoint that combines all servers; empty if hidden"`
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

// catalogOf returns the catalog of a server; nil if it was never listed.
func (f *Feature) catalogOf(server string) *core.Catalog {
	offers := f.Views.All().Offers()
	i := slices.IndexFunc(offers, func(o registry.Offer) bool { return o.Server == server })
	if i < 0 {
		return nil
	}
	return offers[i].Catalog
}

func (f *Feature) listToolSettings(_ context.Context, in *web.ServerInput) (*web.Answer[web.List[ToolWithSettings]], error) {
	c, ok := f.Config.Current().Server(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	public := map[string]string{}
	for _, item := range f.Views.All().Items(core.Tools) {
		if item.Server == c.ID {
			public[item.Name] = item.Public
		}
	}
	list := web.List[ToolWithSettings]{Items: []ToolWithSettings{}}
	if catalog := f.catalogOf(c.ID); catalog != nil {
		for _, item := range catalog.Tools {
			one := toolSetting(item, c.Filter, public[item.Name])
			if one.Shown && f.withheld(c.ID, item.Name) {
				one.Shown, one.HiddenBy = false, "toolChanges"
			}
			list.Items = append(list.Items, one)
		}
	}
	return web.Reply(list)
}

func toolSetting(item core.Item, f *config.Filter, public string) ToolWithSettings {
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
	s := ToolWithSettings{
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
		Approval: t.Approval, AllowClients: web.NonNil(t.AllowClients), ValidateInput: t.ValidateInput, Record: t.Record,
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
		Tools []string            `json:"tools" minItems:"1" maxItems:"5000" nullable:"false" doc:"The server's own names for the tools"`
		Set   map[string]web.JSON `json:"set" doc:"Keys to change, as in the configuration; null removes a key"`
	}
}

// toolKeys are the settings that can be changed.
var toolKeys = []string{
	"enabled", "rename", "title", "description", "annotations", "requestTimeoutMs", "maxRequestMs", "cacheTtlMs",
	"approval", "allowClients", "validateInput", "record", "rateLimit", "retry",
}

func (f *Feature) setTools(ctx context.Context, in *setToolsInput) (*web.Answer[web.List[ToolWithSettings]], error) {
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
	if err := f.Config.SetTools(ctx, in.ID, in.Body.Tools, set); err != nil {
		return nil, err
	}
	list, err := f.listToolSettings(ctx, &web.ServerInput{ID: in.ID})
	if err != nil {
		return nil, err
	}
	known := make(map[string]ToolWithSettings, len(list.Body.Items))
	for _, t := range list.Body.Items {
		known[t.Tool] = t
	}
	c, _ := f.Config.Current().Server(in.ID)
	changed := web.List[ToolWithSettings]{Items: []ToolWithSettings{}}
	for _, name := range in.Body.Tools {
		t, ok := known[name]
		if !ok { // the server does not offer it at the moment
			t = toolSetting(core.Item{Name: name}, c.Filter, "")
		}
		changed.Items = append(changed.Items, t)
	}
	return web.Reply(changed)
}

// withheld reports whether a tool is hidden from clients because its definition changed.
func (f *Feature) withheld(server, tool string) bool {
	view, ok := f.Views.Server(server)
	if !ok {
		return false
	}
	_, held := view.Withheld(core.Tools, tool)
	return held
}
