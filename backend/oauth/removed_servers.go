package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

const (
	// removalGrace is how long a server must be missing from the configuration before its sign-in
	// is deleted. The user stays signed in when a removal is undone or an entry moves to another
	// file.
	removalGrace        = 10 * time.Minute
	lockedRetryInterval = time.Minute // retry interval while the keyring is locked
)

// Apply sets the configured servers: a hash of the settings of each, by its id. A sign-in in progress
// ends if its server was removed or has other settings: the user has agreed to sign in to another
// one. Apply does not block.
func (k *Keeper) Apply(servers map[string]string) {
	configured := make(map[string]bool, len(servers))
	for id := range servers {
		configured[id] = true
	}
	k.mu.Lock()
	before := k.settings
	k.configured, k.settings = configured, servers
	for id, a := range k.accounts {
		switch {
		case before == nil:
		case !configured[id]:
			a.abortLogin(errors.New("the server was removed"))
		case before[id] != servers[id]:
			a.abortLogin(errors.New("the settings of the server have changed: sign in again"))
		}
	}
	k.mu.Unlock()
	select {
	case k.configChanged <- struct{}{}:
	default:
	}
}

// Run deletes and revokes the sign-ins of servers that are no longer configured, until ctx is
// cancelled. It returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	gone := map[string]time.Time{} // server id to the time when it was first missing
	timer := time.NewTimer(removalGrace)
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.configChanged:
		case <-timer.C:
		}
		if next := k.deleteRemoved(ctx, gone, time.Now()); next > 0 {
			timer.Reset(next)
		} else {
			timer.Stop()
		}
	}
}

// deleteRemoved deletes the sign-ins of servers that have been missing for removalGrace. It returns
// the delay until the next check, 0 if none is needed.
func (k *Keeper) deleteRemoved(ctx context.Context, gone map[string]time.Time, now time.Time) (next time.Duration) {
	k.mu.Lock()
	configured := k.configured
	k.mu.Unlock()
	names, err := k.opts.Vault.Names(ctx)
	if err != nil {
		return lockedRetryInterval
	}
	left := map[string]bool{}
	for _, name := range names {
		id, ok := strings.CutPrefix(name, serverPrefix)
		if !ok || configured[id] {
			continue
		}
		left[id] = true
		since, known := gone[id]
		if !known {
			since, gone[id] = now, now
		}
		wait := removalGrace - now.Sub(since)
		if wait <= 0 {
			if wait = 0; k.deleteSignIn(ctx, id) != nil {
				wait = lockedRetryInterval
			}
		}
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	for id := range gone {
		if !left[id] {
			delete(gone, id) // configured again, or deleted
		}
	}
	return next
}

// deleteSignIn deletes the stored sign-in of a server and revokes its tokens in the background. The
// client registration at the issuer is deleted with the last server that uses it.
func (k *Keeper) deleteSignIn(ctx context.Context, id string) error {
	rec, err := k.readRecord(ctx, id)
	if err != nil {
		return err
	}
	names := []string{recordName(id)}
	if rec != nil && !k.issuerInUse(ctx, id, rec.Issuer) {
		names = append(names, registrationName(rec.Issuer))
	}
	if _, err := k.opts.Vault.Remove(ctx, names...); err != nil {
		return err
	}
	k.mu.Lock()
	a := k.accounts[id]
	delete(k.accounts, id)
	k.mu.Unlock()
	var g *guard
	s := Server{ID: id}
	if a != nil {
		g = a.guard
		a.cancelLogin(errors.New("the server was removed"))
		a.base.CloseIdleConnections()
		a.mu.Lock()
		a.rec, s = nil, a.server
		a.mu.Unlock()
	} else if rec != nil { // not used in this run
		u, _ := url.Parse(rec.URL) // nil if it cannot be read
		g = newGuard(u)
	}
	k.opts.Log.Info("Deleted the tokens of a removed server", "server", id)
	if rec != nil {
		k.work.Go(func() { k.revokeTokens(g, rec, s) })
	}
	return nil
}

// readRecord returns the record stored under a server's id, whatever its URL, or nil if there is
// none.
func (k *Keeper) readRecord(ctx context.Context, id string) (*record, error) {
	text, err := k.opts.Vault.Get(ctx, recordName(id))
	if core.CodeOf(err) == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if json.Unmarshal([]byte(text), r) != nil {
		return nil, nil // unreadable records are deleted like absent ones
	}
	return r, nil
}

// issuerInUse reports whether another server is signed in at the same issuer. It returns true if
// that cannot be determined.
func (k *Keeper) issuerInUse(ctx context.Context, id, issuer string) bool {
	names, err := k.opts.Vault.Names(ctx)
	for _, name := range names {
		other, ok := strings.CutPrefix(name, serverPrefix)
		if !ok || other == id {
			continue
		}
		if r, err := k.readRecord(ctx, other); err != nil || r != nil && r.Issuer == issuer {
			return true
		}
	}
	return err != nil
}

// ForgetAll deletes all stored sign-ins and client registrations, and revokes the tokens in the
// background.
func (k *Keeper) ForgetAll(ctx context.Context) error {
	names, err := k.opts.Vault.Names(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		id, ok := strings.CutPrefix(name, serverPrefix)
		if !ok {
			continue
		}
		if err := k.Logout(ctx, id); core.CodeOf(err) == core.CodeConflict { // not used in this run
			err = k.deleteSignIn(ctx, id)
			failed = errors.Join(failed, err)
		} else if core.CodeOf(err) != core.CodeNotFound {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil || len(names) == 0 {
		return failed
	}
	_, err = k.opts.Vault.Remove(ctx, names...)
	return err
}
