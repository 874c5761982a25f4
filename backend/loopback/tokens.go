package loopback

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Token is the bearer token of a client of the bridge.
type Token struct {
	Name      string    `json:"name"`
	Token     string    `json:"token"`
	CreatedAt time.Time `json:"createdAt"`
	// Guest means that the token is accepted only on the socket of the guest with this name. Then UID is a
	// user who may connect to it besides this one and root, or 0.
	Guest bool `json:"guest,omitempty"`
	UID   int  `json:"uid,omitempty"`
	// ForEntry means that it was created for an entry in the file of a client, and never shown to the user: nothing
	// else can use it.
	ForEntry bool `json:"forEntry,omitempty"`
}

var tokenName = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidTokenName reports whether a client can have this name.
func ValidTokenName(name string) bool { return tokenName().MatchString(name) }

// Tokens manages the clients' tokens in DATA/tokens.json. Several processes may change the file,
// which is authoritative. Changes by other processes take effect immediately, except that a token
// which another process revokes is accepted for up to recheckInterval. Tokens are stored in plain
// text, because they are needed to configure clients; the file is as private as the clients'
// configuration. The methods are safe for concurrent use.
type Tokens struct {
	lock string // path of the interprocess lock
	log  *slog.Logger

	mu              sync.Mutex // guards the fields below
	file            watchedFile
	checkedAt       time.Time // when Client checked file
	tokens          []Token
	digests         []digest // digests of tokens, in the same order
	readErrorLogged bool     // the file cannot be read, which has been logged
}

// NewTokens reads the tokens of dataDir. log may be nil. A file that cannot be read is an error
// rather than an empty list, which the next Create would write over it.
func NewTokens(dataDir string, log *slog.Logger) (*Tokens, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &Tokens{
		log:  log,
		lock: filepath.Join(dataDir, "tokens.lock"),
		file: watchedFile{path: filepath.Join(dataDir, "tokens.json")},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return nil, err
	}
	return t, nil
}

type tokenFile struct {
	Tokens []Token `json:"tokens"`
}

// refresh reads the file if it has changed. It must be called with t.mu held. On error the
// previous tokens remain.
func (t *Tokens) refresh() error {
	data, changed, err := t.file.readIfChanged()
	if err != nil {
		return fmt.Errorf("cannot read tokens: %w", err)
	}
	if !changed {
		return nil
	}
	var file tokenFile
	if data != nil {
		if err := json.Unmarshal(data, &file); err != nil {
			t.file.lastInfo = nil // read it again next time
			return fmt.Errorf("cannot read tokens: %s is not valid: %w", t.file.path, err)
		}
	}
	t.tokens = file.Tokens
	t.digests = make([]digest, len(t.tokens))
	for i, one := range t.tokens {
		t.digests[i] = digestOf(one.Token)
	}
	return nil
}

// recheckInterval is how long a valid token is accepted without looking at the file. Looking at it
// for every call took 2.5 to 3 % of the processor time of a call of 60 B.
const recheckInterval = 10 * time.Millisecond

// Client returns the name of the client that token was issued to, unless it is a guest. Its running
// time does not depend on how much of token is correct.
func (t *Tokens) Client(token string) (name string, ok bool) { return t.find(token, false) }

func (t *Tokens) find(token string, guest bool) (name string, ok bool) {
	sum := digestOf(token)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if now.Sub(t.checkedAt) < recheckInterval {
		if name, ok := t.match(token, sum, guest); ok {
			return name, true
		}
	}
	t.checkedAt = now
	if err := t.refresh(); err != nil {
		if !t.readErrorLogged {
			t.log.Error("Cannot read tokens; the last known ones remain valid", "error", err)
		}
		t.readErrorLogged = true
	} else {
		t.readErrorLogged = false
	}
	return t.match(token, sum, guest)
}

// Digest returns the digest of the token of a client, which changes when it is rotated. ok is false if
// the client has none.
func (t *Tokens) Digest(name string) (sum [sha256.Size]byte, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.checkedAt) >= recheckInterval {
		t.checkedAt = now
		_ = t.refresh() // on error the last known tokens remain valid, and Client logs it
	}
	for i := range t.tokens {
		if t.tokens[i].Name == name {
			return t.digests[i], true
		}
	}
	return sum, false
}

// match compares token with every known token of clients, or of guests. It must be called with t.mu held.
func (t *Tokens) match(token string, sum digest, guest bool) (name string, ok bool) {
	for i := range t.digests {
		if t.digests[i].equal(sum) && t.tokens[i].Guest == guest && strings.HasPrefix(token, TokenPrefix) {
			name, ok = t.tokens[i].Name, true
		}
	}
	return name, ok
}

// ListWithSecrets returns all tokens, with the secrets themselves, in order of creation.
func (t *Tokens) ListWithSecrets() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return nil, err
	}
	return slices.Clone(t.tokens), nil
}

// Get returns the token of the client called name, and whether it exists.
func (t *Tokens) Get(name string) (Token, bool, error) {
	all, err := t.ListWithSecrets()
	if i := slices.IndexFunc(all, func(one Token) bool { return one.Name == name }); i >= 0 {
		return all[i], true, err
	}
	return Token{}, false, err
}

// Create returns the token of the client called name, and creates it if it does not exist.
func (t *Tokens) Create(name string) (out Token, err error) {
	err = t.update(name, false, func(all []Token, i int) []Token {
		if i >= 0 {
			out = all[i]
			return all
		}
		out = newToken(name)
		return append(all, out)
	})
	return out, err
}

// CreateForEntry is Create for an entry in the file of a client.
func (t *Tokens) CreateForEntry(name string) (out Token, err error) {
	err = t.update(name, false, func(all []Token, i int) []Token {
		if i >= 0 {
			out = all[i]
			return all
		}
		out = newToken(name)
		out.ForEntry = true
		return append(all, out)
	})
	return out, err
}

// Show is Create for a token that the user is shown, and may use elsewhere.
func (t *Tokens) Show(name string) (out Token, err error) {
	if out, err = t.Create(name); err != nil || !out.ForEntry {
		return out, err
	}
	err = t.update(name, false, func(all []Token, i int) []Token {
		if i >= 0 {
			all[i].ForEntry = false
		}
		return all
	})
	return out, err
}

// RevokeForEntry revokes the token of the client called name if CreateForEntry created it and it was not shown since.
func (t *Tokens) RevokeForEntry(name string) error {
	if one, ok, err := t.Get(name); err != nil || !ok || !one.ForEntry {
		return err
	}
	return t.update(name, false, func(all []Token, i int) []Token {
		if i < 0 || !all[i].ForEntry {
			return all
		}
		return slices.Delete(all, i, i+1)
	})
}

// Rotate replaces the token of the client called name; the previous token becomes invalid.
func (t *Tokens) Rotate(name string) (out Token, err error) {
	err = t.update(name, false, func(all []Token, i int) []Token {
		out = newToken(name)
		if i < 0 {
			return append(all, out)
		}
		all[i] = out
		return all
	})
	return out, err
}

// CreateGuest creates the token of a guest. The name must be free.
func (t *Tokens) CreateGuest(name string, uid int) (guest Token, err error) {
	guest = newToken(name)
	guest.Guest, guest.UID = true, uid
	taken := false
	err = t.update(name, true, func(all []Token, i int) []Token {
		if taken = i >= 0; taken {
			return all
		}
		return append(all, guest)
	})
	if err == nil && taken {
		err = core.Errorf(core.CodeConflict, "there is already a guest named %q", name)
	}
	return guest, err
}

// Revoke removes the token of the client called name.
func (t *Tokens) Revoke(name string) error { return t.revoke(name, false) }

// RevokeGuest removes the token of the guest called name.
func (t *Tokens) RevokeGuest(name string) error { return t.revoke(name, true) }

func (t *Tokens) revoke(name string, guest bool) error {
	found := false
	err := t.update(name, guest, func(all []Token, i int) []Token {
		if found = i >= 0; !found {
			return all
		}
		return slices.Delete(all, i, i+1)
	})
	if err == nil && !found {
		return core.Errorf(core.CodeNotFound, "there is no access token named %q", name)
	}
	return err
}

func newToken(name string) Token {
	return Token{Name: name, Token: TokenPrefix + newSecret(), CreatedAt: time.Now().UTC().Truncate(time.Second)}
}

// withFileLock runs f while holding the lock file at path against other processes.
func withFileLock(path string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	unlock, err := osutil.LockFile(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// update calls edit with a copy of the current tokens and the index of name among them (-1 if
// absent), and writes the result, under the interprocess lock. It refuses the token of a guest for a
// client, and the reverse. It does not hold t.mu meanwhile,
// because waiting for another process may take seconds during which requests must be served.
func (t *Tokens) update(name string, guest bool, edit func(all []Token, i int) []Token) error {
	if !ValidTokenName(name) {
		return &core.Error{
			Code: core.CodeValidation, Message: "the name of a client must be 1 to 64 letters, digits, '.', '_' or '-'",
			Fields: []core.FieldError{{Field: "name", Error: "must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"}},
		}
	}
	return withFileLock(t.lock, func() error {
		before, err := t.ListWithSecrets()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(before, func(one Token) bool { return one.Name == name })
		if i >= 0 && before[i].Guest != guest {
			if guest {
				return core.Errorf(core.CodeConflict, "%q is the name of a client: choose another name for the guest", name)
			}
			return &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("%q is a guest, whose token is accepted only on its own socket", name), Hint: "List the guests with: drawbridge guests."}
		}
		tokens := edit(slices.Clone(before), i)
		if slices.Equal(before, tokens) {
			return nil
		}
		data, err := json.MarshalIndent(tokenFile{tokens}, "", "  ")
		if err == nil {
			err = osutil.WriteFile(t.file.path, append(data, '\n'), 0o600)
		}
		if err != nil {
			return fmt.Errorf("cannot write tokens: %w", err)
		}
		_, err = t.ListWithSecrets()
		return err
	})
}

// AdminToken is the admin token of the API, stored in DATA/admin.token.
type AdminToken struct {
	mu     sync.Mutex // guards the fields below
	file   watchedFile
	digest digest
	token  string
}

// OpenAdminToken reads the admin token of dataDir. It creates one if there is none or if the stored
// one is not a valid header value.
func OpenAdminToken(dataDir string) (*AdminToken, error) {
	a := &AdminToken{file: watchedFile{path: filepath.Join(dataDir, "admin.token")}}
	err := withFileLock(filepath.Join(dataDir, "tokens.lock"), func() error {
		if token, err := ReadAdminToken(dataDir); err == nil && isHeaderValue(token) {
			return nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return osutil.WriteFile(a.file.path, []byte(TokenPrefix+newSecret()+"\n"), 0o600)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot create admin token: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a, a.refresh()
}

// ReadAdminToken returns the admin token of dataDir, for programs that call the API.
func ReadAdminToken(dataDir string) (string, error) {
	data, err := osutil.ReadFile(filepath.Join(dataDir, "admin.token"))
	return strings.TrimSpace(string(data)), err
}

// isHeaderValue reports whether token can be sent in an Authorization header: visible ASCII (RFC
// 9110, section 5.5).
func isHeaderValue(token string) bool {
	return token != "" && strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// refresh reads the file if it has changed. It must be called with a.mu held.
func (a *AdminToken) refresh() error {
	data, changed, err := a.file.readIfChanged()
	if err != nil || !changed {
		return err
	}
	a.token = strings.TrimSpace(string(data))
	a.digest = digestOf(a.token)
	return nil
}

// Valid reports whether token is the current admin token. It compares in constant time.
func (a *AdminToken) Valid(token string) bool {
	sum := digestOf(token)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refresh() != nil {
		return false
	}
	return a.digest.equal(sum) && a.token != ""
}

// TokenPrefix starts every Drawbridge token, so that secret scanners and our own redaction
// recognize it.
const TokenPrefix = "dbr_"

// newSecret returns 256 random bits, encoded in base64url.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
