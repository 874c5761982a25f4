package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

const canary = "cAnArY77"

func TestUnrecordedPayloadsAreNotStored(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	want := RecordingSettings{Rules: []Rule{{"files", "", KeepMeta}, {"files", "loud", KeepNothing}, {"git", "", KeepNothing}, {"git", "log", KeepFull}}}
	must(t, b.SaveRecording(t.Context(), want))
	names := [][2]string{{"files", "echo"}, {"files", "loud"}, {"git", "diff"}, {"git", "log"}, {"web", "get"}}
	for n, name := range names {
		c := aCall(n)
		c.Server, c.Name, c.Reason, c.Stack = name[0], name[1], "because of something", "panic: planted-argument"
		b.Recorder().Record(c, aReply)
	}
	for n, kept := range []RecordLevel{KeepMeta, KeepNothing, KeepNothing, KeepFull, KeepFull} {
		r, err := b.Call(t.Context(), aCall(n).ID)
		switch kept {
		case KeepNothing:
			if core.CodeOf(err) != core.CodeNotFound {
				t.Errorf("%v is kept: %v", names[n], err)
			}
		case KeepMeta:
			if err != nil || r.Arguments != nil || r.Result != nil || r.Reason != "" || r.Stack != "" || r.Outcome != core.OutcomeOK {
				t.Errorf("of %v more than its facts is kept: %+v, %v", names[n], r, err)
			}
		default:
			if err != nil || r.Result == nil || r.Arguments == nil {
				t.Errorf("%v: %+v, %v", names[n], r, err)
			}
		}
	}
	must(t, b.SaveRecording(t.Context(), RecordingSettings{Paused: true}))
	b.stop()
	b = open(t, b.path) // the pause is stored
	if st := b.Recorder().Stats(); st.State != "paused" || st.Reason == "" {
		t.Errorf("%+v", st)
	}
	record(t, b, 100, 5)
	if n := count(t, b); n != 3 {
		t.Errorf("%d calls are there, 3 were before the pause", n)
	}
	must(t, b.SaveRecording(t.Context(), RecordingSettings{}))
	b.Recorder().SetEnabled(false)
	record(t, b, 200, 5)
	b.Recorder().SetEnabled(true)
	b.Recorder().SetMaxField(4)
	record(t, b, 300, 1)
	if n := count(t, b); n != 4 {
		t.Errorf("%d calls are there, not 4", n)
	}
	if r, err := b.Call(t.Context(), aCall(300).ID); err != nil || len(r.Result) != 4 || r.ReplyCut == nil {
		t.Errorf("the bound of a payload does not hold: %+v, %v", r, err)
	}
	if err := b.SaveRecording(t.Context(), RecordingSettings{Rules: []Rule{{"a", "", "some"}}}); core.CodeOf(err) != core.CodeValidation {
		t.Errorf("a wrong rule: %v", err)
	}
}

// TestRecordingRulesApplyByServerAndTool: the user's rules can only lower the level of the
// configuration.
func TestRecordingRulesApplyByServerAndTool(t *testing.T) {
	t.Parallel()
	r := rules{
		RecordingSettings: RecordingSettings{Rules: []Rule{{"files", "", KeepFull}, {"files", "read", KeepFull}, {"git", "log", KeepMeta}, {"web", "", KeepMeta}}},
		ceiling:           map[string]RecordLevel{"files": KeepMeta, "git": KeepFull, "web": KeepNothing},
		toolCeiling:       map[Tool]RecordLevel{{"files", "write"}: KeepFull, {"files", "secret"}: KeepNothing, {"web", "get"}: KeepFull, {"git", "diff"}: KeepMeta},
	}
	for _, c := range []struct {
		server, tool string
		want         RecordLevel
	}{
		{"files", "read", KeepMeta}, {"files", "", KeepMeta}, {"files", "write", KeepFull}, {"files", "secret", KeepNothing},
		{"git", "log", KeepMeta}, {"git", "diff", KeepMeta}, {"git", "show", KeepFull},
		{"web", "get", KeepMeta}, {"web", "put", KeepNothing}, {"other", "x", KeepFull},
	} {
		if got := r.levelFor(c.server, c.tool); got != c.want {
			t.Errorf("of %s %s %q is kept, want %q", c.server, c.tool, got, c.want)
		}
	}
}

// Secrets that are added later are removed from names too.
func TestNameThatBecomesSecretIsRedacted(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	r := b.Recorder()
	kept := func(n int, name string) string {
		t.Helper()
		c := aCall(n)
		c.Name = name
		r.Record(c, aReply)
		got, err := b.Call(t.Context(), c.ID)
		must(t, err)
		return got.Name
	}
	const name = "lookup_hunter2hunter2"
	for n := range 2 {
		if got := kept(n, name); got != name {
			t.Errorf("%q is kept as %q", name, got)
		}
	}
	r.SetSecrets([]string{"hunter2hunter2"}, nil)
	for n := 2; n < 4; n++ {
		if got := kept(n, name); got == name {
			t.Errorf("a name with a secret is kept as %q", got)
		}
	}
}

func TestSecretValueAcrossCutIsRedacted(t *testing.T) {
	t.Parallel()
	secret := "v3ry-l0ng-" + strings.Repeat("s3cret-", 20)
	r := &rules{secrets: redact.Redactor{Values: redact.NewValues([]string{secret})}}
	for at := 1000 - len(secret) - 5; at < 1005; at += 7 {
		text := strings.Repeat("x", at) + secret + strings.Repeat("y", 2000)
		got, cut := r.appendField(nil, []byte(text), 1000)
		if bytes.Contains(got, []byte("v3ry-l0")) || cut == nil || cut.Size != len(text) {
			t.Fatalf("at %d: %s", at, got[len(got)-60:])
		}
	}
}

func TestDefinitionsAreRedactedAsCalls(t *testing.T) {
	s := fresh(t)
	s.Recorder().SetSecrets([]string{"hunter2hunter2"}, nil)
	got := string(s.RedactJSON([]byte(`{"instructions":"use hunter2hunter2","tools":[{"inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}}]}`)))
	if want := `{"instructions":"use [redacted]","tools":[{"inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSecretsNeverReachDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	b := open(t, path)
	c := aCall(1)
	params := `{"name":"echo","arguments":{"password":"` + canary + `","h":{"Authorization":"Bearer ` + canary + `"}}}`
	c.Params, c.Arguments = []byte(params), core.Span{Start: 27, End: len(params) - 1}
	c.Reason = "cannot log in: token=" + canary
	b.Recorder().Record(c, core.Reply{Result: []byte(`{"text":"api_key: ` + canary + `"}`)})
	c = aCall(2)
	c.Method, c.Name = "resources/read", "https://me:"+canary+"@x.org/?access_token="+canary
	c.PublicName = c.Name
	c.Params, c.Arguments = []byte(`{"uri":"`+c.Name+`"}`), core.Span{}
	b.Recorder().Record(c, core.Reply{Error: []byte(`{"code":1,"message":"secret=` + canary + `"}`)})
	count(t, b)
	files, _ := filepath.Glob(path + "*")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || strings.Contains(string(data), canary) {
			t.Errorf("%s holds a secret, or %v", filepath.Base(f), err)
		}
		if info, _ := os.Stat(f); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", filepath.Base(f), info.Mode())
		}
	}
}
