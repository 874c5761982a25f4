package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type noticeInput struct {
	Subject string `path:"subject" maxLength:"100"`
}

func (a *API) dismissNotice(_ context.Context, in *noticeInput) (*none, error) {
	if !a.CommandApprovals.Dismiss(in.Subject) && !a.Observer.Dismiss(in.Subject) {
		return nil, core.Errorf(core.CodeNotFound, "there is no such notice, or it cannot be acknowledged because it describes the current state")
	}
	return &none{}, nil
}
