package main

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// commandApprovals stores in the history database which commands the user has approved.
type commandApprovals struct{ facts *store.Store }

func (a commandApprovals) key(server, key string) string { return "approved/" + server + "/" + key }

// Approved reports whether the user has approved the command that key identifies, and in which sandbox.
func (a commandApprovals) Approved(ctx context.Context, server, key string) (sandbox []byte, ok bool, err error) {
	return a.facts.Metadata(ctx, a.key(server, key))
}

// Approve stores the approval of the user.
func (a commandApprovals) Approve(ctx context.Context, server, key string, sandbox []byte) error {
	return a.facts.SaveMetadata(ctx, a.key(server, key), sandbox)
}
