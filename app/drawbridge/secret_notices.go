package main

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
)

// loginNotice says that the login shell did not tell what servers need to find their
// programs. Its Message is empty when it did.
func loginNotice(failed error) event.Notice {
	n := event.Notice{Subject: "login-shell"}
	if failed != nil {
		n.Message = "Servers get the PATH that Drawbridge was started with: " + failed.Error() + ". " +
			"See what its start-up files wait for, or raise loginShellTimeoutMs in globalSettings. They are read again when a server is restarted."
	}
	return n
}

// vaultNotices says where the key of the secrets is when that is not a keyring, and that
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
func (k *secretFeed) guarding(vault *secret.Store) func(context.Context, string) (string, error) {
	vault.OnLearned(k.again)
	return vault.Get
}
