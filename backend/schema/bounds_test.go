package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A schema must not cause an endless validation, with any arguments.
func TestInfinitelyExpandingSchemaIsIgnored(t *testing.T) {
	doubling := `{"inputSchema":{"$ref":"#/$defs/d0","$defs":{`
	for i := range 40 {
		doubling += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling += `"d40":{"type":"string"}}}}`
	for name, c := range map[string]struct {
		raw  string
		used bool
	}{
		"plain":           {`{"inputSchema":{"type":"object"}}`, true},
		"a definition":    {`{"inputSchema":{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}}`, true},
		"itself":          {`{"inputSchema":{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}}`, false},
		"itself, by name": {`{"inputSchema":{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"}}}}}}`, false},
		"doubling":        {doubling, false},
		"dynamic":         {`{"inputSchema":{"$dynamicRef":"#x"}}`, false},
		"elsewhere":       {`{"inputSchema":{"$ref":"https://example.com/schema"}}`, false},
		"huge":            {`{"inputSchema":{"enum":[` + strings.Repeat("1,", 10_000) + `1]}}`, false},
		"no schema":       {`{"inputSchema":7}`, false},
	} {
		began := time.Now()
		if schema := compileSchema([]byte(c.raw)); (schema != nil) != c.used || time.Since(began) > 5*time.Second {
			t.Errorf("%s: used %v after %s", name, schema != nil, time.Since(began))
		}
	}
}
