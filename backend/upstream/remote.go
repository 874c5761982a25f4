package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// remoteEndpoint returns the endpoint of a remote server. shown is its address without the parts
// that may contain secrets.
func remoteEndpoint(c *config.Server, env environment) (r *Remote, shown string, err error) {
	address, err := env.expand("url", c.URL)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", &core.Error{Code: core.CodeValidation, Cause: err,
			Message: "its url is not an http or https URL",
			Fields:  []core.FieldError{{Field: "url", Error: "not an http or https URL"}}}
	}
	headers, err := env.expandAll("headers", c.Headers)
	if err != nil {
		return nil, "", err
	}
	r = &Remote{URL: address, Header: http.Header{}, AllowInsecure: c.AllowInsecure, LegacySSE: c.Type == core.SSE}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), nil
}

// recordRemoteFrames returns a function that records the messages of a remote server and passes
// them to the observer.
func (d *Dialer) recordRemoteFrames(server string, t *frameRecorder) func(sent bool, http string, text []byte) {
	t.limit = maxRemoteFrames
	return func(sent bool, http string, text []byte) {
		now := time.Now().UTC()
		if d.Observer != nil && d.Observer.WatchesServer(server) {
			d.Observer.Message(server, sent, now, http, text[:min(len(text), observerBytes)], len(text))
		}
		t.add(now, sent, http, text[:min(len(text), maxRecordedBytes)], len(text))
	}
}

// SignIn authorizes requests to remote servers.
type SignIn interface {
	// Client returns the HTTP client for requests to a server at address. clientSecret is the
	// expanded value from its configuration. An error with core.CodeUnavailable makes the server
	// wait.
	Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error)
	// Await blocks until the user has completed the sign-in with the id, or ctx is done.
	Await(ctx context.Context, id string) error
}

// signIn returns the HTTP client for a remote server. It returns nil, for a default client, if
// the configuration contains the server's credentials or turns sign-in off.
func (d *Dialer) signIn(ctx context.Context, c *config.Server, at *Remote, env environment) (*http.Client, error) {
	if d.SignIn == nil || c.OAuth.Off || at.Header.Get("Authorization") != "" {
		return nil, nil
	}
	secret, err := env.expand("oauth.clientSecret", c.OAuth.ClientSecret)
	if err != nil {
		return nil, err
	}
	own, err := d.SignIn.Client(ctx, c, at.URL, secret)
	if core.CodeOf(err) == core.CodeUnavailable {
		return nil, fmt.Errorf("%w: %w", ErrDependencyMissing, err) // the tokens exist, so the server waits for the keyring
	}
	return own, err
}

// asMissingLogin turns the error of a server that asks for a sign-in into a MissingDependency, so
// that the server waits for the user.
func (d *Dialer) asMissingLogin(id string, err error) error {
	if d.SignIn == nil || !errors.Is(err, core.ErrNeedsLogin) {
		return err
	}
	return &MissingDependency{Cause: fmt.Errorf("%w: %w", ErrDependencyMissing, err), Wait: func(ctx context.Context) error { return d.SignIn.Await(ctx, id) }}
}

// redact is d.Redact, which may be nil.
func (d *Dialer) redact(text string) string {
	if d.Redact == nil {
		return text
	}
	return d.Redact(text)
}

// redactedError is an error whose text may contain the value of a variable, such as the path of a command
// that does not exist.
type redactedError struct {
	inner  error
	redact func(string) string
}

func (r *redactedError) Error() string        { return r.redact(r.inner.Error()) }
func (r *redactedError) Is(target error) bool { return errors.Is(r.inner, target) }

func (r *redactedError) As(target any) bool {
	to, ok := target.(**core.Error)
	if !ok {
		return errors.As(r.inner, target)
	}
	e, ok := errors.AsType[*core.Error](r.inner)
	if ok {
		clean := *e
		clean.Message, clean.Hint = r.redact(e.Message), r.redact(e.Hint)
		if e.Cause != nil {
			clean.Cause = &redactedError{e.Cause, r.redact}
		}
		*to = &clean
	}
	return ok
}
