package history

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

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

// HeldCalls are calls that expired by a jump of the clock and are kept for a day in case the clock
// is wrong.
type HeldCalls struct {
	Calls int64     `json:"calls"`
	From  time.Time `json:"from" doc:"Time before the jump"`
	Until time.Time `json:"until" doc:"Time at which they are deleted, unless the clock is corrected first"`
}

func (f *Feature) historyState(ctx context.Context, _ *web.None) (*web.Answer[HistoryState], error) {
	size, err := f.Store.Size(ctx)
	if err != nil {
		return nil, err
	}
	index, err := f.Store.Index(ctx)
	if err != nil {
		return nil, err
	}
	st, cfg := f.Store.Recorder().Stats(), f.Config().History
	s := HistoryState{
		Calls: size.Calls, Bytes: size.Bytes, FreeBytes: size.FreeBytes, IndexPending: index.Pending,
		Recorder: RecorderStatus{State: st.State, Queued: st.Queued, Dropped: st.Dropped}, Recording: f.Store.Recording(),
		KeepDays: int64(cfg.KeepFor / (24 * time.Hour)), MaxBytes: cfg.MaxBytes,
	}
	if !index.UpTo.IsZero() {
		s.IndexedUpTo = &index.UpTo
	}
	if h := f.Store.HeldCalls(); h != nil {
		s.ClockHold = &HeldCalls{h.Calls, h.From.UTC(), h.Until.UTC()}
	}
	return web.Reply(s)
}

type recordingInput struct{ Body store.RecordingSettings }

func (f *Feature) putRecording(ctx context.Context, in *recordingInput) (*web.Answer[HistoryState], error) {
	if err := f.Store.SaveRecording(ctx, in.Body); err != nil {
		return nil, err
	}
	return f.historyState(ctx, nil)
}

// PruneInputBody holds the limits of a prune; without any, those of the configuration apply.
type PruneInputBody struct {
	KeepDays int64 `json:"keepDays,omitempty" minimum:"0" maximum:"36500"`
	MaxBytes int64 `json:"maxBytes,omitempty" minimum:"0"`
	MaxCalls int64 `json:"maxCalls,omitempty" minimum:"0"`
}

type pruneInput struct{ Body PruneInputBody }

func (f *Feature) prune(ctx context.Context, in *pruneInput) (*web.Answer[Deleted], error) {
	k := store.RetentionLimits{Age: time.Duration(in.Body.KeepDays) * 24 * time.Hour, Bytes: in.Body.MaxBytes, Rows: in.Body.MaxCalls}
	if k == (store.RetentionLimits{}) {
		cfg := f.Config().History
		k = store.RetentionLimits{Age: cfg.KeepFor, Bytes: cfg.MaxBytes} // 0 means no limit in both
	}
	n, err := f.Store.Prune(ctx, k)
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

func (f *Feature) previewPrune(ctx context.Context, in *retentionPreviewInput) (*web.Answer[RetentionPreview], error) {
	return f.PreviewLimits(ctx, store.RetentionLimits{Age: time.Duration(in.Body.KeepDays) * 24 * time.Hour, Bytes: in.Body.MaxBytes, Rows: in.Body.MaxCalls})
}

// PreviewLimits previews what limits would delete.
func (f *Feature) PreviewLimits(ctx context.Context, k store.RetentionLimits) (*web.Answer[RetentionPreview], error) {
	b, err := f.Store.RetentionPreview(ctx, k)
	if err != nil {
		return nil, err
	}
	preview := RetentionPreview{Calls: b.Calls, Total: b.All, Estimated: b.About}
	if !b.From.IsZero() {
		preview.From, preview.To = &b.From, &b.To
	}
	return web.Reply(preview)
}

func (f *Feature) vacuum(ctx context.Context, _ *web.None) (*web.Answer[HistoryState], error) {
	if err := f.Store.Vacuum(ctx); err != nil {
		return nil, err
	}
	return f.historyState(ctx, nil)
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

func (f *Feature) backup(ctx context.Context, in *backupInput) (*web.Answer[BackupFile], error) {
	if !filepath.IsAbs(in.Body.Path) {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "body.path", Error: "must be absolute"}}}
	}
	if err := f.Store.Backup(ctx, in.Body.Path); err != nil {
		return nil, err
	}
	return web.Reply(BackupFile{in.Body.Path})
}

// ClockNotice reports that a jump of the clock made all calls expire.
func ClockNotice(h *store.HeldCalls) core.Notice {
	return core.Notice{Subject: "clock", Message: fmt.Sprintf("The system clock jumped from %s to %s, so all calls (%d) would have expired. They will be kept until %s, according to the new time. If the clock is wrong, correct it.",
		h.From.Local().Format("2 January 2006"), h.Until.Add(-24*time.Hour).Local().Format("2 January 2006"), h.Calls, h.Until.Local().Format("2 January 2006, 15:04"))}
}

type exportInput struct {
	CallFilter
	Format string `query:"format" enum:"jsonl,csv,cassette" doc:"Default: jsonl"`
	Limit  int    `query:"limit" minimum:"1" doc:"Default: all"`
}

func (f *Feature) registerExport(r *web.Router) {
	web.Op(r, "GET", "/api/v1/export", "Calls as JSONL, CSV (format=csv) or a cassette of one server (format=cassette), with the filters of GET /api/v1/calls", f.export,
		map[string]*huma.Response{"200": {Description: "The file", Content: map[string]*huma.MediaType{
			"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}},
		}}})
}

func (f *Feature) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	q := in.query()
	q.Limit = in.Limit
	if err := q.Check(); err != nil { // before the first byte: later nobody could be told
		return nil, err
	}
	write, kind, name := JSONL, "application/jsonl", "calls.jsonl"
	switch in.Format {
	case "csv":
		write, kind, name = CSV, "text/csv; charset=utf-8", "calls.csv"
	case "cassette":
		if q.Server == "" {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "query.server", Error: "is required for a cassette"}}}
		}
		recording, err := ReadRecording(ctx, f.Store, q)
		if err != nil {
			return nil, err
		}
		write = func(_ context.Context, w io.Writer, _ Calls, _ store.Query) error { return recording.Write(w) }
	}
	return &huma.StreamResponse{Body: func(response huma.Context) {
		_, w := humago.Unwrap(response)
		h := w.Header()
		web.NoStore(h)
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		if err := write(ctx, w, f.Store, q); err != nil && ctx.Err() == nil {
			f.Log.Error("Cannot export calls", "error", err)
			panic(http.ErrAbortHandler) // a file that ends early must not look whole
		}
	}}, nil
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

// UsageStats holds the statistics of one name. Durations are those of servers, without the time in
// which calls waited for the user or a free slot, and have an error of at most 4.5 %.
type UsageStats struct {
	Server   string     `json:"server,omitempty"`
	Tool     string     `json:"tool,omitempty"`
	Client   string     `json:"client,omitempty"`
	Token    string     `json:"token,omitempty"`
	At       *time.Time `json:"at,omitempty" doc:"Start of the interval; series only"`
	Calls    int64      `json:"calls"`
	Errors   int64      `json:"errors"`
	Rejected int64      `json:"rejected" doc:"Calls that the policy or the user rejected; they are not errors"`
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

func (f *Feature) usage(ctx context.Context, in *usageInput) (*web.Answer[UsageReport], error) {
	u, err := f.Store.Usage(ctx, store.UsageQuery{From: in.From, To: in.To, Server: in.Server, Tool: in.Tool, Client: in.Client})
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
		Server: u.Server, Tool: u.Tool, Client: u.Client, Token: u.Token, At: when(u.At), Calls: u.Calls, Errors: u.Errors, Rejected: u.Rejected,
		P50Ns: int64(u.P50), P95Ns: int64(u.P95), P99Ns: int64(u.P99), MeanNs: int64(u.Mean), LastUsed: when(u.LastUsed),
		ResultBytes: u.ResultBytes, ResultTokens: int64(bridge.EstimateTokens(int(u.ResultBytes))), RepeatedBytes: u.RepeatedBytes, BlankBytes: u.BlankBytes,
	}
}

// RecorderStatus reports whether calls are being recorded.
type RecorderStatus struct {
	State   string `json:"state" enum:"recording,paused,off"`
	Queued  int    `json:"queued" doc:"Calls waiting to be written"`
	Dropped uint64 `json:"dropped" doc:"Calls dropped since the start"`
	// Full is shown on every page, because it stores more than usual.
	Full []store.FullRecording `json:"full,omitempty" doc:"What is recorded in full for a while"`
}
