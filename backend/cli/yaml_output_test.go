package cli

import "testing"

func TestYAMLOutputMatchesJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.50,"a":[{"x":null},[]],"t":"true","num":"12","e":"","s":"a: b","k y":"ok"}`: "b: 1.50\na:\n  -\n    x: null\n  - []\nt: \"true\"\nnum: \"12\"\ne: \"\"\ns: \"a: b\"\nk y: ok\n",
		`{"m":[2.50,1e3,12345678901234567890123],"c":"\u001b[2J","l":"a\r\nb"}`:             "m:\n  - 2.50\n  - 1e3\n  - 12345678901234567890123\nc: \"\\u001b[2J\"\nl: \"a\\r\\nb\"\n",
		`[]`: "[]\n", `"x"`: "x\n", `3`: "3\n",
	} {
		got, err := toYAML([]byte(in))
		if err != nil || got != want {
			t.Errorf("%s:\n%s%v\nwant\n%s", in, got, err, want)
		}
	}
}
