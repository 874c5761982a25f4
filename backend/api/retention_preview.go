package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

type configRetentionInput struct {
	Body struct {
		Text string `json:"text,omitempty" maxLength:"2000000" doc:"New text of the configuration file"`
		Copy string `json:"copy,omitempty" maxLength:"60" doc:"Alternatively, the name of a backup to restore"`
	}
}

// previewRetention counts the calls that are deleted if a text becomes the configuration file. The
// result is zero if the text does not reduce retention, or if it is invalid and thus refused.
func (a *API) previewRetention(ctx context.Context, in *configRetentionInput) (*web.Answer[history.RetentionPreview], error) {
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
		return web.Reply(history.RetentionPreview{})
	}
	// Both are compared as the same file, because other files may also configure the history.
	now, _ := config.Parse(path, was)
	if now == nil {
		now = a.ConfigEditor.Current()
	}
	if !next.History.KeepsLess(now.History) {
		return web.Reply(history.RetentionPreview{})
	}
	return a.History.PreviewLimits(ctx, store.RetentionLimits{Age: next.History.KeepFor, Bytes: next.History.MaxBytes})
}
