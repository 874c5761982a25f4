package serverlog

import (
	"strings"
	"testing"
)

func TestLevelFilterSeparatesServerOutputFromEvents(t *testing.T) {
	lines := []Line{{Level: "debug", Text: "d"}, {Level: Info, Text: "i"}, {Level: Stderr, Text: "s"}, {Level: Warn, Text: "w"}, {Level: Error, Text: "e"}}
	for choice, want := range map[string]string{
		"": "diswe", "debug": "diswe", "info": "iswe", "warn": "we", "error": "e", "stderr": "s", "lifecycle": "diwe",
	} {
		wants, ok := Filter(choice)
		if !ok {
			t.Fatalf("%q is no choice", choice)
		}
		var got strings.Builder
		for _, l := range lines {
			if wants(l) {
				got.WriteString(l.Text)
			}
		}
		if got.String() != want {
			t.Errorf("%q stands for %q, not %q", choice, got.String(), want)
		}
	}
	for _, choice := range []string{"nothing", "INFO", "stdout"} {
		if _, ok := Filter(choice); ok {
			t.Errorf("%q is taken for a choice", choice)
		}
	}
}
