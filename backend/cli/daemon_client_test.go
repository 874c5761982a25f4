package cli

import (
	"strings"
	"testing"
)

func TestDebugIsReadable(t *testing.T) {
	f := newFakeDaemon(t)
	const doc = `{"status":{"id":"files","label":"files","state":"crashed","reason":"exit code 3"},"configured":"npx x","environment":["A","B"],"processes":[{"pid":7,"name":"node","rssBytes":1500000}],"stderr":["\u001b[31mbad"],"frames":[{"at":"2026-01-02T03:04:05Z","sent":true,"text":"{\"id\":1}","bytes":8}],"timings":{"startTookNs":1500000000}}`
	f.Answer("GET /api/v1/servers/files/debug", doc)
	got := f.Run(true, "debug", "files")
	for _, want := range []string{"Server        files: Failed\n", "Reason        exit code 3\n", "Configured    npx x\n", "Environment   A, B\n", "Process       7 node, 1.5 MB\n", "Startup time  1.5s\n", "bad\n", `-> 8 bytes  {"id":1}`} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("%q is not in\n%s", want, got.Out)
		}
	}
	if strings.Contains(got.Out, "\x1b") || strings.Contains(got.Out, "Executable") || got.Code != 0 {
		t.Errorf("%+v", got)
	}
	if got := f.Run(true, "debug", "files", "--json"); got.Out != doc+"\n" {
		t.Errorf("%+v", got)
	}
}
