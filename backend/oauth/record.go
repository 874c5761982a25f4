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

// record is what is kept of one server's sign-in. It belongs to the server's id and its
// address: a server that moves does not take tokens along.
type record struct {
	URL        string `json:"url"`
	Resource   string `json:"resource"`
	Issuer     string `json:"issuer"`
	Metadata   string `json:"metadata,omitempty"` // where the server describes itself
	Token      string `json:"tokenEndpoint"`
	Revocation string `json:"revocationEndpoint,omitempty"`
	Client     client `json:"client"`

	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitempty"` // granted, or asked for where the server does not say
	Asked   []string  `json:"asked,omitempty"`
	Since   time.Time `json:"since"`
}

// registration is a client that we registered, with the issuer that it is known to.
type registration struct {
	Issuer  string    `json:"issuer"`
	Client  client    `json:"client"`
	Port    int       `json:"port"` // of the address that answers come to
	Expires time.Time `json:"expires,omitzero"`
	Proven  bool      `json:"proven"` // somebody has signed in with it
}

// Vault keeps sealed values by name; *secret.Private implements it. The error of a value
// that is not there has code not_found.
type Vault interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, value string) error
	Remove(ctx context.Context, names ...string) (bool, error)
	// Move gives a value another name; one that is not there is no error.
	Move(ctx context.Context, from, to string) error
	// Names returns what is there, as far as that is known while the keyring is locked.
	Names(ctx context.Context) ([]string, error)
	// Ready says why Set would fail.
	Ready(ctx context.Context) error
}

const (
	ofServer = "server/"
	ofClient = "client/"
)

func nameOfServer(id string) string { return ofServer + id }

// nameOfClient is the same for issuers that count as one, whatever characters they hold.
func nameOfClient(issuer string) string {
	sum := sha256.Sum256([]byte(issuer))
	return ofClient + hex.EncodeToString(sum[:16])
}

// load reads what is kept of a server. A record of another address counts as none.
func (k *Keeper) load(ctx context.Context, s Server) (*record, error) {
	text, err := k.o.Vault.Get(ctx, nameOfServer(s.ID))
	if core.CodeOf(err) == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("cannot read the sign-in of server %q: %w", s.ID, err)
	}
	if r.URL != s.URL || !validToken(r.Access) && r.Access != "" {
		return nil, nil
	}
	k.remember(r.Access, r.Refresh)
	return r, nil
}

func (k *Keeper) save(ctx context.Context, id string, r *record) error {
	k.remember(r.Access, r.Refresh)
	return k.put(ctx, nameOfServer(id), r)
}

func (k *Keeper) put(ctx context.Context, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return k.o.Vault.Set(ctx, name, string(text))
}

// registered returns our registration at an issuer that can be used again, or nil.
func (k *Keeper) registered(ctx context.Context, issuer string) (*registration, error) {
	text, err := k.o.Vault.Get(ctx, nameOfClient(issuer))
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
	k.remember(r.Client.Secret)
	return r, nil
}

// remember adds to what Known returns, and tells the owner before anybody has the values.
func (k *Keeper) remember(values ...string) {
	k.mu.Lock()
	added := false
	for _, v := range values {
		if len(v) >= 6 && !slices.Contains(k.known, v) {
			k.known = append(slices.Clip(k.known), v)
			if len(k.known) > maxKnown {
				k.known = slices.Clone(k.known[len(k.known)-maxKnown:])
			}
			added = true
		}
	}
	k.mu.Unlock()
	if added && k.o.Learned != nil {
		k.o.Learned()
	}
}

// maxKnown bounds the values that are masked: tokens that were replaced long ago are
// worth nothing.
const maxKnown = 500

// Known returns the tokens and client secrets that this process has seen, so that they can be
// masked in what is recorded. The slice is shared: do not change it.
func (k *Keeper) Known() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known
}
