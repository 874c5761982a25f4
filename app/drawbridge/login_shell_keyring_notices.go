package main

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
)

// loginNotice returns the notice that the environment of the login shell, which servers need to
// find their programs, cannot be read. Its Message is empty if failed is nil.
func loginNotice(failed error) core.Notice {
	n := core.Notice{Subject: "login-shell"}
	if failed != nil {
		n.Message = "Servers get the PATH that Drawbridge was started with, because the environment of the login shell could not be read: " + failed.Error() + ". " +
			"Check what the shell's startup files are waiting for, or increase loginShellTimeoutMs in globalSettings. The startup files are read again when a server is restarted."
	}
	return n
}

// vaultNotices returns notices about where the key of the secrets is stored if that is not a
// keyring, and about servers that wait for a locked keyring.
func vaultNotices(vault *secret.Store) []core.Notice {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if notice := vault.Status(ctx).Notice; notice != "" {
		return []core.Notice{{Subject: "secrets", Message: notice}}
	}
	return nil
}
