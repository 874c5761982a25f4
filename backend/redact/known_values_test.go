package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			assert.Truef(t, strings.Contains(got, Mark) && json.Valid([]byte(got)), "%s: %s became %s", what, text, got)
			assert.NotContains(t, got, string(quoted[1:len(quoted)-1]), what)
			assert.NotContains(t, got, url.QueryEscape(v), what)
		}
		assert.Equal(t, "cannot open "+Mark+": no", r.Text("cannot open "+v+": no"), "a sentence became")
	}
	for _, same := range []string{`{"text":"short hunter1 hunte"}`, `{"a":"0123456789abcde"}`, `{}`, ``, `"correct horse"`} {
		assert.Equal(t, same, string(k.Redact([]byte(same), 0)))
	}
	assert.Equal(t, `"a\n[redacted]"`, string(k.Redact([]byte(`"a\nhunter2"`), 0)))
	got := string(NewValues([]string{"nopqrst"}).Redact([]byte(`"a\nopqrst"`), 0))
	assert.Truef(t, json.Valid([]byte(got)), "%s is not JSON", got)
	assert.Nil(t, NewValues([]string{"", "12345", "  "}), "short words are looked for")
}

// A log has a line for each line of a key, and tools return JSON in strings of JSON.
func TestLinesAndNestedJSONOfSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nQWxhZGRpbjpvcGVuIHNlc2FtZQAA\nU2Vjb25kTGluZU9mVGhlS2V5Zz09\n-----END KEY-----"
	token := `tk/+=%&"quoted"-Zz81-end`
	r := &Redactor{Values: NewValues([]string{key, token})}
	for line := range strings.Lines("fatal: " + key) {
		got := r.Text(line)
		assert.Truef(t, !strings.Contains(got, "QWxh") && !strings.Contains(got, "U2Vj"), "%q became %q", line, got)
	}
	text, _ := json.Marshal(map[string]string{"pem": key, "t": token})
	for depth := range 4 {
		got := r.AppendJSON(nil, text)
		s := string(got)
		assert.Truef(t, !strings.Contains(s, "QWxh") && !strings.Contains(s, "Zz81") && json.Valid(got), "depth %d: %s", depth, got)
		text, _ = json.Marshal(string(text))
	}
}

func TestConfiguredPatternsAreRedacted(t *testing.T) {
	t.Parallel()
	r := &Redactor{Patterns: []*regexp.Regexp{regexp.MustCompile(`cust-\d+`), regexp.MustCompile(`(?i)project falcon`)}}
	got := string(r.AppendJSON([]byte("before cust-1 "), []byte(`{"a":"cust-42 and cust-7","b":"Project Falcon"}`)))
	assert.Equal(t, `before cust-1 {"a":"[redacted] and [redacted]","b":"[redacted]"}`, got)
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
		require.Falsef(t, want >= 0 && (start < 0 || start > want+5), "found at %d, is at %d", start, want)
		got := k.Redact([]byte(text), 0)
		require.Falsef(t, want < 0 && end == 0 && string(got) != text, "%q became %q", text, got)
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
		assert.Truef(t, Ordinary(v), "%q is not ordinary", v)
	}
	for _, v := range []string{
		"ABCD-1234-EFGH-5678", "PlainEnvSecr3t", "hunter2hunter2", "correct horse battery staple", "s3cretpass", "AKIAABCDEFGHIJKLMNOP", "4111-1111-1111-1111", "123-45-67890",
		"postgres://u:pw@h/db", "https://h/?key=abcdef", "https://hooks.example.com/services/T0AB12CD/B0/x9Y8z7W6", "eyJhbGciOiJI.eyJzdWIi.c2lnbmF0", "{\"a\": 1}", "correct-horse-battery-staple",
	} {
		assert.Falsef(t, Ordinary(v), "%q is ordinary", v)
	}
}
