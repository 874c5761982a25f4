package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const canary = "cAnArY77"

func TestUnrecordedPayloadsAreNotStored(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	want := RecordingSettings{Rules: []Rule{{"files", "", KeepMeta}, {"files", "loud", KeepNothing}, {"git", "", KeepNothing}, {"git", "log", KeepFull}}}
	require.NoError(t, b.SaveRecording(t.Context(), want))
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
			assert.Equal(t, core.CodeNotFound, core.CodeOf(err))
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
	require.NoError(t, b.SaveRecording(t.Context(), RecordingSettings{Paused: true}))
	b.stop()
	b = open(t, b.path) // the pause is stored
	st := b.Recorder().Stats()
	assert.Truef(t, st.State == "paused" && st.Reason != "", "%+v", st)
	record(t, b, 100, 5)
	assert.Equal(t, 3, count(t, b))
	require.NoError(t, b.SaveRecording(t.Context(), RecordingSettings{}))
	b.Recorder().SetEnabled(false)
	record(t, b, 200, 5)
	b.Recorder().SetEnabled(true)
	b.Recorder().SetMaxField(4)
	record(t, b, 300, 1)
	assert.Equal(t, 4, count(t, b))
	r, err := b.Call(t.Context(), aCall(300).ID)
	assert.Truef(t, err == nil && len(r.Result) == 4 && r.ReplyCut != nil, "the bound of a payload does not hold: %+v, %v", r, err)
	assert.Equal(t, core.CodeValidation, core.CodeOf(b.SaveRecording(t.Context(), RecordingSettings{Rules: []Rule{{"a", "", "some"}}})))
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
		assert.Equalf(t, c.want, r.levelFor(c.server, c.tool), "of %s %s", c.server, c.tool)
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
		require.NoError(t, err)
		return got.Name
	}
	const name = "lookup_hunter2hunter2"
	for n := range 2 {
		assert.Equal(t, name, kept(n, name))
	}
	r.SetSecrets([]string{"hunter2hunter2"}, nil)
	for n := 2; n < 4; n++ {
		assert.NotEqual(t, name, kept(n, name), "a name with a secret is kept as")
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
	assert.Equal(t, `{"instructions":"use [redacted]","tools":[{"inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}}]}`, got)
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
		assert.NoError(t, err)
		assert.NotContains(t, string(data), canary)
		if info, _ := os.Stat(f); info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s is %v", filepath.Base(f), info.Mode())
		}
	}
}

func TestPayloadsAreRecordedInFullOnlyWhereAndWhileAsked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var past atomic.Int64
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return now.Add(time.Duration(past.Load())) })
	b.Recorder().SetSecrets([]string{canary}, nil)
	until := now.Add(time.Hour)
	b.Recorder().SetFullSession("configured")
	require.NoError(t, b.SaveRecording(t.Context(), RecordingSettings{Full: []FullRecording{{Session: "chosen", Until: until}, {Client: "agent", Until: until}, {Server: "web", Until: until}}}))
	long := json.RawMessage(`{"secret":"` + canary + `","content":"` + strings.Repeat("é", 1<<20) + `"}`)
	full := func(n int, change func(*core.Call)) bool {
		t.Helper()
		c := aCall(n)
		c.Session, c.Client, c.Server = "other", core.Client{Name: "other"}, "files"
		change(c)
		b.Recorder().Record(c, core.Reply{Result: long})
		r, err := b.Call(t.Context(), c.ID)
		require.NoError(t, err)
		assert.False(t, bytes.Contains(r.Result, []byte(canary)), "a secret is recorded")
		return r.ReplyCut == nil
	}
	for n, c := range []struct {
		what   string
		want   bool
		change func(*core.Call)
	}{
		{"another call", false, func(*core.Call) {}},
		{"the session", true, func(c *core.Call) { c.Session = "chosen" }},
		{"the session of the configuration", true, func(c *core.Call) { c.Session = "configured" }},
		{"the client", true, func(c *core.Call) { c.Client.Name = "agent" }},
		{"the token", true, func(c *core.Call) { c.Client.Token = "agent" }},
		{"the server", true, func(c *core.Call) { c.Server = "web" }},
	} {
		assert.Equal(t, c.want, full(n, c.change), c.what)
	}
	past.Store(int64(time.Hour))
	if full(10, func(c *core.Call) { c.Session = "chosen" }) || len(b.Recording().Full) != 0 {
		t.Error("recording in full does not end by itself")
	}
	past.Store(0)
	require.NoError(t, b.SaveRecording(t.Context(), RecordingSettings{Full: []FullRecording{{Session: "chosen", Until: until}}}))
	long = json.RawMessage(`"` + strings.Repeat("x", MaxFullField) + `"`)
	assert.False(t, full(11, func(c *core.Call) { c.Session = "chosen" }), "recording in full has no limit")
	for _, wrong := range []FullRecording{{Until: until}, {Session: "a", Client: "b", Until: until}, {Session: "a", Until: now.Add(25 * time.Hour)}} {
		assert.Equal(t, core.CodeValidation, core.CodeOf(b.SaveRecording(t.Context(), RecordingSettings{Full: []FullRecording{wrong}})))
	}
}

// A result that is truncated for its client must be in the history unchanged.
func TestRecorderStatesWhichResultsItKeepsUnchanged(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	b.Recorder().SetSecrets([]string{canary}, nil)
	require.NoError(t, b.SaveRecording(t.Context(), RecordingSettings{Rules: []Rule{{Server: "meta", Keep: KeepMeta}, {Server: "off", Keep: KeepNothing}}}))
	text := func(n int) json.RawMessage {
		return json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`)
	}
	for n, q := range []struct {
		what, server string
		result       json.RawMessage
		kept         bool
	}{
		{"short", "files", text(10), true},
		{"longer than others are recorded", "files", text(MaxField * 3), true},
		{"longer than any is recorded", "files", text(MaxFullField + 1), false},
		{"with a secret", "files", json.RawMessage(`{"content":[{"type":"text","text":"` + canary + `"}]}`), false},
		{"without payloads", "meta", text(10), false},
		{"not recorded", "off", text(10), false},
	} {
		c := aCall(n)
		c.Server, c.RecordedUnchangedAs = q.server, new(int64)
		b.Recorder().Record(c, core.Reply{Result: q.result})
		if (*c.RecordedUnchangedAs == c.ID) != q.kept || !q.kept && *c.RecordedUnchangedAs != 0 {
			t.Errorf("%s: kept as %d", q.what, *c.RecordedUnchangedAs)
		}
		if r, err := b.Call(t.Context(), c.ID); q.kept && (err != nil || r.ReplyCut != nil || !bytes.Equal(r.Result, q.result)) {
			t.Errorf("%s: the history holds another result: %v", q.what, err)
		}
	}
	b.Recorder().mu.Lock()
	b.Recorder().fault = faultNewer
	b.Recorder().mu.Unlock()
	c := aCall(100)
	c.RecordedUnchangedAs = new(int64)
	if b.Recorder().Record(c, core.Reply{Result: text(10)}); *c.RecordedUnchangedAs != 0 {
		t.Error("a recorder that cannot write states that it keeps a result")
	}
}

func base64Text(bytes int) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\x01png", bytes/5+1)))
}

func cutText(text string) string {
	return fmt.Sprintf("[%d characters not recorded, sha256 %x]", len(text), sha256.Sum256([]byte(text)))
}

// The text after a screenshot is recorded and found, whatever the size of the picture.
func TestTextBehindPictureIsRecordedAndFound(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	picture := base64Text(300_000)
	form := `{"content":[{"type":"text","text":"before"},{"type":"image","data":"%s","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x://1","blob":"%s","mimeType":"application/pdf"}},{"type":"text","text":"marmalade"}],"n":1.0}`
	sent := fmt.Sprintf(form, picture, picture)
	c := aCall(1)
	arguments := `{"file":"data:image/png;base64,` + picture + `","name":"saffron"}`
	c.Params, c.Arguments = []byte(arguments), core.Span{End: len(arguments)}
	b.Recorder().Record(c, core.Reply{Result: []byte(sent)})
	got, err := b.Call(t.Context(), c.ID)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf(form, cutText(picture), cutText(picture)), string(got.Result))
	hash := sha256.Sum256([]byte(sent))
	if got.ReplyCut == nil || got.ReplyCut.Size != len(sent) || string(got.ReplyCut.Hash) != string(hash[:]) {
		t.Errorf("the result must count as truncated: %+v", got.ReplyCut)
	}
	if want := `{"file":"data:image/png;base64,` + cutText(picture) + `","name":"saffron"}`; string(got.Arguments) != want || got.ArgumentsCut == nil {
		t.Errorf("%.300s", got.Arguments)
	}
	for _, word := range []string{"before", "marmalade", "saffron"} {
		assert.Equal(t, []int64{1}, found(t, b, Query{Text: word}), word)
	}
	small := fmt.Sprintf(form, base64Text(2000), base64Text(2000))
	c = aCall(2)
	b.Recorder().Record(c, core.Reply{Result: []byte(small)})
	if got, err := b.Call(t.Context(), c.ID); err != nil || string(got.Result) != small || got.ReplyCut != nil {
		t.Errorf("a payload under the limit is changed: %v %+v", err, got.ReplyCut)
	}
}

func TestOnlyLongBinaryDataIsLeftOut(t *testing.T) {
	t.Parallel()
	long := base64Text(1500)
	escaped := strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\xff\xff", 600))), "/", `\/`)
	for text, want := range map[string]string{
		`{"data":"` + long + `"}`:                              `{"data":"` + cutText(long) + `"}`,
		`{ "blob" : "` + long + `" }`:                          `{ "blob" : "` + cutText(long) + `" }`,
		`{"data":"` + escaped + `"}`:                           `{"data":"` + cutText(strings.ReplaceAll(escaped, `\`, "")) + `"}`,
		`["data:image/png;base64,` + long + `"]`:               `["data:image/png;base64,` + cutText(long) + `"]`,
		`{"text":"` + long + `"}`:                              "",
		`{"data":"` + long[:1000] + `"}`:                       "",
		`{"data":"` + strings.Repeat("two words ", 500):        "",
		`{"data":"` + strings.Repeat("two words ", 500) + `"}`: "",
		`{"data":"` + long:                                     "",
		`{"data":1,"x":["` + long + `"]}`:                      "",
		`{"data":{"x":"` + long + `"}}`:                        "",
		`{"data":"` + strings.Repeat(`\"`, 2000) + `"}`:        "",
		`{"a":"\\","data":"` + long + `"}`:                     `{"a":"\\","data":"` + cutText(long) + `"}`,
		`{"text":"{\"data\":\"` + long + `\"}"}`:               "",
		strings.Repeat(`"`, 5001):                              "", strings.Repeat(`\`, 5000): "", ``: "",
	} {
		if want == "" {
			want = text
		}
		got := string(shortenBinary([]byte(text)))
		assert.Equalf(t, want, got, "%.100s", text)
		assert.Falsef(t, json.Valid([]byte(text)) && !json.Valid([]byte(got)), "%.100s is no longer JSON", text)
	}
}

// What remains is truncated as any other payload.
func TestTextThatIsTooLongWithoutItsPicturesIsTruncated(t *testing.T) {
	t.Parallel()
	r := &rules{}
	picture := base64Text(5000)
	got, cut := r.appendField(nil, []byte(`{"data":"`+picture+`","text":"`+strings.Repeat("é", 1000)+`"}`), 1000)
	want := `{"data":"` + cutText(picture) + `","text":"é`
	assert.Truef(t, strings.HasPrefix(string(got), want) && len(got) <= 1000 && len(got) >= 998 && cut != nil, "%d bytes: %s", len(got), got)
}

// The time is proportional to the size, whatever the text.
func TestShorteningIsLinear(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for name, text := range map[string]string{
		"quotes": strings.Repeat(`"`, size), "backslashes": `{"data":"` + strings.Repeat(`\`, size), "escaped quotes": `{"data":"` + strings.Repeat(`\"`, size/2),
		"data": `{"data":"` + strings.Repeat("A", size) + `"}`, "many": strings.Repeat(`{"data":"`+strings.Repeat("A", minBinary)+`"},`, size/minBinary),
		"almost base64": strings.Repeat(`{"data":"`+strings.Repeat("A", minBinary)+` "},`, size/minBinary), "braces": strings.Repeat("{", size),
	} {
		start := time.Now()
		shortenBinary([]byte(text))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

func TestRepeatedTextAndWhiteSpaceAreMeasured(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		result          string
		repeated, blank int64
	}{
		{`{"content":[]}`, 0, 0},
		{`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`, 11, 0},
		{`{"structuredContent":{"a":"é \""},"content":[{"type":"text","text":"{\n  \"a\": \"é \\\"\"\n}"}]}`, 28, 2},
		{`{"content":[{"type":"text","text":"{\"a\":2}"}],"structuredContent":{"a":1}}`, 0, 0},
		{`{"content":[{"type":"text","text":"one"},{"type":"text","text":"{}"}],"structuredContent":{}}`, 4, 0},
		{`{"content":[{"type":"text","text":"structuredContent"}]}`, 0, 0},
		{"{ \"content\" : [\n{\"type\":\"text\",\"text\":\"a\\n\\n    b c\\\\n\"}]}", 0, 4 + 2 + 4},
		{`{"content":[{"type":"text","text":"cut`, 0, 0},
		{`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"},3,"x"]}`, 11, 0},
		{`{"structuredContent":{"a":1},"content":7}`, 0, 0},
		{"\\", 0, 0}, {"", 0, 0},
	} {
		assert.Equal(t, resultSize{int64(len(q.result)), q.repeated, q.blank}, sizeOf([]byte(q.result), len(q.result)))
	}
}

// TestWhiteSpaceIsCountedAtEveryOffset: long strings are read in steps of eight bytes.
func TestWhiteSpaceIsCountedAtEveryOffset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		strings.Repeat(" ", 40): 39, strings.Repeat("a  ", 40): 40, strings.Repeat("a b", 40): 0,
		strings.Repeat(`a \n\n  `, 40): 40 * 6, strings.Repeat(`  \" `, 40): 40 + 39, strings.Repeat(`a \\ `, 40): 0,
		strings.Repeat("é  ", 20) + `"  ` + "\n": 20 + 3,
	} {
		for offset := range 9 {
			assert.Equalf(t, want, blankBytes([]byte(`"`+strings.Repeat("x", offset)+"y"+text)), "%d characters before %q", offset, text)
		}
	}
}

func BenchmarkBlankBytes(b *testing.B) {
	text := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(`A line of a text, as tools return it.\n`, 250) + `"}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		blankBytes(text)
	}
}

// The sums follow calls that are recorded and erased.
func TestUsageSumsSizesOfResults(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	defer b.stop()
	reply := core.Reply{Result: []byte(`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a": 1}}`)}
	for i := range 4 {
		c := aCall(i)
		c.BytesOut = len(reply.Result)
		b.Recorder().Record(c, reply)
	}
	flushed(t, b)
	sums := func() resultSize {
		t.Helper()
		u, err := b.Usage(t.Context(), UsageQuery{From: aCall(0).At.Add(-time.Hour), To: aCall(0).At.Add(time.Hour)})
		require.Truef(t, err == nil && len(u.ByTool) == 1 && u.ByTool[0].ResultBytes == u.Total.ResultBytes, "%+v, %v", u, err)
		return resultSize{u.Total.ResultBytes, u.Total.RepeatedBytes, u.Total.BlankBytes}
	}
	size := int64(len(reply.Result))
	assert.Equal(t, resultSize{4 * size, 44, 4}, sums(), "four calls")
	_, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(1).ID, aCall(2).ID}})
	require.NoError(t, err)
	assert.Equal(t, resultSize{2 * size, 22, 2}, sums(), "two of them erased")
}
