package wire

import (
	"encoding/json"
	"math"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Decode parses one JSON value for validation against a schema. Integers are exact if they fit
// into 64 bits.
func Decode(raw []byte) (any, error) {
	var v any
	if err := core.DecodeJSON(raw, &v); err != nil {
		return nil, err
	}
	return exactNumbers(v), nil
}

// exactNumbers converts numbers to int64 if they are integers that fit, otherwise to float64.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			v[key] = exactNumbers(part)
		}
	case []any:
		for i, part := range v {
			v[i] = exactNumbers(part)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64) // larger values lose their exact size
		if f >= -1<<53 && f <= 1<<53 && f == math.Trunc(f) {
			return int64(f)
		}
		return f
	}
	return v
}
