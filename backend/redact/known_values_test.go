package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestSecretValuesAreRedactedInEveryEncoding(t *testing.T) {
	t.Parallel()
	values := []string{`hunter2`, `correct horse "battery"\staple/é<1>`, "line one\nline two of a key", "0123456789abcdef0123456789abcdef", "short"}
	k := NewValues(values)
	r := &Redactor{Values: k}
	for _, v := range values[:4] {
		quoted, _ := json.Marshal(v)
		for what, text := range map[string]string{
			"json": `{"text":` + string(quoted) + `,"n":1}`, "url": `{"u":"https://x.org/?q=` + url.QueryEscape(v) + `"}`,
			"path": `{"u":"https://x.org/` + url.PathEscape(v) + `"}`, "list": `["a",` + string(quoted) + `,` + string(quoted) + `]`,
			"base64": `{"d":"` + base64.StdEncoding.EncodeToString([]byte(v)) + `"}`,
		} {
			if what == "base64" && len(v) < 9 {
				continue
			}
			got := string(r.AppendJSON(nil, []byte(text)))
			if !strings.Contains(got, Mark) || !json.Valid([]byte(got)) {
				t.Errorf("%s: %s became %s", what, text, got)
			}
			if strings.Contains(got, string(quoted[1:len(quoted)-1])) || strings.Contains(got, url.QueryEscape(v)) {
				t.Errorf("%s: %s holds the secret", what, got)
			}
		}
		if got := r.Text("cannot open " + v + ": no"); got != "cannot open "+Mark+": no" {
			t.Errorf("a sentence became %q", got)
		}
	}
	for _, same := range []string{`{"text":"short hunter1 hunte"}`, `{"a":"0123456789abcde"}`, `{}`, ``, `"correct horse"`} {
		if got := string(k.Redact([]byte(same), 0)); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	if got := string(k.Redact([]byte(`"a\nhunter2"`), 0)); got != `"a\n[redacted]"` {
		t.Errorf("got %s", got)
	}
	if got := string(NewValues([]string{"nopqrst"}).Redact([]byte(`"a\nopqrst"`), 0)); !json.Valid([]byte(got)) {
		t.Errorf("%s is not JSON", got)
	}
	if NewValues([]string{"", "12345", "  "}) != nil {
		t.Error("short words are looked for")
	}
}

// A log has a line for each line of a key, and tools return JSON in strings of JSON.
func TestLinesAndNestedJSONOfSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nQWxhZGRpbjpvcGVuIHNlc2FtZQAA\nU2Vjb25kTGluZU9mVGhlS2V5Zz09\n-----END KEY-----"
	token := `tk/+=%&"quoted"-Zz81-end`
	r := &Redactor{Values: NewValues([]string{key, token})}
	for line := range strings.Lines("fatal: " + key) {
		if got := r.Text(line); strings.Contains(got, "QWxh") || strings.Contains(got, "U2Vj") {
			t.Errorf("%q became %q", line, got)
		}
	}
	text, _ := json.Marshal(map[string]string{"pem": key, "t": token})
	for depth := range 4 {
		got := r.AppendJSON(nil, text)
		if s := string(got); strings.Contains(s, "QWxh") || strings.Contains(s, "Zz81") || !json.Valid(got) {
			t.Errorf("depth %d: %s", depth, got)
		}
		text, _ = json.Marshal(string(text))
	}
}

func TestConfiguredPatternsAreRedacted(t *testing.T) {
	t.Parallel()
	r := &Redactor{Patterns: []*regexp.Regexp{regexp.MustCompile(`cust-\d+`), regexp.MustCompile(`(?i)project falcon`)}}
	got := string(r.AppendJSON([]byte("before cust-1 "), []byte(`{"a":"cust-42 and cust-7","b":"Project Falcon"}`)))
	if got != `before cust-1 {"a":"[redacted] and [redacted]","b":"[redacted]"}` {
		t.Errorf("got %s", got)
	}
}

// FuzzSecretValues holds that a search finds what strings.Index does.
func FuzzSecretValues(f *testing.F) {
	f.Add("hunter22", "abcdefgh", "xxhunter2zhunter22abcdefg")
	f.Add("aaaaaa", "aaaaaab", "aaaaaaaaaaaaaaabaaaaa")
	f.Fuzz(func(t *testing.T, a, b, text string) {
		k := NewValues([]string{a, b})
		if k == nil {
			return
		}
		want := -1
		for _, list := range k.byLastBlock {
			for _, v := range list {
				if i := strings.Index(text, v); i >= 0 && (want < 0 || i < want) {
					want = i
				}
			}
		}
		start, end := k.find([]byte(text), 0)
		if end == 0 {
			start = -1
		} else {
			start -= escapeLen([]byte(text), start) // a letter of an escape stays
		}
		if want >= 0 && (start < 0 || start > want+5) {
			t.Fatalf("found at %d, is at %d", start, want)
		}
		if got := k.Redact([]byte(text), 0); want < 0 && end == 0 && string(got) != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func BenchmarkSecretValues(b *testing.B) {
	var values []string
	for i := range 20 {
		values = append(values, strings.Repeat(string(rune('A'+i)), 4)+"0123456789abcdef"+strings.Repeat(string(rune('a'+i)), 4))
	}
	k := NewValues(values)
	text := []byte(strings.Repeat(`{"path":"/home/me/project/file.go","text":"some ordinary words of a result"},`, 135))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		k.Redact(text, 0)
	}
}

func TestOrdinaryValuesAreNotRemoved(t *testing.T) {
	for _, v := range []string{
		"true", "1", "production", "INFO", "DEVELOPMENT", "Europe", "us-east-1", "eu-central-1", "read-only", "octo-org/hello-world", "me@example.com", "3600000",
		"2026-01-02", "1.2.3", "127.0.0.1", "192.168.100.200", "::1", "/home/me/notes", "~/notes", `C:\Users\me\notes`, "d:/notes", "https://api.example.com/v1", "http://localhost:5432", "db.example.com:5432", "application/json",
	} {
		if !Ordinary(v) {
			t.Errorf("%q is not ordinary", v)
		}
	}
	for _, v := range []string{
		"ABCD-1234-EFGH-5678", "PlainEnvSecr3t", "hunter2hunter2", "correct horse battery staple", "s3cretpass", "AKIAABCDEFGHIJKLMNOP", "4111-1111-1111-1111", "123-45-67890",
		"postgres://u:pw@h/db", "https://h/?key=abcdef", "https://hooks.example.com/services/T0AB12CD/B0/x9Y8z7W6", "eyJhbGciOiJI.eyJzdWIi.c2lnbmF0", "{\"a\": 1}", "correct-horse-battery-staple",
	} {
		if Ordinary(v) {
			t.Errorf("%q is ordinary", v)
		}
	}
}
