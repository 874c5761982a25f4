package clientconf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestDiffOfOneLineFileShowsOnlyWhatChanges(t *testing.T) {
	private := `"email":"me@example.com","prompts":["` + strings.Repeat("private ", 500) + `"]`
	before := `{` + private + `,"mcpServers":{"old":{"command":"x","env":{"API_KEY":"abcdef0123456789abcdef"}}},"last":1}`
	after := `{` + private + `,"mcpServers":{"drawbridge":{"type":"http","url":"http://127.0.0.1:7575/mcp"}},"last":1}`
	diff := Diff("f.json", []byte(before), []byte(after))
	for _, want := range []string{`-    "old": {`, `+    "drawbridge": {`, `"url": "http://127.0.0.1:7575/mcp"`, `"API_KEY": "***"`} {
		if !strings.Contains(diff, want) {
			t.Errorf("%s is not in\n%s", want, diff)
		}
	}
	for _, not := range []string{"private", "me@example.com", "last", "abcdef"} {
		if strings.Contains(diff, not) {
			t.Errorf("%s is in\n%s", not, diff)
		}
	}
	if diff := Diff("f.json", nil, []byte(after)); strings.Count(diff, "\n") < 8 {
		t.Errorf("a new file is shown as\n%s", diff)
	}
}

// A client keeps its history in the same file, on one line. The time per byte must not depend on
// the size.
func BenchmarkDiffOfOneLineFile(b *testing.B) {
	for _, megabytes := range []int{1, 57} {
		history := strings.Repeat(`{"display":"what I asked","pastedContents":{},"n":1.5},`, megabytes<<20/56)
		before := []byte(`{"history":[` + strings.TrimSuffix(history, ",") + `],"mcpServers":{}}`)
		after := bytes.Replace(before, []byte(`"mcpServers":{}`), []byte(`"mcpServers":{"a":{"command":"x"}}`), 1)
		b.Run(fmt.Sprint(megabytes, "MB"), func(b *testing.B) {
			b.SetBytes(int64(len(before)))
			for b.Loop() {
				if diff := Diff("f.json", before, after); len(diff) > 400 {
					b.Fatalf("%d bytes are shown", len(diff))
				}
			}
		})
	}
}
