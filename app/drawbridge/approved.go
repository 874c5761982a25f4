package main

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// approved keeps in the history's file which commands a person has agreed to.
type approved struct{ facts *store.Store }

func (a approved) key(server, key string) string { return "approved/" + server + "/" + key }

// Approved reports whether a person has agreed to the command that key stands for.
func (a approved) Approved(ctx context.Context, server, key string) (bool, error) {
	_, ok, err := a.facts.Fact(ctx, a.key(server, key))
	return ok, err
}

// Approve remembers that a person has agreed.
func (a approved) Approve(ctx context.Context, server, key string) error {
	return a.facts.SaveFact(ctx, a.key(server, key), []byte("1"))
}
