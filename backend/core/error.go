package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Code says what kind of failure an Error is. Machines branch on it; the set is
// part of the API and the documents.
type Code string

const (
	CodeValidation   Code = "validation"   // the request or the configuration has errors
	CodeNotFound     Code = "not_found"    // no such server, tool, call
	CodeUnauthorized Code = "unauthorized" // no token, or one that does not allow this
	CodeTimeout      Code = "timeout"      // a deadline passed
	CodeCancelled    Code = "cancelled"    // the caller no longer wants it
	CodeRateLimited  Code = "rate_limited" // too many calls in a short time
	CodeBreakerOpen  Code = "breaker_open" // the server failed too often and rests
	CodeRejected     Code = "rejected"     // the user or a rule said no
	CodeUnavailable  Code = "unavailable"  // the server is not running
	CodeDegraded     Code = "degraded"     // works, with less than was asked
	CodeConflict     Code = "conflict"     // somebody else changed it first
	CodeInternal     Code = "internal"     // our own mistake
)

// Error is a failure that the user or a client must react to. Message is safe to
// show anywhere: it holds no secret, no payload and no stack. Cause is for the log.
type Error struct {
	Code      Code
	Message   string       // lower case: cannot start server "files": executable not found
	Hint      string       // what to do next; a full sentence, may be empty
	Fields    []FieldError // for CodeValidation
	Retriable bool         // the same request may succeed later, unchanged
	Unsent    bool         // the request certainly did not reach the server
	Cause     error
}

// ErrNeedsLogin in an error's chain says that a remote server answers only once the user has
// signed in to it.
var ErrNeedsLogin = errors.New("needs-login")

// FieldError names one wrong value by its path, such as "mcpServers.files.command".
// It never repeats the value.
type FieldError struct {
	Field string `json:"field"`
	Error string `json:"error"`
}

// Error is the message and its cause; nothing is said twice where one holds the other.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	cause := e.Cause.Error()
	switch {
	case strings.Contains(e.Message, cause):
		return e.Message
	case strings.HasPrefix(cause, e.Message):
		return cause
	}
	return e.Message + ": " + cause
}

func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error whose message is formatted as fmt.Sprintf does.
// The message is shown to people: pass no payload and no secret.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first *Error in err's chain. A bare context
// error counts as timeout or cancelled, nil as "", everything else as internal.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return CodeTimeout
	case errors.Is(err, context.Canceled):
		return CodeCancelled
	}
	return CodeInternal
}

// Describe returns the sentence of err that is safe to show, and what to do next.
// An error that is not an *Error describes itself as an internal one only.
func Describe(err error) (message, hint string) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message, e.Hint
	}
	switch CodeOf(err) {
	case CodeTimeout:
		return "the deadline passed", ""
	case CodeCancelled:
		return "the request was cancelled", ""
	}
	return "something went wrong inside Drawbridge", "The log says more: drawbridge logs."
}
