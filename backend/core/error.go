package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Code is the machine-readable kind of an Error. The set of codes is part of the API and of the
// documentation.
type Code string

const (
	CodeValidation   Code = "validation"   // the request or the configuration has errors
	CodeNotFound     Code = "not_found"    // no such server, tool, call
	CodeUnauthorized Code = "unauthorized" // no token, or a token without the permission
	CodeTimeout      Code = "timeout"      // a deadline passed
	CodeCancelled    Code = "cancelled"    // the caller cancelled the request
	CodeRateLimited  Code = "rate_limited" // too many calls in a short time
	CodeBreakerOpen  Code = "breaker_open" // the circuit breaker is open after too many failures
	CodeRejected     Code = "rejected"     // denied by the user or by a rule
	CodeUnavailable  Code = "unavailable"  // the server is not running
	CodeDegraded     Code = "degraded"     // works with limitations
	CodeConflict     Code = "conflict"     // changed concurrently by someone else
	CodeInternal     Code = "internal"     // a bug in Drawbridge
)

// Error is a failure that the user or a client must react to. Message is safe to show anywhere: it
// contains no secret, no payload and no stack trace. Cause is for the log only.
type Error struct {
	Code      Code
	Message   string       // lower case: cannot start server "files": executable not found
	Hint      string       // what to do next, a full sentence; may be empty
	Remedy    Remedy       // Hint for programs; may be zero
	Fields    []FieldError // for CodeValidation
	Setting   string       // configuration key that caused it, such as policy.rules[2], or ""
	Retriable bool         // the same request may succeed later
	Unsent    bool         // the request certainly did not reach the server
	Cause     error
}

// ErrNeedsLogin means, in the chain of an error, that the user must sign in to a remote server
// before it answers.
var ErrNeedsLogin = errors.New("needs-login")

// FieldError describes an invalid value by its path, such as "mcpServers.files.command". It never
// contains the value.
type FieldError struct {
	Field string `json:"field"`
	Error string `json:"error"`
}

// Error returns the message and its cause. If one contains the other, it is not repeated.
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

// Errorf returns an Error whose message is formatted like fmt.Sprintf.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first *Error in the chain of err. For a bare context error it
// returns CodeTimeout or CodeCancelled, for nil "", and for all other errors CodeInternal.
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

// Describe returns the message of err that is safe to show, and a hint about what to do next. If
// err is not an *Error, the message does not contain its text.
func Describe(err error) (message, hint string) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message, e.Hint
	}
	switch CodeOf(err) {
	case CodeTimeout:
		return "the deadline was exceeded", ""
	case CodeCancelled:
		return "the request was cancelled", ""
	}
	return "internal error", "See the log for details: drawbridge logs."
}

// UnknownEffect is part of the message of a call that was sent to its server and has no response.
const UnknownEffect = "it is unknown whether the call was executed"

// RemedyKind is what the user can do about a failure of a server, for programs. The set of kinds is
// part of the API.
type RemedyKind string

const (
	RemedySignIn         RemedyKind = "sign-in"
	RemedyApprove        RemedyKind = "approve"         // the new command of the server
	RemedySetVariable    RemedyKind = "set-variable"    // Name: the environment variable
	RemedySetSecret      RemedyKind = "set-secret"      // Name: the secret, to which the entry refers
	RemedyUnlockSecrets  RemedyKind = "unlock-secrets"  // the keyring is locked
	RemedyInstallProgram RemedyKind = "install-program" // Name: the product
	RemedyInstallPackage RemedyKind = "install-package" // Name: of the package, or of a module in it
	RemedyStartDocker    RemedyKind = "start-docker"
	RemedyAllowDocker    RemedyKind = "allow-docker"    // the user has no permission to use Docker
	RemedyStartContainer RemedyKind = "start-container" // Name: the container
	RemedyFreePort       RemedyKind = "free-port"       // another program uses the address
	RemedyAllowAccess    RemedyKind = "allow-access"    // Name: the path without permission
	RemedyClearNpxCache  RemedyKind = "clear-npx-cache" // Name: the folder
	RemedyCheckNetwork   RemedyKind = "check-network"
	RemedyEditConfig     RemedyKind = "edit-config" // Name: the key in the entry of the server, or ""
	RemedySeeLog         RemedyKind = "see-log"     // no more specific remedy is known
)

// Remedy is what the user can do about a failure of a server. Hints say the same as a sentence. The
// zero value means that nothing can be done.
type Remedy struct {
	Kind    RemedyKind `json:"kind" enum:"sign-in,approve,set-variable,set-secret,unlock-secrets,install-program,install-package,start-docker,allow-docker,start-container,free-port,allow-access,clear-npx-cache,check-network,edit-config,see-log"`
	Name    string     `json:"name,omitempty"`
	Command string     `json:"command,omitempty"` // for a terminal; Drawbridge does not run it
	URL     string     `json:"url,omitempty"`     // documentation
}

// EditConfig returns the remedy of changing a key in the entry of a server.
func EditConfig(key string) Remedy { return Remedy{Kind: RemedyEditConfig, Name: key} }

// SignIn returns the remedy of signing in to a remote server. id is that of the sign-in.
func SignIn(id string) Remedy {
	return Remedy{Kind: RemedySignIn, Name: id, Command: "drawbridge login " + id}
}
