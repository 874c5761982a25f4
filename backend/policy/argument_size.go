package policy

import (
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of the params of a call. A call that exceeds them is refused before it reaches the server.
const (
	MaxArguments = 4 << 20 // bytes
	MaxDepth     = 500     // nested objects and arrays
	MaxName      = 1024    // bytes of a tool's or prompt's name
	MaxURI       = 8 << 10 // bytes of a resource's URI
)

// checkSize refuses arguments, or params without arguments, that are too large.
func checkSize(call *core.Call) error {
	n := len(call.Params)
	if !call.Arguments.Empty() {
		n = call.Arguments.End - call.Arguments.Start
	}
	if n <= MaxArguments {
		return nil
	}
	e := core.Errorf(core.CodeValidation, "the arguments are larger than %d MiB", MaxArguments>>20)
	e.Fields = []core.FieldError{{Field: "arguments", Error: "too large"}}
	e.Hint = "Pass a path or a URI instead of the data itself."
	return e
}

// checkDepth refuses params that are nested so deeply that they may crash a server.
func checkDepth(call *core.Call) error {
	if len(call.Params) <= 2*MaxDepth || maxNesting(call.Params) <= MaxDepth {
		return nil
	}
	e := core.Errorf(core.CodeValidation, "the arguments are nested deeper than %d levels", MaxDepth)
	e.Fields = []core.FieldError{{Field: "arguments", Error: "nested too deeply"}}
	return e
}

// maxNesting returns the maximum nesting of objects and arrays in the JSON text raw.
func maxNesting(raw []byte) (most int) {
	level := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if level++; level > most {
				most = level
			}
		case '}', ']':
			level--
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
}

// checkNames refuses a name or URI that is too long.
func checkNames(call *core.Call) error {
	most, field := MaxName, "name"
	if call.Method == "resources/read" || call.Method == "completion/complete" {
		most, field = MaxURI, "uri"
	}
	if len(call.Name) <= most {
		return nil
	}
	e := core.Errorf(core.CodeValidation, "the %s is longer than %d bytes", field, most)
	e.Fields = []core.FieldError{{Field: field, Error: "too long"}}
	return e
}
