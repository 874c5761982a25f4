package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

func TestTestCommandTriesServer(t *testing.T) {
	f := newFakeDaemon(t)
	var sent string
	answer := `{"ok":true,"stage":"done","command":"npx x","tookNs":1200000000,"era":"legacy","protocolVersion":"2025-11-25","tools":[{"name":"read","description":"Reads.\nMore.","inputSchema":"{\"type\":\"object\"}"}]}`
	f.Mux.HandleFunc("POST /api/v1/test", func(w http.ResponseWriter, r *http.Request) {
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
		got := f.Run(false, args...)
		if got.Code != 0 || sent != want || !strings.Contains(got.Out, "1 tool, 0 prompts, 0 resources; legacy, revision 2025-11-25, in 1.2s") || !strings.Contains(got.Out, "  read  Reads.\n") {
			t.Errorf("%v: %+v, sent %s", args, got, sent)
		}
	}
	assert.Contains(t, f.Run(false, "test", "files", "--schemas").Out, `{"type":"object"}`)
	answer = `{"ok":false,"stage":"start","error":"executable not found","hint":"Correct command.","log":["why"]}`
	got := f.Run(false, "test", "files")
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Out, "failed at start: executable not found\nCorrect command.\n  why\n"), "%+v", got)
	got = f.Run(false, "test", "--json", "files")
	assert.Truef(t, got.Code == 1 && got.Out == answer+"\n", "%+v", got)
	answer = `{"ok":false,"stage":"connect","error":"server \"server\" cannot be reached; last output: why","log":["why"]}`
	assert.Equal(t, "failed at connect: https://example.com/mcp cannot be reached; last output: why\n", f.Run(false, "test", "https://example.com/mcp?key=1").Out)
	for _, args := range [][]string{{"test"}, {"test", "a", "b"}} {
		assert.Equal(t, 2, f.Run(false, args...).Code, args)
	}
}

func TestTestCommandWorksWithoutDaemon(t *testing.T) {
	t.Parallel()
	answer, fails := `{"ok":true,"stage":"done","command":"npx x","tools":[{"name":"read"}]}`, error(nil)
	var asked string
	run := func(args ...string) (code int, out, errOut string) {
		try := func(_ context.Context, o ServeOptions, request []byte) ([]byte, error) {
			asked = string(request)
			assert.Truef(t, o.Folders.Data != "" && o.Sources.Main() != "", "no configuration: %+v", o)
			return []byte(answer), fails
		}
		got := runMain(t.Context(), t.TempDir(), func(o *Options) { o.TryServer = try }, args...)
		return got.Code, got.Out, got.Err
	}
	code, out, errOut := run("test", "files")
	if code != 0 || asked != `{"server":"files"}` || !strings.Contains(out, "works: npx x\n1 tool") || !strings.Contains(errOut, "not running: this command starts the server itself") {
		t.Errorf("%d %s %s, asked for %s", code, out, errOut, asked)
	}
	if code, out, errOut := run("test", "files", "--json"); code != 0 || out != answer+"\n" || errOut != "" {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	answer = `{"ok":false,"stage":"start","error":"executable not found"}`
	if code, out, _ := run("test", "--", "x"); code != 1 || asked != `{"entry":{"command":"x"},"name":"server"}` || !strings.Contains(out, "failed at start: executable not found") {
		t.Errorf("%d %s, asked for %s", code, out, asked)
	}
	fails = core.Errorf(core.CodeNotFound, "there is no such server")
	if code, _, errOut := run("test", "gone"); code != 1 || !strings.Contains(errOut, `there is no server named "gone"`) {
		t.Errorf("%d %s", code, errOut)
	}
}
