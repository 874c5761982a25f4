package main

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// commandApprovals keeps in the history's file which commands the user has agreed to.
type commandApprovals struct{ facts *store.Store }

func (a commandApprovals) key(server, key string) string { return "approved/" + server + "/" + key }

// Approved reports whether the user has agreed to the command that key stands for.
func (a commandApprovals) Approved(ctx context.Context, server, key string) (bool, error) {
	_, ok, err := a.facts.Metadata(ctx, a.key(server, key))
	return ok, err
}

// Approve remembers that the user has agreed.
func (a commandApprovals) Approve(ctx context.Context, server, key string) error {
	return a.facts.SaveMetadata(ctx, a.key(server, key), []byte("1"))
}
