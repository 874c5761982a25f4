package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A schema must not cause an endless validation, with any arguments.
func TestInfiniteSchemaIsNotValidated(t *testing.T) {
	doubling := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 40 {
		doubling += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling += `"d40":{"type":"string"}}}`
	for name, c := range map[string]struct {
		raw  string
		used bool
	}{
		"plain":                               {`{"type":"object"}`, true},
		"a definition":                        {`{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`, true},
		"itself":                              {`{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, false},
		"itself, by name":                     {`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"}}}}}`, false},
		"doubling":                            {doubling, false},
		"its part":                            {`{"allOf":[{"$ref":"#/allOf/0"}]}`, false},
		"in turn":                             {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, false},
		"anchor":                              {`{"$anchor":"a","not":{"$ref":"#a"}}`, false},
		"a property named as the definitions": {`{"properties":{"definitions":{"$ref":"#/properties/definitions"}}}`, false},
		"nested base":                         {`{"allOf":[{"type":"object"}],"properties":{"a":{"$id":"http://e/x","allOf":[{"$ref":"#/allOf/0"}]}}}`, false},
		"percent":                             {`{"$defs":{"a%62":{},"ab":{"$ref":"#/$defs/a%62"}},"properties":{"x":{"$ref":"#/$defs/a%62"}}}`, false},
		"other case":                          {`{"properties":{"a":{"$REF":"#/properties/a"}}}`, false},
		"other letter":                        {`{"properties":{"a":{}},"propertie\u017f":{"a":{"$ref":"#/properties/a"}}}`, false},
		"duplicate key":                       {`{"properties":{"a":{"$ref":"#/properties/a"}},"properties":{}}`, false},
		"unused":                              {`{"properties":{"a":{"type":"string"}},"$defs":{"n":{"type":"string"}}}`, true},
		"names of keywords":                   {`{"$id":"http://e/x","properties":{"Type":{"type":"string"},"$id":{"type":"string"},"Required":{"type":"array"}}}`, true},
		"not JSON":                            {`not json`, false},
		"dynamic":                             {`{"$dynamicRef":"#x"}`, false},
		"elsewhere":                           {`{"$ref":"https://example.com/schema"}`, false},
		"huge":                                {`{"enum":[` + strings.Repeat("1,", 10_000) + `1]}`, false},
		"no schema":                           {`7`, false},
	} {
		began := time.Now()
		schema := Compile([]byte(c.raw))
		assert.Truef(t, (schema != nil) == c.used && time.Since(began) <= 5*time.Second, "%s: used %v after %s", name, schema != nil, time.Since(began))
	}
}
