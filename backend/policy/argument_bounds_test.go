package policy

import (
	"strings"
	"testing"
)

// A bound is the decimal number in the rule, not the nearest 64-bit number.
func TestDecimalBoundIncludesItself(t *testing.T) {
	for _, c := range []argumentCases{
		{where: `{"any": [{"/n": {"min": 0.3000001}}, {"/m": {"max": 0.2999999}}, {"not": {"/k": {"min": 0.3, "max": 0.3}}}]}`, denied: `
			{"k":0.3,"n":0.3000001}
			{"k":0.3,"m":0.2999999}
			{"k":0.30000000000000001}
			{"k":0.31}
		`, passed: `
			{"k":0.3}
			{"k":0.30}
			{"k":3e-1,"n":0.3,"m":0.3}
		`},
		{where: `{"not": {"/n": {"max": 99.99}}}`, denied: `
			{"n":99.990000000000001}
			{"n":100}
		`, passed: `
			{"n":99.99}
			{"n":99.98}
		`},
		{where: `{"not": {"/n": {"min": 99.99}}}`, denied: `
			{"n":99.98}
			{"n":99.989999999999999}
		`, passed: `
			{"n":99.99}
			{"n":100}
		`},
		{where: `{"/n": {"min": 99.99}}`, denied: `
			{"n":99.99}
			{"n":1E2}
		`, passed: `
			{"n":99.98}
		`},
		{where: `{"/n": {"min": 1e-99999999999999999999, "max": 10000000000000000000000.5}}`, denied: `
			{"n":0}
			{"n":1e22}
		`, passed: `
			{"n":-1}
			{"n":1.1e22}
		`},
	} {
		c.run(t, strings.NewReplacer(), "")
	}
}
