package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/profiles"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// HistoryStore maintains the history; *store.Store implements it.
type HistoryStore interface {
	history.RecordingSource
	Facets(ctx context.Context, q store.Query) (*store.Facets, error)
	Usage(ctx context.Context, q store.UsageQuery) (*store.Usage, error)
	Sessions(ctx context.Context, before int64, limit int) (stories []store.SessionSummary, next int64, err error)
	SaveNote(ctx context.Context, id int64, n store.Note) error
	ChangeNote(ctx context.Context, id int64, was, n store.Note) error
	Erase(ctx context.Context, sel store.Selection) (deleted int64, err error)
	Index(ctx context.Context) (store.IndexState, error)
	Size(ctx context.Context) (store.Size, error)
	HeldCalls() *store.HeldCalls
	Prune(ctx context.Context, k store.RetentionLimits) (deleted int64, err error)
	RetentionPreview(ctx context.Context, k store.RetentionLimits) (store.RetentionPreview, error)
	Vacuum(ctx context.Context) error
	Backup(ctx context.Context, path string) error
	RenameServer(ctx context.Context, from, to string) (back func(context.Context) error, err error)
	Recording() store.RecordingSettings
	SaveRecording(ctx context.Context, want store.RecordingSettings) error
	SavedCheck(ctx context.Context, name string) ([]byte, error)
	SavedChecks(ctx context.Context) (documents [][]byte, err error)
	SaveCheck(ctx context.Context, name string, document []byte) error
	DeleteCheck(ctx context.Context, name string) error
}

func (a *API) registerHistory(r *web.Router) {
	web.Op(r, "GET", "/api/v1/previews", "Previews of call arguments, with search matches in the payloads", a.previews)
	web.Op(r, "GET", "/api/v1/facets", "Number of calls by server, tool, client and outcome", a.facets)
	web.Op(r, "GET", "/api/v1/sessions", "Sessions, newest first", a.listSessions)
	web.Op(r, "GET", "/api/v1/usage", "Call statistics by server, tool and client, and over time", a.usage)
	web.Op(r, "PUT", "/api/v1/calls/{id}/note", "Set the title, note and tags of a call", a.putNote)
	web.Op(r, "POST", "/api/v1/calls/{id}/replay", "Repeat a tool call, optionally with other arguments", a.replay)
	web.Op(r, "POST", "/api/v1/calls/delete", "Delete individual calls, or all calls of a client or session", a.deleteCalls)
	web.Op(r, "GET", "/api/v1/history", "State and size of the history", a.historyState)
	web.Op(r, "PUT", "/api/v1/history/recording", "Pause recording, or change the recording rules for servers and tools", a.putRecording)
	web.Op(r, "POST", "/api/v1/history/prune", "Delete the oldest calls that exceed the given limits", a.prune)
	web.Op(r, "POST", "/api/v1/history/retention-preview", "Number of calls that the given limits would delete", a.previewPrune)
	web.Op(r, "POST", "/api/v1/history/vacuum", "Compact the database", a.vacuum)
	web.Op(r, "POST", "/api/v1/history/backup", "Back up the history to a new file", a.backup)
	web.Op(r, "GET", "/api/v1/checks", "Saved checks", a.listChecks)
	web.Op(r, "PUT", "/api/v1/checks/{name}", "Save a check; replaces an existing check with the same name", a.putCheck)
	web.Op(r, "POST", "/api/v1/checks/{name}", "Save the tool calls of a session, a tag or a time range as a new check", a.saveCheckFromCalls)
	web.Op(r, "DELETE", "/api/v1/checks/{name}", "Delete a check", a.deleteCheck)
	web.Op(r, "POST", "/api/v1/checks/{name}/run", "Run a check", a.runCheck)
	web.Op(r, "GET", "/api/v1/frames", "Recent JSON-RPC messages of a session or server in debug mode, newest first", a.frames)
	a.registerExport(r)
}

// CallFilter holds the filters of all operations on calls.
type CallFilter struct {
	From      time.Time `query:"from" doc:"Only calls that started at or after this time"`
	To        time.Time `query:"to" doc:"Only calls that started before this time"`
	Server    string    `query:"server" maxLength:"256" server:"name" doc:"Server id or name"`
	Client    string    `query:"client" maxLength:"1000" doc:"Name of the application or of its token"`
	Tool      string    `query:"tool" maxLength:"1000"`
	Session   string    `query:"session" maxLength:"200"`
	Workspace string    `query:"workspace" maxLength:"1000" doc:"Working directory of the client"`
	Account   string    `query:"account" maxLength:"32" doc:"Account of the server"`
	Tag       string    `query:"tag" maxLength:"50"`
	Version   string    `query:"version" maxLength:"200" doc:"Version that the server reports, version of its package, package@version, or the first 8 or more characters of the hash of a definition"`
	Outcome   string    `query:"outcome" enum:"ok,tool_error,protocol_error,timeout,cancelled,rejected,working,input_required,expired" doc:"The last three are states of tasks that have not ended"`
	MinTookNs int64     `query:"minTookNs" minimum:"0"`
	MaxTookNs int64     `query:"maxTookNs" minimum:"0"`
	Text      string    `query:"q" maxLength:"1000" doc:"Words that must all occur in names, arguments, results or errors; word* matches a prefix"`
}

func (f *CallFilter) query() store.Query {
	return store.Query{
		From: f.From, To: f.To, Server: f.Server, Client: f.Client, Tool: f.Tool, Session: f.Session, Workspace: f.Workspace, Account: f.Account, Tag: f.Tag, Version: f.Version,
		Outcome: core.Outcome(f.Outcome), MinTook: time.Duration(f.MinTookNs), MaxTook: time.Duration(f.MaxTookNs), Text: f.Text,
	}
}

func (a *API) facets(ctx context.Context, in *CallFilter) (*web.Answer[store.Facets], error) {
	f, err := a.HistoryStore.Facets(ctx, in.query())
	if err != nil {
		return nil, err
	}
	return web.Reply(*f)
}

// Session is the timeline of one session of a client.
type Session struct {
	Session       string    `json:"session" doc:"Use it as a filter of GET /api/v1/calls to get the calls in order"`
	Client        string    `json:"client"`
	ClientVersion string    `json:"clientVersion"`
	Token         string    `json:"token"`
	Workspace     string    `json:"workspace"`
	First         time.Time `json:"first"`
	Last          time.Time `json:"last"`
	Calls         int64     `json:"calls"`
	Errors        int64     `json:"errors"`
	Servers       []string  `json:"servers" nullable:"false" doc:"Ids of the servers that were called"`
}

func (a *API) listSessions(ctx context.Context, in *web.PageInput) (*web.Answer[web.List[Session]], error) {
	before := web.ParseID(in.Before)
	stories, next, err := a.HistoryStore.Sessions(ctx, before, in.Limit)
	if err != nil {
		return nil, err
	}
	list := web.List[Session]{Items: make([]Session, len(stories))}
	for i, s := range stories {
		list.Items[i] = Session{s.Session, s.Client.Name, s.Client.Version, s.Client.Token, s.Workspace, s.First, s.Last, s.Calls, s.Errors, web.NonNil(s.Servers)}
	}
	list.Next = web.NextPage(next)
	return web.Reply(list)
}

// HistoryState is the content and the size of the history.
type HistoryState struct {
	Calls        int64                   `json:"calls"`
	Bytes        int64                   `json:"bytes" doc:"Total size of the files"`
	FreeBytes    int64                   `json:"freeBytes" doc:"Part of it that is free for new calls"`
	IndexPending int64                   `json:"indexPending" doc:"Calls that are not in the search index yet"`
	IndexedUpTo  *time.Time              `json:"indexedUpTo,omitempty" doc:"All calls before this time are indexed; absent if all are"`
	Recorder     RecorderStatus          `json:"recorder"`
	Recording    store.RecordingSettings `json:"recording"`
	KeepDays     int64                   `json:"keepDays" doc:"0: unlimited"`
	MaxBytes     int64                   `json:"maxBytes" doc:"0: unlimited"`
	ClockHold    *HeldCalls              `json:"clockHold,omitempty" doc:"Calls that are expired only because the clock jumped"`
}

// FullRecording is what is recorded in full for a while.
type FullRecording = store.FullRecording

// HeldCalls are calls that expired by a jump of the clock and are kept for a day in case the clock
// is wrong.
type HeldCalls struct {
	Calls int64     `json:"calls"`
	From  time.Time `json:"from" doc:"Time before the jump"`
	Until time.Time `json:"until" doc:"Time at which they are deleted, unless the clock is corrected first"`
}

func (a *API) historyState(ctx context.Context, _ *web.None) (*web.Answer[HistoryState], error) {
	size, err := a.HistoryStore.Size(ctx)
	if err != nil {
		return nil, err
	}
	index, err := a.HistoryStore.Index(ctx)
	if err != nil {
		return nil, err
	}
	st, cfg := a.Recorder.Stats(), a.ConfigEditor.Current().History
	s := HistoryState{
		Calls: size.Calls, Bytes: size.Bytes, FreeBytes: size.FreeBytes, IndexPending: index.Pending,
		Recorder: RecorderStatus{State: st.State, Queued: st.Queued, Dropped: st.Dropped}, Recording: a.HistoryStore.Recording(),
		KeepDays: int64(cfg.KeepFor / (24 * time.Hour)), MaxBytes: cfg.MaxBytes,
	}
	if !index.UpTo.IsZero() {
		s.IndexedUpTo = &index.UpTo
	}
	if h := a.HistoryStore.HeldCalls(); h != nil {
		s.ClockHold = &HeldCalls{h.Calls, h.From.UTC(), h.Until.UTC()}
	}
	return web.Reply(s)
}

type recordingInput struct{ Body store.RecordingSettings }

func (a *API) putRecording(ctx context.Context, in *recordingInput) (*web.Answer[HistoryState], error) {
	if err := a.HistoryStore.SaveRecording(ctx, in.Body); err != nil {
		return nil, err
	}
	return a.historyState(ctx, nil)
}

// PruneInputBody holds the limits of a prune; without any, those of the configuration apply.
type PruneInputBody struct {
	KeepDays int64 `json:"keepDays,omitempty" minimum:"0" maximum:"36500"`
	MaxBytes int64 `json:"maxBytes,omitempty" minimum:"0"`
	MaxCalls int64 `json:"maxCalls,omitempty" minimum:"0"`
}

type pruneInput struct{ Body PruneInputBody }

func (a *API) prune(ctx context.Context, in *pruneInput) (*web.Answer[Deleted], error) {
	k := store.RetentionLimits{Age: time.Duration(in.Body.KeepDays) * 24 * time.Hour, Bytes: in.Body.MaxBytes, Rows: in.Body.MaxCalls}
	if k == (store.RetentionLimits{}) {
		cfg := a.ConfigEditor.Current().History
		k = store.RetentionLimits{Age: cfg.KeepFor, Bytes: cfg.MaxBytes} // 0 means no limit in both
	}
	n, err := a.HistoryStore.Prune(ctx, k)
	if err != nil {
		return nil, err
	}
	return web.Reply(Deleted{n})
}

// RetentionPreviewInputBody holds the limits of a preview.
type RetentionPreviewInputBody struct {
	KeepDays int64 `json:"keepDays" minimum:"0" maximum:"36500" doc:"0: unlimited"`
	MaxBytes int64 `json:"maxBytes" minimum:"0" doc:"0: unlimited"`
	MaxCalls int64 `json:"maxCalls,omitempty" minimum:"0" doc:"0: unlimited"`
}

type retentionPreviewInput struct{ Body RetentionPreviewInputBody }

// RetentionPreview is a preview of what limits would delete.
type RetentionPreview struct {
	Calls     int64      `json:"calls"`
	Total     int64      `json:"total" doc:"Total number of calls"`
	Estimated bool       `json:"estimated" doc:"Whether calls is an estimate"`
	From      *time.Time `json:"from,omitempty" doc:"Start of the oldest of them"`
	To        *time.Time `json:"to,omitempty" doc:"Start of the newest of them"`
}

func (a *API) previewPrune(ctx context.Context, in *retentionPreviewInput) (*web.Answer[RetentionPreview], error) {
	return a.previewLimits(ctx, store.RetentionLimits{Age: time.Duration(in.Body.KeepDays) * 24 * time.Hour, Bytes: in.Body.MaxBytes, Rows: in.Body.MaxCalls})
}

func (a *API) previewLimits(ctx context.Context, k store.RetentionLimits) (*web.Answer[RetentionPreview], error) {
	b, err := a.HistoryStore.RetentionPreview(ctx, k)
	if err != nil {
		return nil, err
	}
	preview := RetentionPreview{Calls: b.Calls, Total: b.All, Estimated: b.About}
	if !b.From.IsZero() {
		preview.From, preview.To = &b.From, &b.To
	}
	return web.Reply(preview)
}

func (a *API) vacuum(ctx context.Context, _ *web.None) (*web.Answer[HistoryState], error) {
	if err := a.HistoryStore.Vacuum(ctx); err != nil {
		return nil, err
	}
	return a.historyState(ctx, nil)
}

type backupInput struct {
	Body struct {
		Path string `json:"path" minLength:"1" maxLength:"4096" doc:"Absolute path of a file that does not exist yet"`
	}
}

// BackupFile is a written backup.
type BackupFile struct {
	Path string `json:"path"`
}

func (a *API) backup(ctx context.Context, in *backupInput) (*web.Answer[BackupFile], error) {
	if !filepath.IsAbs(in.Body.Path) {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "body.path", Error: "must be absolute"}}}
	}
	if err := a.HistoryStore.Backup(ctx, in.Body.Path); err != nil {
		return nil, err
	}
	return web.Reply(BackupFile{in.Body.Path})
}

// clockNotice reports that a jump of the clock made all calls expire.
func clockNotice(h *store.HeldCalls) core.Notice {
	return core.Notice{Subject: "clock", Message: fmt.Sprintf("The system clock jumped from %s to %s, so all calls (%d) would have expired. They will be kept until %s, according to the new time. If the clock is wrong, correct it.",
		h.From.Local().Format("2 January 2006"), h.Until.Add(-24*time.Hour).Local().Format("2 January 2006"), h.Calls, h.Until.Local().Format("2 January 2006, 15:04"))}
}

type exportInput struct {
	CallFilter
	Format string `query:"format" enum:"jsonl,csv,har,cassette" doc:"Default: jsonl"`
	Limit  int    `query:"limit" minimum:"1" doc:"Default: all"`
}

func (a *API) registerExport(r *web.Router) {
	web.Op(r, "GET", "/api/v1/export", "Calls as JSONL, CSV (format=csv), an HTTP Archive (format=har) or a cassette of one server (format=cassette), with the filters of GET /api/v1/calls", a.export,
		map[string]*huma.Response{"200": {Description: "The file", Content: map[string]*huma.MediaType{
			"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}},
			"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}},
		}}})
}

func (a *API) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	q := in.query()
	q.Limit = in.Limit
	if err := q.Check(); err != nil { // before the first byte: later nobody could be told
		return nil, err
	}
	write, kind, name := history.JSONL, "application/jsonl", "calls.jsonl"
	switch in.Format {
	case "csv":
		write, kind, name = history.CSV, "text/csv; charset=utf-8", "calls.csv"
	case "har":
		write, kind, name = history.HAR, "application/json", "calls.har"
	case "cassette":
		if q.Server == "" {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "query.server", Error: "is required for a cassette"}}}
		}
		recording, err := history.ReadRecording(ctx, a.HistoryStore, q)
		if err != nil {
			return nil, err
		}
		write = func(_ context.Context, w io.Writer, _ history.Calls, _ store.Query) error { return recording.Write(w) }
	}
	return &huma.StreamResponse{Body: func(response huma.Context) {
		_, w := humago.Unwrap(response)
		h := w.Header()
		web.NoStore(h)
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		if err := write(ctx, w, a.History, q); err != nil && ctx.Err() == nil {
			a.Log.Error("Cannot export calls", "error", err)
			panic(http.ErrAbortHandler) // a file that ends early must not look whole
		}
	}}, nil
}

type configRetentionInput struct {
	Body struct {
		Text string `json:"text,omitempty" maxLength:"2000000" doc:"New text of the configuration file"`
		Copy string `json:"copy,omitempty" maxLength:"60" doc:"Alternatively, the name of a backup to restore"`
	}
}

// previewRetention counts the calls that are deleted if a text becomes the configuration file. The
// result is zero if the text does not reduce retention, or if it is invalid and thus refused.
func (a *API) previewRetention(ctx context.Context, in *configRetentionInput) (*web.Answer[RetentionPreview], error) {
	text := []byte(in.Body.Text)
	if in.Body.Copy != "" {
		var err error
		if text, err = a.readCopy(in.Body.Copy); err != nil {
			return nil, err
		}
	}
	path, was, _, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, err
	}
	next, _ := config.Parse(path, text)
	if next == nil {
		return web.Reply(RetentionPreview{})
	}
	// Both are compared as the same file, because other files may also configure the history.
	now, _ := config.Parse(path, was)
	if now == nil {
		now = a.ConfigEditor.Current()
	}
	if !next.History.KeepsLess(now.History) {
		return web.Reply(RetentionPreview{})
	}
	return a.previewLimits(ctx, store.RetentionLimits{Age: next.History.KeepFor, Bytes: next.History.MaxBytes})
}

type usageInput struct {
	From   time.Time `query:"from" doc:"Widened to full hours, or full minutes within the last 48 h; a range of two weeks or more starts at midnight UTC; default: 24 h before 'to'"`
	To     time.Time `query:"to" doc:"Default: now"`
	Server string    `query:"server" maxLength:"256" server:"name" doc:"Server id or name"`
	Tool   string    `query:"tool" maxLength:"1000"`
	Client string    `query:"client" maxLength:"1000"`
}

// UsageReport holds the statistics of a time range.
type UsageReport struct {
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Total    UsageStats   `json:"total"`
	Servers  []UsageStats `json:"servers" nullable:"false" doc:"Most called first"`
	Tools    []UsageStats `json:"tools" nullable:"false"`
	Clients  []UsageStats `json:"clients" nullable:"false"`
	Series   []UsageStats `json:"series" nullable:"false" doc:"In chronological order; intervals without calls are omitted"`
	SeriesNs int64        `json:"seriesNs" doc:"Interval of the series"`

	Versions []store.VersionStart `json:"versions" nullable:"false" doc:"Versions that responded to their first call in the range, oldest first: those of the server, or without one, those that replaced another version; at most the newest 50"`
}

// UsageStats holds the statistics of one name. Durations have an error of at most 4.5 %.
type UsageStats struct {
	Server   string     `json:"server,omitempty"`
	Tool     string     `json:"tool,omitempty"`
	Client   string     `json:"client,omitempty"`
	Token    string     `json:"token,omitempty"`
	At       *time.Time `json:"at,omitempty" doc:"Start of the interval; series only"`
	Calls    int64      `json:"calls"`
	Errors   int64      `json:"errors"`
	P50Ns    int64      `json:"p50Ns"`
	P95Ns    int64      `json:"p95Ns"`
	P99Ns    int64      `json:"p99Ns"`
	MeanNs   int64      `json:"meanNs"`
	LastUsed *time.Time `json:"lastUsed,omitempty"`

	ResultBytes   int64 `json:"resultBytes" doc:"Size of the results"`
	ResultTokens  int64 `json:"resultTokens" doc:"The same, as an estimated number of tokens"`
	RepeatedBytes int64 `json:"repeatedBytes" doc:"Part of the results: text that repeats structuredContent"`
	BlankBytes    int64 `json:"blankBytes" doc:"Part of the results: white space between JSON tokens, and in text after other white space"`
}

func (a *API) usage(ctx context.Context, in *usageInput) (*web.Answer[UsageReport], error) {
	u, err := a.HistoryStore.Usage(ctx, store.UsageQuery{From: in.From, To: in.To, Server: in.Server, Tool: in.Tool, Client: in.Client})
	if err != nil {
		return nil, err
	}
	list := func(from []store.Use) []UsageStats {
		out := make([]UsageStats, len(from))
		for i := range from {
			out[i] = newUsageStats(&from[i])
		}
		return out
	}
	return web.Reply(UsageReport{u.From, u.To, newUsageStats(&u.Total), list(u.ByServer), list(u.ByTool), list(u.ByClient), list(u.Series), int64(u.SeriesFor), web.NonNil(u.Versions)})
}

func newUsageStats(u *store.Use) UsageStats {
	when := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return UsageStats{
		Server: u.Server, Tool: u.Tool, Client: u.Client, Token: u.Token, At: when(u.At), Calls: u.Calls, Errors: u.Errors,
		P50Ns: int64(u.P50), P95Ns: int64(u.P95), P99Ns: int64(u.P99), MeanNs: int64(u.Mean), LastUsed: when(u.LastUsed),
		ResultBytes: u.ResultBytes, ResultTokens: int64(profiles.EstimateTokens(int(u.ResultBytes))), RepeatedBytes: u.RepeatedBytes, BlankBytes: u.BlankBytes,
	}
}
