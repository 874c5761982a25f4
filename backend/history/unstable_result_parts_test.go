package history

import (
	"fmt"
	"strings"
	"testing"
)

func TestValuesThatDifferBetweenEqualCallsAreMasked(t *testing.T) {
	for name, c := range map[string]struct {
		old      []string
		now      string
		unstable string
		changes  string
	}{
		"equal":                 {[]string{`{"a":1}`, `{"a":1}`}, `{"a":1}`, `[]`, `[]`},
		"changed":               {[]string{`{"a":1}`, `{"a":1}`}, `{"a":2}`, `[]`, `[{/a changed 1 2}]`},
		"a number":              {[]string{`{"a":1,"b":1}`, `{"a":2,"b":1}`}, `{"a":3,"b":2}`, `[/a]`, `[{/b changed 1 2}]`},
		"a third run":           {[]string{`{"a":1,"b":1}`, `{"a":2,"b":1}`, `{"a":2,"b":2}`}, `{"a":3,"b":3}`, `[/a /b]`, `[]`},
		"a time in a text":      {[]string{`["at 10:01:02 by me"]`, `["at 10:01:03 by me"]`}, `["at 11:05:09 by me"]`, `[/0]`, `[]`},
		"beside a time":         {[]string{`["at 10:01:02 by me"]`, `["at 10:01:03 by me"]`}, `["at 11:05:09 by you"]`, `[/0]`, `[{/0 changed "at 10:01:02 by me" "at 11:05:09 by you"}]`},
		"no line is swallowed":  {[]string{`["id 1\nend"]`, `["id 2\nend"]`}, `["id 3\nmore\nend"]`, `[/0]`, `[{/0 changed "id 1\nend" "id 3\nmore\nend"}]`},
		"no text in common":     {[]string{`["a"]`, `["b"]`}, `["c d"]`, `[/0]`, `[]`},
		"text becomes a number": {[]string{`["at 1"]`, `["at 2"]`}, `[3]`, `[/0]`, `[{/0 changed "at 1" 3}]`},
		"a key of some results": {[]string{`{"a":1}`, `{"a":1,"b":1}`}, `{"a":1}`, `[/b]`, `[]`},
		"a new key":             {[]string{`{"a":1}`, `{"a":2}`}, `{"a":1,"b":1}`, `[/a]`, `[{/b added  1}]`},
		"a masked key is gone":  {[]string{`{"a":1}`, `{"a":2}`}, `{}`, `[/a]`, `[{/a removed 1 }]`},
		"a list that grows":     {[]string{`{"a":[1]}`, `{"a":[1,2]}`}, `{"a":[1,2,3]}`, `[/a]`, `[]`},
		"a longer list":         {[]string{`{"a":[1]}`, `{"a":[1]}`}, `{"a":[1,2]}`, `[]`, `[{/a/1 added  2}]`},
		"not JSON":              {[]string{`x 1 y`, `x 2 y`}, `x 3 z`, `[]`, `[{ changed "x 1 y" "x 3 z"}]`},
		"templates of many":     {[]string{`["a 1 b 1 c"]`, `["a 2 b 1 c"]`, `["a 2 b 2 c"]`}, `["a 9 b 9 c"]`, `[/0]`, `[]`},
		"JSON in a text":        {[]string{`["{\"a\":1,\"b\":1}"]`, `["{\"a\":2,\"b\":1}"]`}, `["{\"b\":2, \"a\":3}"]`, `[/0/a]`, `[{/0/b changed 1 2}]`},
		"stable JSON in a text": {[]string{`["{\"a\":[1]}"]`, `["{\"a\":[1]}"]`}, `["{\"a\":[1,2]}"]`, `[]`, `[{/0/a/1 added  2}]`},
		"other spaces in it":    {[]string{`["{\"a\":1}"]`, `["{\"a\":1}"]`}, `["{\"a\": 1}"]`, `[]`, `[{/0 changed "{\"a\":1}" "{\"a\": 1}"}]`},
		"no longer JSON":        {[]string{`["{\"a\":1}"]`, `["{\"a\":2}"]`}, `["none"]`, `[/0/a]`, `[{/0 changed "{\"a\":1}" "none"}]`},
		"the end":               {[]string{`["n: 1"]`, `["n: 2"]`}, `["n: 33"]`, `[/0]`, `[]`},
	} {
		s := newStableValue([]byte(c.old[0]))
		for _, text := range c.old[1:] {
			s.add([]byte(text))
		}
		paths := fmt.Sprint(s.paths())
		if name == "not JSON" {
			paths = strings.TrimSpace(strings.Trim(paths, "[]"))
			paths = "[" + paths + "]"
		}
		if got := fmt.Sprint(s.compare([]byte(c.now))); got != c.changes || paths != c.unstable {
			t.Errorf("%s: %s, unstable %s; want %s, unstable %s", name, got, paths, c.changes, c.unstable)
		}
		for _, text := range c.old {
			if got := s.compare([]byte(text)); len(got) > 0 {
				t.Errorf("%s: %s differs from itself: %v", name, text, got)
			}
		}
	}
}

func FuzzStableValueMatchesItsResults(f *testing.F) {
	f.Add(`["a 1 b"]`, `["a 2 b"]`, `["a b"]`)
	f.Add("a\nb", "a", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		s := newStableValue([]byte(a))
		s.add([]byte(b))
		s.add([]byte(c))
		for _, text := range []string{a, b, c} {
			if got := s.compare([]byte(text)); len(got) > 0 {
				t.Errorf("%q, %q, %q: %q differs: %v", a, b, c, text, got)
			}
		}
	})
}
