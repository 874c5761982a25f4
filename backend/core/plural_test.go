package core

import "testing"

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 tools", 1: "1 tool", 2: "2 tools"} {
		if got := Plural(n, "tool"); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
