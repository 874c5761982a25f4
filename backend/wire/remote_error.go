package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

var errTooManyRedirects = errors.New("too many redirects")

// redirectError refuses a redirect that would send our headers to another origin.
type redirectError struct{ origin string }

func (e *redirectError) Error() string { return "the server redirected to another origin: " + e.origin }

// StatusError is the cause of an error that results from an HTTP status.
type StatusError struct {
	Status int
	After  time.Duration // Retry-After; 0 if absent
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP status %d", e.Status) }

// unreachableError describes why a request got no response. It omits the URL, whose query may
// contain a secret.
func (r *Remote) unreachableError(err error) error { return unreachableError(r.o.Server, err) }

func unreachableError(server string, err error) error {
	if elsewhere, ok := errors.AsType[*redirectError](err); ok {
		return &core.Error{Code: core.CodeUnavailable, Cause: elsewhere,
			Message: fmt.Sprintf("server %q redirected to another origin, %.200s, which is not allowed", server, elsewhere.origin),
			Hint:    "If it has moved, change its url. Its headers are never sent to another origin.", Remedy: core.EditConfig("url")}
	}
	if errors.Is(err, errTooManyRedirects) {
		return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q returned too many redirects; check its url", server), Cause: err, Remedy: core.EditConfig("url")}
	}
	if own, ok := errors.AsType[*core.Error](err); ok {
		return own // an error of the HTTP client is more specific, for example that the user has to sign in
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q cannot be reached: %.200s", server, err.Error()), Cause: err, Retriable: true, Unsent: isDialError(err), Remedy: core.Remedy{Kind: core.RemedyCheckNetwork}}
}

// isDialError reports whether err occurred before a connection was established.
func isDialError(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

func (r *Remote) invalidMessageError(what string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q sent %s", r.o.Server, what), Cause: cause, Retriable: true}
}

func (r *Remote) statusError(resp *http.Response) error { return statusError(r.o.Server, resp) }

func statusError(server string, resp *http.Response) error {
	e := core.Errorf(core.CodeUnavailable, "server %q responded with HTTP status %d", server, resp.StatusCode)
	after := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	e.Cause = &StatusError{Status: resp.StatusCode, After: after}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		e.Code, e.Hint = core.CodeUnauthorized, "Sign in to the server, or check the headers in its configuration."
		e.Remedy = core.EditConfig("headers")
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Code, e.Retriable = core.CodeRateLimited, true
		if after > 0 {
			e.Hint = fmt.Sprintf("Try again in %s.", after)
		}
	case resp.StatusCode >= 500:
		e.Retriable = true
		if after > 0 {
			e.Hint = fmt.Sprintf("Try again in %s.", after)
		}
	case succeeded(resp):
		e.Message = fmt.Sprintf("server %q responded with %.60s, which is not an MCP message", server, cmp.Or(mediaType(resp), "something without a content type"))
		e.Hint, e.Remedy = "Check that the url points to an MCP endpoint.", core.EditConfig("url")
	}
	return e
}

// maxRetryAfter is the limit for Retry-After.
const maxRetryAfter = time.Hour

// retryAfter parses the header Retry-After, a number of seconds or a date. The result is rounded up
// to seconds; 0 if it is invalid.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	wait = min(max(wait, 0), maxRetryAfter)
	return (wait + time.Second - 1).Truncate(time.Second)
}

// Unreachable reports whether err says that a remote server cannot be reached, or cannot
// serve at the moment, which may be temporary: name resolution or routing failed, the connection
// was refused or broken, a time limit expired, or the status says so. after is the value of
// Retry-After, or 0. A cause may declare itself temporary by a method Unreachable() bool, such as
// when a token cannot be refreshed. An invalid certificate, a redirect to another origin and a
// response that is not HTTP are not temporary.
func Unreachable(err error) (after time.Duration, yes bool) {
	if status, ok := errors.AsType[*StatusError](err); ok {
		switch status.Status {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return status.After, true
		}
		return 0, false
	}
	if _, ok := errors.AsType[*redirectError](err); ok {
		return 0, false
	}
	if e, ok := errors.AsType[interface {
		error
		Unreachable() bool
	}](err); ok {
		return 0, e.Unreachable()
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return 0, true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return 0, true
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return 0, true
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, context.DeadlineExceeded} {
		if errors.Is(err, broken) {
			return 0, true
		}
	}
	return 0, false
}
