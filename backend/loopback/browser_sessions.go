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

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Bounds of browser sessions.
const (
	CodeLife    = 2 * time.Minute     // how long a one-time code can be used
	SessionLife = 30 * 24 * time.Hour // since the last use
	maxCodes    = 16                  // codes waiting to be used; the oldest goes
	maxSessions = 32                  // browsers let in; the one unused for longest goes
	slideEvery  = time.Hour           // how often a use is written down
)

// BrowserSessions are the browsers that were let in. A browser shows a one-time code and
// gets two halves: a cookie that scripts cannot read, and a key that only pages of
// our origin can. Both are needed, since a cookie goes to every port of the host, and
// another local web application would otherwise inherit it. Both are kept
// hashed, in DATA/sessions.json. All methods may be called from any goroutine.
type BrowserSessions struct {
	path   string
	cookie string
	now    func() time.Time
	log    *slog.Logger
	wrong  *throttle
	ended  func(code string)

	mu       sync.Mutex // guards the fields below
	codes    []code
	sessions []session
}

type code struct {
	sum digest
	end time.Time
}

type session struct {
	Cookie   digestText `json:"cookie"`
	Key      digestText `json:"key"`
	Created  time.Time  `json:"created"`
	LastUsed time.Time  `json:"lastUsed"`
}

// digestText is a digest that is hexadecimal in JSON.
type digestText digest

func (d digestText) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

func (d *digestText) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err == nil && len(b) != len(d) {
		err = fmt.Errorf("a digest has %d bytes, not %d", len(d), len(b))
	}
	copy(d[:], b)
	return err
}

// SessionOptions are what Sessions need. Port names the cookie, so that two
// daemons on one machine do not take each other's.
type SessionOptions struct {
	DataDir string
	Port    uint16
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // may be nil
	// Ended is called with a code that was used, or whose time is over; nil: nobody is told.
	Ended func(code string)
}

// OpenBrowserSessions reads the sessions of earlier runs. A file that cannot be read ends
// them all: people then open the page once more from the tray.
func OpenBrowserSessions(o SessionOptions) *BrowserSessions {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Ended == nil {
		o.Ended = func(string) {}
	}
	s := &BrowserSessions{
		ended:  o.Ended,
		path:   filepath.Join(o.DataDir, "sessions.json"),
		cookie: "drawbridge_" + strconv.Itoa(int(o.Port)),
		now:    o.Now, log: o.Log, wrong: &throttle{now: o.Now},
	}
	file := watchedFile{path: s.path}
	data, _, err := file.changed()
	if err == nil && data != nil {
		err = json.Unmarshal(data, &s.sessions)
	}
	if err != nil {
		s.log.Warn("Cannot read browser sessions, pages must be opened anew", "error", err)
		s.sessions = nil
	}
	return s
}

// CookieName is the name of the cookie half.
func (s *BrowserSessions) CookieName() string { return s.cookie }

// NewCode returns a code that lets one browser in, once, within CodeLife.
func (s *BrowserSessions) NewCode() string {
	secret := newSecret()
	time.AfterFunc(CodeLife+time.Second, func() { s.ended(secret) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes = append(s.codes, code{digestOf(secret), s.now().Add(CodeLife)})
	if len(s.codes) > maxCodes {
		s.codes = slices.Delete(s.codes, 0, len(s.codes)-maxCodes)
	}
	return secret
}

// OpenURL returns the address of the page at base (http://127.0.0.1:PORT) with a new
// code. The code stands in the fragment, which browsers never send.
func (s *BrowserSessions) OpenURL(base string) string { return base + "/#code=" + s.NewCode() }

// Exchange takes a code for a session. The cookie and the key are shown this once.
func (s *BrowserSessions) Exchange(secret string) (cookie *http.Cookie, key string, err error) {
	cookie, key, err = s.exchange(secret)
	if err == nil {
		s.ended(secret)
	}
	return cookie, key, err
}

func (s *BrowserSessions) exchange(secret string) (cookie *http.Cookie, key string, err error) {
	sum := digestOf(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	found := false
	s.codes = slices.DeleteFunc(s.codes, func(c code) bool {
		if c.sum.equal(sum) {
			found = now.Before(c.end)
			return true
		}
		return !now.Before(c.end)
	})
	if !found {
		if s.wrong.failed() {
			return nil, "", core.Errorf(core.CodeRateLimited, "too many wrong codes")
		}
		return nil, "", &core.Error{
			Code: core.CodeUnauthorized, Message: "this code was used already or is too old",
			Hint: "Open the page again from the tray, or run drawbridge open.",
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
		Name: s.cookie, Value: value, Path: "/", MaxAge: int(SessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// Check reports whether a request shows both halves of one session. A use makes the
// session last longer, for which w gets a fresh cookie now and then; w may be nil.
func (s *BrowserSessions) Check(w http.ResponseWriter, r *http.Request) bool {
	keys := r.Header[KeyHeader]
	if len(keys) != 1 || keys[0] == "" {
		return false
	}
	key := digestOf(keys[0])
	// Another program on this host may set a cookie of our name with a longer path,
	// which then comes first: each one counts.
	for _, c := range r.CookiesNamed(s.cookie) {
		ok, slid := s.use(digestOf(c.Value), key)
		if slid && w != nil {
			http.SetCookie(w, s.newCookie(c.Value))
		}
		if ok {
			return true
		}
	}
	return false
}

// use finds a session by both halves. slid reports that its end was moved and written down.
func (s *BrowserSessions) use(cookie, key digest) (ok, slid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for i := range s.sessions {
		one := &s.sessions[i]
		// Both halves are compared, whatever the first comparison says.
		if both := digest(one.Cookie).equal(cookie); !digest(one.Key).equal(key) || !both {
			continue
		}
		since := now.Sub(one.LastUsed)
		if since >= SessionLife {
			s.sessions = slices.Delete(s.sessions, i, i+1)
			s.save()
			return false, false
		}
		if since >= slideEvery {
			one.LastUsed, slid = now.UTC(), true
			s.save()
		}
		return true, slid
	}
	return false, false
}

// EndAll ends every session and forgets every code.
func (s *BrowserSessions) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions, s.codes = nil, nil
	s.save()
}

// save must be called with s.mu held. A session that cannot be written lives until we end.
func (s *BrowserSessions) save() {
	now := s.now()
	s.sessions = slices.DeleteFunc(s.sessions, func(one session) bool { return now.Sub(one.LastUsed) >= SessionLife })
	data, err := json.Marshal(s.sessions)
	if err == nil {
		err = atomicfile.Write(s.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		s.log.Warn("Cannot write browser sessions, they end with this run", "error", err)
	}
}
