package history

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckRunAllWritesJUnit(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/servers", `{"items":[{"id":"files","label":"My <Files>"}]}`)
	f.Answer("GET /api/v1/checks", `{"items":[{"name":"good"},{"name":"bad"},{"name":"gone"}]}`)
	f.Answer("POST /api/v1/checks/good/run", `{"name":"good","ok":true,"steps":[{"server":"files","tool":"read","ok":true,"tookNs":1500000}]}`)
	f.Answer("POST /api/v1/checks/bad/run", `{"name":"bad","ok":false,"steps":[{"server":"files","tool":"read","ok":true},{"server":"files","tool":"read","ok":false,"version":"fs 2","recordedVersion":"fs 1","failures":["the result differs in 1 places \u0007"],"changes":[{"path":"/content/0/text","before":"password1","after":"password2"}]}]}`)
	path := filepath.Join(t.TempDir(), "results.xml")
	got := f.Run(true, "check", "run", "--all", "--junit", path)
	if got.Code != 1 || !strings.HasPrefix(got.Out, "ok      good\n  ok      My <Files> read\nFAILED  bad\n") || !strings.Contains(got.Out, "FAILED  gone\n") || !strings.Contains(got.Out, "answered by fs 2, recorded with fs 1\n") {
		t.Errorf("%d %q %q", got.Code, got.Out, got.Err)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var doc junitSuites
	err = xml.Unmarshal(data, &doc)
	require.Truef(t, err == nil && len(doc.Suites) == 3, "%v\n%s", err, data)
	if s := doc.Suites[0]; s.Name != "good" || s.Tests != 1 || s.Failures+s.Errors != 0 || s.Cases[0].Time != "0.002" || s.Cases[0].Name != "1 My <Files> read" {
		t.Errorf("%+v", s)
	}
	if s := doc.Suites[1]; s.Tests != 2 || s.Failures != 1 || s.Cases[0].Failure != nil || !strings.Contains(s.Cases[1].Failure.Text, "differs: /content/0/text\nanswered by fs 2, recorded with fs 1") {
		t.Errorf("%+v", s)
	}
	s := doc.Suites[2]
	assert.Truef(t, s.Errors == 1 && s.Cases[0].Error != nil, "%+v", s)
	assert.NotContains(t, string(data), "password", "a value of a result is in the file")
	if got := f.Run(true, "check", "run", "--all", "--json"); got.Code != 1 || !strings.Contains(got.Out, `"ok":false,`) && !strings.Contains(got.Out, `"ok":false}`) || strings.Count(got.Out, `"name":`) != 3 {
		t.Errorf("%d %q", got.Code, got.Out)
	}
}

func TestCheckExitCodes(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/servers", `{"items":[]}`)
	f.Answer("GET /api/v1/checks", `{"items":[]}`)
	f.Answer("DELETE /api/v1/checks/old", `{}`)
	ran := filepath.Join(t.TempDir(), "missing", "results.xml")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"check", "run"}, 2, "--all"},
		{[]string{"check", "run", "smoke", "--all"}, 2, "--all"},
		{[]string{"check", "run", "--all"}, 1, "there are no saved checks"}, // nothing tested is not a pass
		{[]string{"check", "run", "smoke", "--junit", ran}, 1, "cannot write the JUnit file"},
		{[]string{"check", "run", "gone", "--json"}, 1, "404"},
		{[]string{"check", "remove", "old"}, 0, ""},
		{[]string{"check", "remove", "gone"}, 1, "404"},
	} {
		got := f.Run(true, c.args...)
		assert.Truef(t, got.Code == c.code && strings.Contains(got.Err, c.says), "%v: %d %q", c.args, got.Code, got.Err)
	}
}

// TestCheckAcceptsServerNames uses the check of a server that was renamed, and of one that no
// longer exists.
func TestCheckAcceptsServerNames(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/servers", `{"items":[{"id":"my-files","label":"My Files"}]}`)
	f.Answer("POST /api/v1/checks/smoke/run", `{"name":"smoke","ok":true,"steps":[{"server":"my-files","tool":"read","ok":true},{"server":"gone","tool":"x","ok":true}]}`)
	got := f.Run(true, "check", "run", "smoke")
	assert.Truef(t, got.Code == 0 && got.Out == "ok      My Files read\nok      gone x\n", "%d %q %q", got.Code, got.Out, got.Err)
	assert.Contains(t, f.Run(true, "check", "run", "smoke", "--json").Out, `"server":"my-files"`, "the document has other words")
}
