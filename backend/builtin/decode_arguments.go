package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// argumentError returns a validation error for an argument.
func argumentError(field, why string) error {
	return &core.Error{
		Code: core.CodeValidation, Message: "invalid arguments: " + field + " " + why,
		Hint: "Correct the arguments and call again.", Fields: []core.FieldError{{Field: field, Error: why}},
	}
}

// decodeArguments decodes arguments strictly: an unknown name is more likely a mistake than one to
// be ignored.
func decodeArguments(arguments []byte, into any) error {
	if len(arguments) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		got, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5" without the value
		if wrong.Field == "" {
			return argumentError("arguments", "must be an object, not "+got)
		}
		return argumentError(wrong.Field, "must be "+typeName(wrong.Type)+", not "+describeNumber(wrong, got))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return argumentError(core.ShortenBytes(strings.Trim(name, `"`), 100), "is not a known property")
	}
	return argumentError("arguments", "cannot be parsed")
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Int {
		return "integer"
	}
	return t.Kind().String()
}

// describeNumber describes a number that does not fit: one with a fraction, or an integer that is
// too large.
func describeNumber(wrong *json.UnmarshalTypeError, got string) string {
	if _, value, ok := strings.Cut(wrong.Value, " "); ok && !strings.ContainsAny(value, ".eE") {
		return "a number that is too large"
	}
	return got
}
