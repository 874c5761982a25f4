package api

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// logLines is how much of a server's log its page shows.
const logLines = 500

type (
	none          struct{}
	answer[T any] struct{ Body T }
)

func reply[T any](body T) (*answer[T], error) { return &answer[T]{body}, nil }

// nonNil returns s, or an empty slice for nil, which JSON would encode as null.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (a *API) status(context.Context, *none) (*answer[Status], error) { return reply(a.statusNow()) }

func (a *API) statusNow() Status {
	st := a.Recorder.Stats()
	cfg := a.Files.Current()
	s := Status{
		Version: a.Version, URL: a.URL, StartedAt: a.StartedAt, ConfigPath: a.ConfigPath,
		Problems: nonNil(a.Files.Problems()), RequireToken: cfg.Bridge.RequireToken,
		Recorder: RecorderStatus{State: st.State, Queued: st.Queued, Dropped: st.Dropped, Full: a.Upkeep.Recording().Full},
		Servers:  nonNil(a.Servers.Statuses()), Notices: []event.Notice{},
	}
	s.Releases = a.Releases != nil && a.Releases()
	s.Usage = a.usageOf(s.Servers)
	s.Visible = a.visibleTools(cfg, s.Servers)
	if st.Reason != "" {
		s.Notices = append(s.Notices, event.Notice{Subject: "history", Message: st.Reason})
	}
	if h := a.Upkeep.HeldCalls(); h != nil && h.All {
		s.Notices = append(s.Notices, clockNotice(h))
	}
	if !s.RequireToken {
		s.Notices = append(s.Notices, event.Notice{Subject: "bridge", Message: "The bridge accepts calls without a token: any program, run by any user of this machine, can call any tool."})
	}
	s.Notices = append(s.Notices, a.Commands.Notices()...)
	if a.Observer != nil {
		s.Notices = append(s.Notices, a.Observer.Notices()...)
	}
	if a.Notices != nil {
		s.Notices = append(s.Notices, a.Notices()...)
	}
	return s
}

// VisibleTools counts the tools that clients see, for the servers with hidden tools, by id.
func (a *API) VisibleTools() map[string]int {
	return a.visibleTools(a.Files.Current(), a.Servers.Statuses())
}

func (a *API) visibleTools(cfg *config.Config, servers []core.ServerStatus) map[string]int {
	some := map[string]int{}
	for i := range servers {
		if c, ok := cfg.Server(servers[i].ID); ok && c.Filter != nil && servers[i].Tools > 0 && !c.Disabled {
			some[c.ID] = 0
		}
	}
	if len(some) == 0 {
		return nil
	}
	for _, item := range a.Views.All().Items(core.Tools) {
		if _, asked := some[item.Server]; asked {
			some[item.Server]++
		}
	}
	for i := range servers {
		if n, asked := some[servers[i].ID]; asked && n >= servers[i].Tools {
			delete(some, servers[i].ID)
		}
	}
	return some
}

func (a *API) listServers(context.Context, *none) (*answer[List[core.ServerStatus]], error) {
	return reply(List[core.ServerStatus]{Items: nonNil(a.Servers.Statuses())})
}

type serverInput struct {
	ID string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
}

func (a *API) getServer(_ context.Context, in *serverInput) (*answer[ServerDetail], error) {
	st, ok := a.Servers.Status(in.ID)
	if !ok {
		return nil, core.Errorf(core.CodeNotFound, "there is no such server")
	}
	d := ServerDetail{ServerStatus: st, Log: nonNil(a.Logs.Tail(st.ID, logLines))}
	for i := range d.Log {
		d.Log[i].Text = serverlog.Clean(d.Log[i].Text)
	}
	if usage, err := a.Usage(st.ID); err == nil {
		d.Usage = &usage
	}
	return reply(d)
}

type actionInput struct {
	ID     string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Action string `path:"action" enum:"start,stop,restart,enable,disable,connect,disconnect,reconnect"`
}

func (a *API) changeServer(ctx context.Context, in *actionInput) (*answer[core.ServerStatus], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, core.Errorf(core.CodeNotFound, "there is no such server")
	}
	change := map[string]func(context.Context, string) error{
		"start": a.Servers.Start, "stop": a.Servers.Stop, "restart": a.Servers.Restart,
		"connect": a.Servers.Start, "disconnect": a.Servers.Stop, "reconnect": a.Servers.Restart,
		"enable": a.Files.Enable, "disable": a.Files.Disable,
	}[in.Action]
	if err := change(ctx, in.ID); err != nil {
		return nil, err
	}
	if in.Action != "stop" && in.Action != "disable" && in.Action != "disconnect" {
		a.Rules.Reset(in.ID) // the user has handled the cause
	}
	st, _ := a.Servers.Status(in.ID)
	return reply(st)
}

type toolsInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only the tools of this server, by id or name"`
}

func (a *API) listTools(_ context.Context, in *toolsInput) (*answer[List[Tool]], error) {
	list := List[Tool]{Items: []Tool{}}
	for _, item := range a.Views.All().Items(core.Tools) {
		if in.Server != "" && item.Server != in.Server {
			continue
		}
		tool := parseTool(core.Item{Name: item.Name, Raw: item.Raw})
		tool.Name, tool.Server = item.Public, item.Server
		list.Items = append(list.Items, tool)
	}
	if _, known := a.Servers.Status(in.Server); in.Server != "" && len(list.Items) == 0 && !known {
		return nil, core.Errorf(core.CodeNotFound, "there is no such server")
	}
	return reply(list)
}

type callsInput struct {
	PageInput
	CallFilter
}

func (a *API) listCalls(ctx context.Context, in *callsInput) (*answer[List[Call]], error) {
	before, _ := strconv.ParseInt(in.Before, 10, 64) // the pattern permits only digits
	q := in.query()
	q.Before, q.Limit = before, in.Limit
	calls, next, err := a.History.Calls(ctx, q)
	if err != nil {
		return nil, err
	}
	list := List[Call]{Items: make([]Call, len(calls))}
	for i := range calls {
		list.Items[i] = newCall(&calls[i])
	}
	if next != 0 {
		list.Next = strconv.FormatInt(next, 10)
	}
	return reply(list)
}

type callInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
}

func (a *API) getCall(ctx context.Context, in *callInput) (*answer[CallDetail], error) {
	id, _ := strconv.ParseInt(in.ID, 10, 64) // the pattern permits only digits
	record, err := a.History.Call(ctx, id)
	if err == nil {
		detail := newCallDetail(record)
		detail.App = a.appOf(record)
		return reply(*detail)
	}
	if call, ok := a.Calls.RunningCall(id); ok {
		return reply(CallDetail{Call: newCall(a.redactCall(&call))})
	}
	return nil, err
}

func newCut(c *store.Cut) *Cut {
	if c == nil {
		return nil
	}
	return &Cut{c.Size, hex.EncodeToString(c.Hash)}
}

// listClients joins the clients of the history, connected clients, and tokens.
func (a *API) listClients(ctx context.Context, _ *none) (*answer[List[Client]], error) {
	used, err := a.History.Clients(ctx)
	if err != nil && core.CodeOf(err) != core.CodeUnavailable {
		return nil, err
	}
	all := make(map[core.Client]*Client)
	of := func(c core.Client) *Client {
		if all[c] == nil {
			all[c] = &Client{Token: c.Token, Name: c.Name, Version: c.Version}
		}
		return all[c]
	}
	seen := func(c *Client, at time.Time) {
		if at = at.UTC(); c.LastSeen == nil || c.LastSeen.Before(at) {
			c.LastSeen = &at
		}
	}
	for _, u := range used {
		c := of(u.Client)
		c.Calls = u.Calls
		seen(c, u.LastSeen)
	}
	for _, s := range a.Bridge.Sessions() {
		c := of(s.Client)
		c.Sessions++
		seen(c, s.LastUsed)
	}
	tokens, err := a.Tokens.ListWithSecrets()
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		known := false
		for c, one := range all {
			if c.Token == t.Name {
				known, one.HasToken = true, true
			}
		}
		if !known {
			of(core.Client{Token: t.Name}).HasToken = true
		}
	}
	list := List[Client]{Items: make([]Client, 0, len(all))}
	for _, c := range all {
		list.Items = append(list.Items, *c)
	}
	slices.SortFunc(list.Items, func(x, y Client) int {
		return cmp.Or(-cmp.Compare(unix(x.LastSeen), unix(y.LastSeen)), cmp.Compare(x.Token, y.Token), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Version, y.Version))
	})
	return reply(list)
}

func unix(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

type configAnswer struct {
	ETag string `header:"ETag"`
	Body ConfigFile
}

func (a *API) getConfig(context.Context, *none) (*configAnswer, error) {
	path, text, etag, err := a.Files.Text()
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "cannot read the configuration file", Cause: err}
	}
	return &configAnswer{ETag: `"` + etag + `"`, Body: ConfigFile{Path: path, Text: string(text), ETag: etag, Problems: nonNil(a.Files.Problems())}}, nil
}

type configInput struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"ETag of the file that the edit is based on; required"`
	Body    struct {
		Text string `json:"text" maxLength:"2000000"`
	}
}

func (a *API) putConfig(ctx context.Context, in *configInput) (*configAnswer, error) {
	etag := strings.Trim(in.IfMatch, `" `)
	if etag == "" {
		return nil, &ErrorDocument{
			Title: http.StatusText(http.StatusPreconditionRequired), Status: http.StatusPreconditionRequired, Code: core.CodeValidation,
			Detail: "the header If-Match is missing", Hint: "Read the file first and send its etag.",
		}
	}
	err := a.Files.Replace(ctx, []byte(in.Body.Text), etag)
	if core.CodeOf(err) == core.CodeConflict {
		p := problemOf(err)
		p.Status, p.Title = http.StatusPreconditionFailed, http.StatusText(http.StatusPreconditionFailed)
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	return a.getConfig(ctx, nil)
}

// openSession exchanges a one-time code for a cookie and a key. It is the only plain handler,
// because it needs no token.
func (a *API) openSession(w http.ResponseWriter, r *http.Request) {
	if err := loopback.RefuseOtherUser(r); err != nil {
		writeProblem(w, err)
		return
	}
	var body struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil || body.Code == "" {
		writeProblem(w, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "code", Error: "is required"}}})
		return
	}
	cookie, key, err := a.Options.Sessions.Exchange(body.Code)
	if err != nil {
		writeProblem(w, err)
		return
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Content-Type", "application/json")
	noStore(w.Header())
	_ = json.NewEncoder(w).Encode(struct {
		Key string `json:"key"`
	}{key})
}

// health is public. With a token or session it reports which servers have problems and why;
// without, only codes and counts, because a reason may contain an address, a command or a path.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	h := Health{Status: "ok", Version: a.Version, Reasons: a.healthReasons()}
	if len(h.Reasons) > 0 {
		h.Status = "degraded"
	}
	if !a.isAuthenticated(w, r) {
		h.Reasons = summarizeReasons(h.Reasons)
	}
	w.Header().Set("Content-Type", "application/json")
	noStore(w.Header())
	_ = json.NewEncoder(w).Encode(h)
}

func (a *API) healthReasons() []HealthReason {
	reasons := []HealthReason{}
	resting := map[string]bool{} // servers that are degraded by an open breaker
	for _, b := range a.Rules.Breakers() {
		resting[b.Server] = true
		reasons = append(reasons, HealthReason{Server: b.Server, State: "breaker", Reason: b.Reason})
	}
	for _, s := range a.Servers.Statuses() {
		switch {
		case s.State == core.StateRunning, s.State == core.StateStarting, s.State == core.StateStopped, s.State == core.StateDisabled:
		case s.State == core.StateDegraded && resting[s.ID]:
		default:
			reasons = append(reasons, HealthReason{Server: s.ID, State: string(s.State), Reason: s.Reason})
		}
	}
	if st := a.Recorder.Stats(); st.State != "recording" {
		reasons = append(reasons, HealthReason{State: "history", Reason: st.Reason})
	}
	if wrong := countErrors(a.Files.Problems()); wrong > 0 {
		reasons = append(reasons, HealthReason{State: "config", Reason: "the configuration has errors: " + strconv.Itoa(wrong)})
	}
	return reasons
}

// summarizeReasons counts reasons by state and omits names and texts.
func summarizeReasons(reasons []HealthReason) []HealthReason {
	out := []HealthReason{}
	for _, r := range reasons {
		i := slices.IndexFunc(out, func(o HealthReason) bool { return o.State == r.State })
		if i < 0 {
			i = len(out)
			out = append(out, HealthReason{State: r.State, Reason: r.State})
		}
		out[i].Count++
	}
	return out
}

// isAuthenticated reports whether a request has the admin token, the token of a client or a
// session.
func (a *API) isAuthenticated(w http.ResponseWriter, r *http.Request) bool {
	token, shown := loopback.BearerOf(r)
	if !shown {
		return a.Sessions.Check(w, r)
	}
	if a.Admin.Valid(token) {
		return true
	}
	_, client := a.Tokens.Client(token)
	return client
}

func countErrors(problems []config.Problem) (n int) {
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}
