package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An edit of one server leaves every other server unchanged and the file valid.
func FuzzEditTouchesOneServerOnly(f *testing.F) {
	for _, src := range []string{commented, one, two, string(Starter()), "{}", `{"servers":{"a":{"command":"x"},}}`,
		"{\r\n\t\"mcp\": {\"servers\": {\"a\": {\"command\": \"x\"} /* c */ , // d\r\n}}}", `{"mcpServers": [{"name": "a", "command": "x"}]}`,
		"{\"mcpServers\": {\"a\": {\"command\": \"a\" /* x */ },\n// y\n}}", "{\"mcpServers\": {\n  \"a\": {\"command\": \"a\"} /* was:\n  \"b\": {} */\n}}",
		"{\"mcpServers\": { /* a\nb */ \"a\": {\"command\": \"a\"}, /* c\nd */ \"b\": {\"command\": \"b\"} /* e\nf */ }}", `{"mcpServers": {"a": {"command": "x"}}} // end`} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		before, problems := Parse("c.jsonc", src)
		if before == nil || len(problems) > 0 {
			return
		}
		open := func(src []byte) *Document {
			d, err := NewDocument(src)
			require.NoErrorf(t, err, "%q", src)
			return d
		}
		read := func(src []byte) *Config {
			c, problems := Parse("c.jsonc", src)
			require.NotNilf(t, c, "%v in %q", problems, src)
			return c
		}
		require.Equal(t, src, open(src).Bytes(), "reading changes the text")
		for _, s := range before.Servers {
			d := open(src)
			require.NoError(t, d.SetDisabled(s.Label, !s.Disabled))
			added, changed, removed := Diff(before, read(d.Bytes()))
			if len(added) > 0 || len(removed) > 0 || len(changed) != 1 || changed[0] != s.ID {
				t.Fatalf("switching %q in %q: %v %v %v\n%q", s.Label, src, added, changed, removed, d.Bytes())
			}
			d = open(src)
			require.NoError(t, d.Remove(s.Label))
			added, changed, removed = Diff(before, read(d.Bytes()))
			if len(added) > 0 || len(changed) > 0 || len(removed) != 1 || removed[0] != s.ID {
				t.Fatalf("removing %q from %q: %v %v %v\n%q", s.Label, src, added, changed, removed, d.Bytes())
			}
		}
		if _, taken := before.Server("fresh"); taken {
			return
		}
		d := open(src)
		if d.Add("fresh", []byte(`{"command":"n"}`)) != nil {
			return // the servers are a list
		}
		if added, changed, removed := Diff(before, read(d.Bytes())); before.MCPEnabled && (len(added) != 1 || len(changed)+len(removed) > 0) {
			t.Fatalf("adding to %q: %v %v %v\n%q", src, added, changed, removed, d.Bytes())
		}
	})
}
