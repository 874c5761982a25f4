package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// record is the stored sign-in of one server. It is valid for one server id and URL: after a change
// of the URL the tokens are not used.
type record struct {
	URL                string         `json:"url"`
	Resource           string         `json:"resource"`
	Issuer             string         `json:"issuer"`
	Metadata           string         `json:"metadata,omitempty"` // URL of the protected resource metadata
	TokenEndpoint      string         `json:"tokenEndpoint"`
	RevocationEndpoint string         `json:"revocationEndpoint,omitempty"`
	Client             clientIdentity `json:"client"`

	Access          string    `json:"access,omitempty"`
	Refresh         string    `json:"refresh,omitempty"`
	Expires         time.Time `json:"expires,omitzero"`
	Scopes          []string  `json:"scopes,omitempty"` // granted scopes, or the requested ones if the server does not report them
	RequestedScopes []string  `json:"asked,omitempty"`
	Since           time.Time `json:"since"`
}

// registration is a dynamically registered client and the issuer at which it is registered.
type registration struct {
	Issuer  string         `json:"issuer"`
	Client  clientIdentity `json:"client"`
	Port    int            `json:"port"` // port of the redirect URI
	Expires time.Time      `json:"expires,omitzero"`
	Proven  bool           `json:"proven"` // a sign-in with it has succeeded
}

// Vault stores encrypted values by name. *secret.InternalValues implements it. Get returns an error
// with code not_found for a value that does not exist.
type Vault interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, value string) error
	Remove(ctx context.Context, names ...string) (bool, error)
	// Move renames a value. It returns nil if the value does not exist.
	Move(ctx context.Context, from, to string) error
	// Names returns the names of all values, as far as they are known while the keyring is locked.
	Names(ctx context.Context) ([]string, error)
	// Ready returns the error with which Set would fail, or nil.
	Ready(ctx context.Context) error
}

const (
	serverPrefix       = "server/"
	registrationPrefix = "client/"
)

func recordName(id string) string { return serverPrefix + id }

// registrationName returns the vault name of the registration at an issuer. The issuer is hashed,
// because it can contain any characters.
func registrationName(issuer string) string {
	sum := sha256.Sum256([]byte(issuer))
	return registrationPrefix + hex.EncodeToString(sum[:16])
}

// loadRecord returns the stored record of a server. It returns nil if there is none or if it
// belongs to another URL.
func (k *Keeper) loadRecord(ctx context.Context, s Server) (*record, error) {
	text, err := k.opts.Vault.Get(ctx, recordName(s.ID))
	if core.CodeOf(err) == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("cannot read the stored tokens of server %q: %w", s.ID, err)
	}
	if r.URL != s.URL || !validToken(r.Access) && r.Access != "" {
		return nil, nil
	}
	k.addKnownSecrets(r.Access, r.Refresh)
	return r, nil
}

func (k *Keeper) saveRecord(ctx context.Context, id string, r *record) error {
	k.addKnownSecrets(r.Access, r.Refresh)
	return k.saveJSON(ctx, recordName(id), r)
}

func (k *Keeper) saveJSON(ctx context.Context, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return k.opts.Vault.Set(ctx, name, string(text))
}

// loadRegistration returns the stored registration at an issuer if it can be reused, otherwise nil.
func (k *Keeper) loadRegistration(ctx context.Context, issuer string) (*registration, error) {
	text, err := k.opts.Vault.Get(ctx, registrationName(issuer))
	if core.CodeOf(err) == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &registration{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("cannot read a registration: %w", err)
	}
	if r.Issuer != issuer || !r.Proven || !r.Expires.IsZero() && time.Until(r.Expires) < time.Hour {
		return nil, nil
	}
	k.addKnownSecrets(r.Client.Secret)
	return r, nil
}

// addKnownSecrets adds values to those that KnownSecrets returns, and calls the observer before it
// returns.
func (k *Keeper) addKnownSecrets(values ...string) {
	k.mu.Lock()
	added := false
	for _, v := range values {
		if len(v) >= 6 && !slices.Contains(k.knownSecrets, v) {
			k.knownSecrets = append(slices.Clip(k.knownSecrets), v)
			if len(k.knownSecrets) > maxKnownSecrets {
				k.knownSecrets = slices.Clone(k.knownSecrets[len(k.knownSecrets)-maxKnownSecrets:])
			}
			added = true
		}
	}
	k.mu.Unlock()
	if added {
		k.onNewSecrets()
	}
}

// maxKnownSecrets limits how many values KnownSecrets returns. The oldest ones are dropped: tokens
// that were replaced long ago are no longer valid.
const maxKnownSecrets = 500

// KnownSecrets returns the tokens and client secrets that this process has seen, so that they can
// be redacted in recordings. The slice is shared: callers must not modify it.
func (k *Keeper) KnownSecrets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.knownSecrets
}
