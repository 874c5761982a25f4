package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// malformedResultError reports a result of the server that does not have the form that MCP
// requires.
type malformedResultError struct{ method, reason string }

func (e *malformedResultError) Error() string {
	return fmt.Sprintf("the server's response to %s is not valid: %s", e.method, e.reason)
}

// decodeResult decodes the result of method, which must be an object, into result. Its errors
// describe JSON values, not Go types.
func decodeResult(method string, raw json.RawMessage, result any) error {
	if kind := jsonKind(raw); kind != "an object" {
		return &malformedResultError{method, "expected an object, found " + kind}
	}
	err := json.Unmarshal(raw, result)
	if err == nil {
		return nil
	}
	reason := "it is not valid JSON"
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		reason = fmt.Sprintf("expected %s in %q, found %s", requiredKind(mismatch.Type), mismatch.Field, article(mismatch.Value))
	}
	return &malformedResultError{method, reason}
}

// jsonKind returns the type of a JSON value, with its article.
func jsonKind(raw []byte) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// requiredKind returns the JSON type that is decoded into t.
func requiredKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "a boolean"
	}
	return "a number"
}

// article returns the JSON type that json.UnmarshalTypeError names, such as "object" or "number 5",
// with its article.
func article(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	switch kind {
	case "object", "array":
		return "an " + kind
	case "bool":
		return "a boolean"
	}
	return "a " + kind
}
