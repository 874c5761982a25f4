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
