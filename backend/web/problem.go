package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// ErrorDocument is an error as the API sends it.
type ErrorDocument struct {
	Title  string            `json:"title"`
	Status int               `json:"status"`
	Code   core.Code         `json:"code"`
	Detail string            `json:"detail" doc:"Human-readable sentence"`
	Hint   string            `json:"hint,omitempty" doc:"What to do next"`
	Errors []core.FieldError `json:"errors,omitempty" doc:"Invalid values by path"`

	Retriable bool `json:"retriable" doc:"Whether the same request may succeed later"`
}

func (p *ErrorDocument) Error() string { return p.Detail }

// GetStatus is the status of the response that huma writes for the error.
func (p *ErrorDocument) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *ErrorDocument) ContentType(string) string { return "application/problem+json" }

var statuses = map[core.Code]int{
	core.CodeValidation: http.StatusBadRequest, core.CodeNotFound: http.StatusNotFound,
	core.CodeUnauthorized: http.StatusUnauthorized, core.CodeTimeout: http.StatusGatewayTimeout,
	core.CodeCancelled: http.StatusRequestTimeout, core.CodeRateLimited: http.StatusTooManyRequests,
	core.CodeBreakerOpen: http.StatusServiceUnavailable, core.CodeRejected: http.StatusForbidden,
	core.CodeUnavailable: http.StatusServiceUnavailable, core.CodeDegraded: http.StatusServiceUnavailable,
	core.CodeConflict: http.StatusConflict, core.CodeInternal: http.StatusInternalServerError,
}

// NewErrorDocument returns a document with the code and its status.
func NewErrorDocument(code core.Code) *ErrorDocument {
	status := StatusOf(code)
	return &ErrorDocument{Title: http.StatusText(status), Status: status, Code: code}
}

// Problem returns what of err may be shown.
func Problem(err error) *ErrorDocument {
	p := NewErrorDocument(core.CodeOf(err))
	p.Detail, p.Hint = core.Describe(err)
	if ours, ok := errors.AsType[*core.Error](err); ok {
		p.Errors, p.Retriable = ours.Fields, ours.Retriable
	}
	return p
}

// WriteProblem writes err as the response of a plain handler.
func WriteProblem(w http.ResponseWriter, err error) {
	p := Problem(err)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	NoStore(h)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// NoStore sets the headers of a response with data of the user.
func NoStore(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// huma makes its own errors through this variable. Ours never hold the value that
// was wrong, nor the text of a foreign error.
func init() {
	huma.NewError = func(status int, _ string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity { // one status for what is wrong with a request
			status = http.StatusBadRequest
		}
		p := &ErrorDocument{Title: http.StatusText(status), Status: status, Code: core.CodeValidation, Detail: "the request is not valid"}
		switch {
		case status >= 500:
			for _, err := range errs {
				if core.CodeOf(err) == core.CodeValidation { // the body ends early, or its chunks are invalid
					return Problem(err)
				}
			}
			p.Code, p.Detail = core.CodeInternal, "internal error. See the log for details: drawbridge logs"
			return p
		case status == http.StatusNotFound:
			p.Code, p.Detail = core.CodeNotFound, "no such API endpoint"
		case status == http.StatusRequestEntityTooLarge:
			p.Detail = "the request is larger than " + core.FormatLimit(MaxRequest)
		case status == http.StatusBadRequest && len(errs) == 0:
			p.Detail = "the body is missing or not valid JSON"
		}
		for _, err := range errs {
			d, ok := err.(huma.ErrorDetailer)
			if !ok {
				p.Errors = append(p.Errors, core.FieldError{Field: "body", Error: "is not valid JSON"})
				continue
			}
			one := d.ErrorDetail()
			what := one.Message
			if what == validation.MsgUnexpectedProperty { // its place is its name, as it was sent
				one.Location = "body"
			}
			if one.Location == "body" && !strings.HasPrefix(what, "expected") && what != validation.MsgUnexpectedProperty {
				what = "is not valid JSON"
			}
			p.Errors = append(p.Errors, core.FieldError{Field: one.Location, Error: what})
		}
		return p
	}
}

// StatusOf returns the HTTP status of a code.
func StatusOf(code core.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
