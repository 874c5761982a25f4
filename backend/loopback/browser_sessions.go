package loopback

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"golang.org/x/time/rate"
)

// Limits of browser sessions.
const (
	CodeLife     = 2 * time.Minute     // validity of a one-time code
	SessionLife  = 30 * 24 * time.Hour // since the last use
	maxCodes     = 16                  // pending codes; the oldest is discarded
	maxSessions  = 32                  // sessions; the least recently used is discarded
	saveInterval = time.Hour           // minimum interval between updates of LastUsed
)

// BrowserSessions manages the sessions of browsers. A browser exchanges a one-time code for a
// cookie that scripts cannot read and a key that only pages of our origin can read. Both are
// required: browsers send a cookie to every port of the host, so another local web application
// could otherwise use the session. Only their hashes are stored, in DATA/sessions.json. The
// methods are safe for concurrent use.
type BrowserSessions struct {
	path       string
	cookieName string
	now        func() time.Time
	log        *slog.Logger
	failures   *rate.Limiter
	onCodeEnd  func(code string)

	mu       sync.Mutex // guards the fields below
	codes    []oneTimeCode
	sessions []session
}

type oneTimeCode struct {
	digest  digest
	expires time.Time
}

type session struct {
	Cookie   digestText `json:"cookie"`
	Key      digestText `json:"key"`
	Created  time.Time  `json:"created"`
	LastUsed time.Time  `json:"lastUsed"`
}

type digestText digest

func (d digestText) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

func (d *digestText) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err == nil && len(b) != len(d) {
		err = fmt.Errorf("a digest is %d bytes long, not %d", len(d), len(b))
	}
	copy(d[:], b)
	return err
}

// SessionOptions configures OpenBrowserSessions. Port is part of the cookie's name, so that two
// daemons on one machine use different cookies.
type SessionOptions struct {
	DataDir string
	Port    uint16
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // may be nil
	// CodeEnded is called with each code that was used or has expired; may be nil.
	CodeEnded func(code string)
}

// OpenBrowserSessions reads the sessions of earlier runs. If the file cannot be read, all
// sessions end and users have to open the page from the tray again.
func OpenBrowserSessions(o SessionOptions) *BrowserSessions {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CodeEnded == nil {
		o.CodeEnded = func(string) {}
	}
	s := &BrowserSessions{
		onCodeEnd:  o.CodeEnded,
		path:       filepath.Join(o.DataDir, "sessions.json"),
		cookieName: "drawbridge_" + strconv.Itoa(int(o.Port)),
		now:        o.Now, log: o.Log, failures: newFailureLimiter(),
	}
	file := watchedFile{path: s.path}
	data, _, err := file.readIfChanged()
	if err == nil && data != nil {
		err = json.Unmarshal(data, &s.sessions)
	}
	if err != nil {
		s.log.Warn("Cannot read browser sessions; reopen Drawbridge pages from the tray", "error", err)
		s.sessions = nil
	}
	return s
}

// CookieName returns the name of the session cookie.
func (s *BrowserSessions) CookieName() string { return s.cookieName }

// NewCode returns a code that admits one browser, once, within CodeLife.
func (s *BrowserSessions) NewCode() string {
	secret := newSecret()
	time.AfterFunc(CodeLife+time.Second, func() { s.onCodeEnd(secret) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes = append(s.codes, oneTimeCode{digestOf(secret), s.now().Add(CodeLife)})
	if len(s.codes) > maxCodes {
		s.codes = slices.Delete(s.codes, 0, len(s.codes)-maxCodes)
	}
	return secret
}

// OpenURL returns the address of the page at base (such as http://127.0.0.1:7575) with a new code. The
// code is in the fragment, which browsers do not send to servers.
func (s *BrowserSessions) OpenURL(base string) string { return base + "/#code=" + s.NewCode() }

// Exchange exchanges a code for a session. The cookie and the key cannot be retrieved again.
func (s *BrowserSessions) Exchange(secret string) (cookie *http.Cookie, key string, err error) {
	cookie, key, err = s.exchange(secret)
	if err == nil {
		s.onCodeEnd(secret)
	}
	return cookie, key, err
}

func (s *BrowserSessions) exchange(secret string) (cookie *http.Cookie, key string, err error) {
	sum := digestOf(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	found := false
	s.codes = slices.DeleteFunc(s.codes, func(c oneTimeCode) bool {
		if c.digest.equal(sum) {
			found = now.Before(c.expires)
			return true
		}
		return !now.Before(c.expires)
	})
	if !found {
		if !s.failures.AllowN(s.now(), 1) {
			return nil, "", core.Errorf(core.CodeRateLimited, "too many wrong codes")
		}
		return nil, "", &core.Error{
			Code: core.CodeUnauthorized, Message: "this code was already used or has expired",
			Hint: "Open Drawbridge again from the tray, or run \"drawbridge open\".",
		}
	}
	value := newSecret()
	key = newSecret()
	s.sessions = append(s.sessions, session{digestText(digestOf(value)), digestText(digestOf(key)), now.UTC(), now.UTC()})
	if len(s.sessions) > maxSessions {
		slices.SortStableFunc(s.sessions, func(a, b session) int { return a.LastUsed.Compare(b.LastUsed) })
		s.sessions = slices.Delete(s.sessions, 0, len(s.sessions)-maxSessions)
	}
	s.save()
	return s.newCookie(value), key, nil
}

func (s *BrowserSessions) newCookie(value string) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure would keep it from http://127.0.0.1 in some browsers
		Name: s.cookieName, Value: value, Path: "/", MaxAge: int(SessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// Check reports whether a request has the cookie and the key of the same session. Each use
// extends the session. When that is stored, w gets a renewed cookie; w may be nil.
func (s *BrowserSessions) Check(w http.ResponseWriter, r *http.Request) bool {
	keys := r.Header[KeyHeader]
	if len(keys) != 1 || keys[0] == "" {
		return false
	}
	key := digestOf(keys[0])
	// Another program on this host may set a cookie of the same name with a longer path, which
	// browsers send first, so all of them are checked.
	for _, c := range r.CookiesNamed(s.cookieName) {
		ok, slid := s.lookUp(digestOf(c.Value), key)
		if slid && w != nil {
			http.SetCookie(w, s.newCookie(c.Value))
		}
		if ok {
			return true
		}
	}
	return false
}

func (s *BrowserSessions) lookUp(cookie, key digest) (ok, slid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for i := range s.sessions {
		one := &s.sessions[i]
		// Compare both in constant time, regardless of the first result.
		if both := digest(one.Cookie).equal(cookie); !digest(one.Key).equal(key) || !both {
			continue
		}
		since := now.Sub(one.LastUsed)
		if since >= SessionLife {
			s.sessions = slices.Delete(s.sessions, i, i+1)
			s.save()
			return false, false
		}
		if since >= saveInterval {
			one.LastUsed, slid = now.UTC(), true
			s.save()
		}
		return true, slid
	}
	return false, false
}

// save writes the sessions. It must be called with s.mu held. If writing fails, the sessions last
// until the process exits.
func (s *BrowserSessions) save() {
	now := s.now()
	s.sessions = slices.DeleteFunc(s.sessions, func(one session) bool { return now.Sub(one.LastUsed) >= SessionLife })
	data, err := json.Marshal(s.sessions)
	if err == nil {
		err = osutil.WriteFile(s.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		s.log.Warn("Cannot write browser sessions; they end when the daemon exits", "error", err)
	}
}
