package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAServerIsTriedFromTheCommandLine(t *testing.T) {
	f := newFake(t)
	var sent string
	answer := `{"ok":true,"stage":"done","command":"npx x","tookNs":1200000000,"era":"legacy","protocolVersion":"2025-11-25","tools":[{"name":"read","description":"Reads.\nMore.","inputSchema":"{\"type\":\"object\"}"}]}`
	f.mux.HandleFunc("POST /api/v1/test", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		io.WriteString(w, answer)
	})
	for want, args := range map[string][]string{
		`{"entry":{"command":"npx","args":["-y","x"]},"name":"server"}`: {"test", "--", "npx", "-y", "x"},
		`{"entry":{"url":"https://example.com/mcp"},"name":"server"}`:   {"test", "https://example.com/mcp"},
		`{"server":"files"}`: {"test", "files"},
		`{"entry":{"args":["--utc"],"docker":{"image":"mcp/time"},"type":"docker"},"name":"server"}`: {"test", "--image", "mcp/time", "--", "--utc"},
	} {
		got := f.run(false, args...)
		if got.code != 0 || sent != want || !strings.Contains(got.out, "1 tool, 0 prompts, 0 resources; legacy, revision 2025-11-25, in 1.2s") || !strings.Contains(got.out, "  read  Reads.\n") {
			t.Errorf("%v: %+v, sent %s", args, got, sent)
		}
	}
	if got := f.run(false, "test", "files", "--schemas"); !strings.Contains(got.out, `{"type":"object"}`) {
		t.Errorf("%+v", got)
	}
	answer = `{"ok":false,"stage":"start","error":"executable not found","hint":"Correct command.","log":["why"]}`
	if got := f.run(false, "test", "files"); got.code != 1 || !strings.Contains(got.out, "failed at start: executable not found\nCorrect command.\n  why\n") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"test"}, {"test", "a", "b"}} {
		if got := f.run(false, args...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
