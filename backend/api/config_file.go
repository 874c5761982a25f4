package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type configAnswer struct {
	ETag string `header:"ETag"`
	Body ConfigFile
}

func (a *API) getConfig(context.Context, *none) (*configAnswer, error) {
	path, text, etag, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "cannot read the configuration file", Cause: err}
	}
	return &configAnswer{ETag: `"` + etag + `"`, Body: ConfigFile{Path: path, Text: string(text), ETag: etag, Problems: nonNil(a.ConfigEditor.Problems())}}, nil
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
	err := a.ConfigEditor.Replace(ctx, []byte(in.Body.Text), etag)
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
