package loopback

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"golang.org/x/time/rate"
)

// BearerOptions configures Bearer.
type BearerOptions struct {
	Tokens *Tokens
	// Required reports whether requests currently need a token; nil: they do. When it returns
	// false, a valid token still identifies its client.
	Required func() bool
	Log      *slog.Logger // may be nil
}

// Bearer returns a middleware that admits clients with a valid token. It always sets or removes
// ClientHeader, which holds the client's name. It must be wrapped by Guard. A token in the URL is
// ignored.
func Bearer(o BearerOptions) func(http.Handler) http.Handler {
	return authenticate(o.Log, "this endpoint requires the access token of a client",
		"Send it in the header Authorization: Bearer TOKEN. To print one, run: drawbridge token NAME.",
		func(_ http.ResponseWriter, r *http.Request) (name string, ok bool) {
			if token, shown := BearerOf(r); shown {
				name, ok = o.Tokens.Client(token)
			}
			return name, ok || o.Required != nil && !o.Required()
		})
}

// GuestBearer is Bearer for the socket of one guest: only the token of that guest is accepted.
func GuestBearer(tokens *Tokens, guest string, log *slog.Logger) func(http.Handler) http.Handler {
	return authenticate(log, "this socket requires the access token of its guest", "Ask the user for it: drawbridge guests shows where it is.",
		func(_ http.ResponseWriter, r *http.Request) (string, bool) {
			token, _ := BearerOf(r)
			name, ok := tokens.find(token, true)
			r.Header[GuestHeader] = []string{"1"}
			return guest, ok && name == guest
		})
}

// authenticate returns a middleware that admits the requests that identify accepts. It always sets
// or removes ClientHeader, which holds the returned name. Failures are rate-limited.
func authenticate(log *slog.Logger, detail, hint string, identify func(http.ResponseWriter, *http.Request) (name string, ok bool)) func(http.Handler) http.Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	failures := newFailureLimiter()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			delete(r.Header, ClientHeader)
			delete(r.Header, GuestHeader)
			name, ok := identify(w, r)
			switch {
			case ok:
				if name != "" {
					r.Header[ClientHeader] = []string{name}
				}
				delete(r.Header, "Authorization") // not needed by the handlers behind it
				next.ServeHTTP(w, r)
			case !failures.Allow():
				w.Header().Set("Retry-After", "1")
				writeProblem(w, http.StatusTooManyRequests, core.CodeRateLimited, "too many requests without a valid access token", hint)
			default:
				log.Warn("Refused a request without a valid access token", "method", r.Method, "path", r.URL.Path)
				w.Header().Set("WWW-Authenticate", `Bearer realm="drawbridge"`)
				writeProblem(w, http.StatusUnauthorized, core.CodeUnauthorized, detail, hint)
			}
		})
	}
}

// Values of ClientHeader behind RequireAdmin.
const (
	ByToken   = "admin"   // admin token: the CLI or a script
	ByBrowser = "browser" // cookie and key of a browser session
)

// AdminOptions configures RequireAdmin.
type AdminOptions struct {
	Admin    *AdminToken
	Sessions *BrowserSessions
	Log      *slog.Logger // may be nil
}

// RequireAdmin returns a middleware that admits the admin token and browser sessions. It sets
// ClientHeader to ByToken or ByBrowser. It must be wrapped by Guard.
func RequireAdmin(o AdminOptions) func(http.Handler) http.Handler {
	return authenticate(o.Log, "this endpoint requires the admin token or a browser session",
		"Open Drawbridge from the tray, or run \"drawbridge open\".",
		func(w http.ResponseWriter, r *http.Request) (string, bool) {
			if token, shown := BearerOf(r); shown && o.Admin.Valid(token) {
				return ByToken, true
			}
			return ByBrowser, len(r.Header["Authorization"]) == 0 && o.Sessions.Check(w, r)
		})
}

// BearerOf returns the bearer token of a request. A request with two Authorization headers has
// none, because parsers differ on which one counts.
func BearerOf(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= 256
}

// failuresPerSecond is the number of failures per second that get a 401; further ones get a 429.
const failuresPerSecond = 10

// newFailureLimiter limits the rate of failed attempts. Attempts with a valid token do not pass
// through it, so nobody can lock out others.
func newFailureLimiter() *rate.Limiter { return rate.NewLimiter(failuresPerSecond, failuresPerSecond) }

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) equal(other digest) bool {
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

// problem is an RFC 9457 problem document with a Drawbridge error code. It never echoes the
// request.
type problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Code   core.Code `json:"code"`
	Detail string    `json:"detail"`
	Hint   string    `json:"hint,omitempty"`
}

// writeProblem responds with a problem document and closes the connection, so that rejected
// requests do not occupy connection slots.
func writeProblem(w http.ResponseWriter, status int, code core.Code, detail, hint string) {
	body, _ := json.Marshal(problem{http.StatusText(status), status, code, detail, hint})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// noAuthorizationServer responds to an MCP client's OAuth discovery requests. OAuth libraries can
// parse the body.
func noAuthorizationServer(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"error":"not_found","error_description":"Drawbridge has no authorization server. Use an access token: drawbridge token NAME prints one."}`))
}

// NewAPIRequest returns a request to the API of the daemon at base, authorized by its admin token.
// path is below /api/v1, and in is the body to encode as JSON, or nil.
func NewAPIRequest(ctx context.Context, method, base, path, token string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+"/api/v1/"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
