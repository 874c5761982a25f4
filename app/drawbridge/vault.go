package main

import (
	"context"
	"sync"
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

// guarding hands out secrets, and lets the recorder know each before anybody has it.
func (k *keeper) guarding(vault *secret.Store) func(context.Context, string) (string, error) {
	var mu sync.Mutex
	known := 0
	return func(ctx context.Context, name string) (string, error) {
		value, err := vault.Get(ctx, name)
		mu.Lock()
		defer mu.Unlock()
		if n := len(vault.Known()); n != known {
			k.again()
			known = n
		}
		return value, err
	}
}
