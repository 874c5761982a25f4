package builtin

import (
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// errorDetails is the _meta member "drawbridge/error" of a failed result. All errors that
// Drawbridge itself returns have it.
type errorDetails struct {
	Code    core.Code         `json:"code"`
	Message string            `json:"message"`
	Hint    string            `json:"hint,omitempty"`
	Errors  []core.FieldError `json:"errors,omitempty"`
}

// describeError describes a caller's error: a sentence that ends with the code, and the same in
// machine-readable form.
func describeError(err error) (sentence string, about errorDetails) {
	about.Code = core.CodeOf(err)
	about.Message, about.Hint = core.Describe(err)
	if e, ok := errors.AsType[*core.Error](err); ok {
		about.Errors = e.Fields
	}
	sentence = about.Message
	if about.Hint != "" {
		sentence += ". " + about.Hint
	}
	return sentence + " (code=" + string(about.Code) + ")", about
}
