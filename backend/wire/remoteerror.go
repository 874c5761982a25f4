package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"drawbridge/backend/hub"
)

var errTooManyRedirects = errors.New("too many redirects")

// redirectError refuses a redirect that would take our headers to strangers.
type redirectError struct{ origin string }

func (e *redirectError) Error() string { return "the server redirects to another origin: " + e.origin }

// StatusError is the cause of an error that an HTTP status stands behind.
type StatusError struct{ Status int }

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP status %d", e.Status) }

// unreachable says why a request got no answer. The address stays out of it: its query
// may hold a secret.
func (r *Remote) unreachable(err error) error { return unreachable(r.o.Server, err) }

func unreachable(server string, err error) error {
	if elsewhere, ok := errors.AsType[*redirectError](err); ok {
		return &hub.Error{Code: hub.CodeUnavailable, Cause: elsewhere,
			Message: fmt.Sprintf("server %q redirects to another origin, %.200s, which is refused", server, elsewhere.origin),
			Hint:    "If it has moved, change its url. Its headers are never sent to another origin."}
	}
	if errors.Is(err, errTooManyRedirects) {
		return &hub.Error{Code: hub.CodeUnavailable, Message: fmt.Sprintf("server %q redirects without end", server), Cause: err}
	}
	if own, ok := errors.AsType[*hub.Error](err); ok {
		return own // of whoever makes the requests: it says more, such as that somebody has to sign in
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return &hub.Error{Code: hub.CodeUnavailable, Message: fmt.Sprintf("server %q cannot be reached: %.200s", server, err.Error()), Cause: err, Retriable: true, Unsent: undialed(err)}
}

// undialed reports whether err comes from before there was a connection.
func undialed(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

func (r *Remote) broken(what string, cause error) error {
	return &hub.Error{Code: hub.CodeUnavailable, Message: fmt.Sprintf("server %q sent %s", r.o.Server, what), Cause: cause, Retriable: true}
}

func (r *Remote) status(resp *http.Response) error { return statusError(r.o.Server, resp) }

func statusError(server string, resp *http.Response) error {
	e := hub.Errorf(hub.CodeUnavailable, "server %q answered with HTTP status %d", server, resp.StatusCode)
	e.Cause = &StatusError{resp.StatusCode}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		e.Code, e.Hint = hub.CodeUnauthorized, "Log in to the server, or check the headers in its configuration."
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Code, e.Retriable = hub.CodeRateLimited, true
	case resp.StatusCode >= 500:
		e.Retriable = true
	case resp.StatusCode == http.StatusOK:
		e.Message = fmt.Sprintf("server %q answered %.60s, which is no MCP message", server, cmp.Or(mediaType(resp), "something without a content type"))
		e.Hint = "Check that the url is that of an MCP endpoint."
	}
	return e
}
