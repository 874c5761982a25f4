package config

import (
	"strings"
	"testing"
)

func TestArgumentEditKeepsComments(t *testing.T) {
	t.Parallel()
	src := `{"mcpServers": {
  // mine
  "a": {"command": "npx", "args": ["-y", /* which */ "pkg@1.0.0", "--x"]}, // behind
  "b": {"docker": {"image": "x:1"}}
}}`
	d, err := NewDocument([]byte(src))
	must(t, err)
	must(t, d.SetArgument("a", 1, "pkg@1.0.0", "pkg@2.0.0"))
	must(t, d.SetArgument("b", -1, "x:1", "x:2"))
	want := strings.NewReplacer("pkg@1.0.0", "pkg@2.0.0", "x:1", "x:2").Replace(src)
	if got := string(d.Bytes()); got != want {
		t.Errorf("got %s", got)
	}
	for _, at := range []int{-1, 0, 1, 7} {
		if err := d.SetArgument("a", at, "pkg@1.0.0", "y"); err == nil {
			t.Errorf("argument %d is changed although it is another one", at)
		}
	}
}
