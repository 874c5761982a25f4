package api

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
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

// FullRecording is what is recorded in full for a while.
type FullRecording = store.FullRecording

// HeldCalls are calls that expired by a jump of the clock and are kept for a day in case the clock
// is wrong.
type HeldCalls struct {
	Calls int64     `json:"calls"`
	From  time.Time `json:"from" doc:"Time before the jump"`
	Until time.Time `json:"until" doc:"Time at which they are deleted, unless the clock is corrected first"`
}

func (a *API) historyState(ctx context.Context, _ *none) (*answer[HistoryState], error) {
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
	return reply(s)
}

type recordingInput struct{ Body store.RecordingSettings }

func (a *API) putRecording(ctx context.Context, in *recordingInput) (*answer[HistoryState], error) {
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

func (a *API) prune(ctx context.Context, in *pruneInput) (*answer[Deleted], error) {
	k := store.RetentionLimits{Age: time.Duration(in.Body.KeepDays) * 24 * time.Hour, Bytes: in.Body.MaxBytes, Rows: in.Body.MaxCalls}
	if k == (store.RetentionLimits{}) {
		cfg := a.ConfigEditor.Current().History
		k = store.RetentionLimits{Age: cfg.KeepFor, Bytes: cfg.MaxBytes} // 0 means no limit in both
	}
	n, err := a.HistoryStore.Prune(ctx, k)
	if err != nil {
		return nil, err
	}
	return reply(Deleted{n})
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

func (a *API) previewPrune(ctx context.Context, in *retentionPreviewInput) (*answer[RetentionPreview], error) {
	return a.previewLimits(ctx, store.RetentionLimits{Age: time.Duration(in.Body.KeepDays) * 24 * time.Hour, Bytes: in.Body.MaxBytes, Rows: in.Body.MaxCalls})
}

func (a *API) previewLimits(ctx context.Context, k store.RetentionLimits) (*answer[RetentionPreview], error) {
	b, err := a.HistoryStore.RetentionPreview(ctx, k)
	if err != nil {
		return nil, err
	}
	preview := RetentionPreview{Calls: b.Calls, Total: b.All, Estimated: b.About}
	if !b.From.IsZero() {
		preview.From, preview.To = &b.From, &b.To
	}
	return reply(preview)
}

func (a *API) vacuum(ctx context.Context, _ *none) (*answer[HistoryState], error) {
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

func (a *API) backup(ctx context.Context, in *backupInput) (*answer[BackupFile], error) {
	if !filepath.IsAbs(in.Body.Path) {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "body.path", Error: "must be absolute"}}}
	}
	if err := a.HistoryStore.Backup(ctx, in.Body.Path); err != nil {
		return nil, err
	}
	return reply(BackupFile{in.Body.Path})
}

// clockNotice reports that a jump of the clock made all calls expire.
func clockNotice(h *store.HeldCalls) core.Notice {
	return core.Notice{Subject: "clock", Message: fmt.Sprintf("The system clock jumped from %s to %s, so all calls (%d) would have expired. They will be kept until %s, according to the new time. If the clock is wrong, correct it.",
		h.From.Local().Format("2 January 2006"), h.Until.Add(-24*time.Hour).Local().Format("2 January 2006"), h.Calls, h.Until.Local().Format("2 January 2006, 15:04"))}
}
