package main

import (
	"context"
	"time"

	"drawbridge/backend/event"
	"drawbridge/backend/secret"
)

// vaultNotices says where the key of the secrets is when that is no keyring, and that
// servers wait for one that is locked.
func vaultNotices(vault *secret.Store) []event.Notice {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if notice := vault.Status(ctx).Notice; notice != "" {
		return []event.Notice{{Subject: "secrets", Message: notice}}
	}
	return nil
}

// guarding hands out secrets. The recorder knows each before anybody has it, and one that
// is set as soon as it is.
func (k *keeper) guarding(vault *secret.Store) func(context.Context, string) (string, error) {
	vault.OnLearned(k.again)
	return vault.Get
}
