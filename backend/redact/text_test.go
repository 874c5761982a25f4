package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const canary = "cAnArY77"

func TestSecretsAreRedactedEverywhere(t *testing.T) {
	t.Parallel()
	long := canary + strings.Repeat("x1", 20)
	for name, text := range map[string]string{
		"json key":              `{"password":"` + canary + `","a":1}`,
		"json key, spaces":      `{"api_key" : "` + canary + `"}`,
		"json key, camel":       `{"accessToken":"` + canary + `"}`,
		"json key, kebab":       `{"x-api-key":"` + canary + `"}`,
		"escaped quote inside":  `{"secret":"a\"` + canary + `"}`,
		"bearer":                `{"Authorization":"Bearer ` + canary + `"}`,
		"header line":           `{"text":"Authorization: Bearer ` + canary + `\nHost: x"}`,
		"cookie line":           `{"text":"Set-Cookie: a=1; sid=` + canary + `; Path=/"}`,
		"json in a string":      `{"text":"{\"password\": \"` + canary + `\", \"b\": 2}"}`,
		"json in it, twice":     `{"text":"{\"t\":\"{\\\"client_secret\\\":\\\"` + canary + `\\\"}\"}"}`,
		"env line":              `{"text":"A=1\nDB_PASSWORD=` + canary + `\nB=2"}`,
		"env line, quoted":      `{"text":"export API_KEY='` + canary + `'"}`,
		"url query":             `{"url":"https://x.org/a?b=1&access_token=` + canary + `&c=2"}`,
		"url password":          `{"url":"postgres://me:` + canary + `@db:5432/x"}`,
		"header in an array":    `["-H","X-Api-Key: ` + canary + `"]`,
		"yaml":                  `{"text":"db:\n  password: ` + canary + `\n  user: me"}`,
		"our token":             `{"text":"use dbr_` + long + ` now"}`,
		"github":                `{"text":"ghp_` + long + `"}`,
		"after an escape":       `{"text":"key\nghp_` + long + `"}`,
		"openai":                `{"text":"sk-proj-` + long + `"}`,
		"slack":                 `["xoxb-1234-` + canary + `"]`,
		"jwt":                   `["eyJhbGciOiJIUzI1NiJ9.` + long + `.` + long + `"]`,
		"aws":                   `["AKIA` + strings.ToUpper(canary) + `ABCDEFGH"]`,
		"private key":           `{"text":"-----BEGIN RSA PRIVATE KEY-----\n` + long + `\n-----END RSA PRIVATE KEY-----\nok"}`,
		"private key, cut off":  `{"text":"-----BEGIN PRIVATE KEY-----\n` + long + `"}`,
		"string never finished": `{"password":"` + canary,
	} {
		got := string(AppendJSON(nil, []byte(text)))
		assert.NotContainsf(t, strings.ToLower(got), strings.ToLower(canary), "%s: %s", name, text)
		assert.Containsf(t, got, Mark, "%s: %s", name, text)
		assert.Falsef(t, json.Valid([]byte(text)) && !json.Valid([]byte(got)), "%s: %s is not JSON any more", name, got)
	}
	for _, open := range []string{"{secret:", "${secret: ", "${token:-"} {
		assert.NotContains(t, Text(open+canary+"}"), canary, "a reference became")
	}
	assert.NotContains(t, Text("cannot call: password="+canary+", token: x"), canary, "a sentence became")
	got := string(AppendJSON(nil, []byte(`{"tokens":["a"],"client_secrets":["`+canary+`"],"b":["c"]}`)))
	assert.Equal(t, `{"tokens":["a"],"client_secrets":["[redacted]"],"b":["c"]}`, got, "a list became")
	assert.Equal(t, `{"password":  "[redacted]"}`, string(AppendJSON(nil, []byte(`{"password":  1234.5}`))), "a number became")
}

// TestRedactionMarksAreKept: a log is read again for a bug report, and by then what was
// hidden has brackets around it.
func TestRedactionMarksAreKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"password=[redacted] next", "--api-key=[masked] and more", "Authorization: [redacted]", `token: "[redacted]"`} {
		assert.Equal(t, text, Text(text))
	}
}

func TestNonSecretTextIsKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a":1,"b":"x: y","url":"http://127.0.0.1:7575/a?b=c"}`,
		`{"progressToken":"p1","nextPageToken":"n","max_tokens":100}`,
		`{"password":null,"token":{"type":"string"},"secrets":[1,2],"secret":true}`,
		`{"text":"a sentence with sk-8 and AK and ey and eyJ, at 10:30"}`,
		`{"uri":"file:///home/me/passwords.txt","time":"2026-01-01T00:00:00Z"}`,
		`{"key":"value","keys":["a"],"mail":"mailto:me@x.org"}`,
		`server is not running (crashed): variable ${GITHUB_TOKEN} is not set (env.GITHUB_PERSONAL_ACCESS_TOKEN)`,
		`refer to it as ${secret:NAME}, or ${secret:github.token}`,
		`""`, ``, `:`, `=`, `\`, `"\\":`, `${secret:`, `${secret:}`,
	} {
		assert.Equal(t, text, string(AppendJSON(nil, []byte(text))))
		got := Text(text)
		assert.Falsef(t, got != text && !strings.Contains(text, `"`), "%s\nbecame %s", text, got)
	}
}

func FuzzRedactionKeepsJSONValid(f *testing.F) {
	for _, s := range []string{
		`{"password":"a\"b","t":"token=\\","u":"x://a:b@c"}`, `{"secret":"\u0041\n"}`, `["-----BEGIN PRIVATE KEY-----\n"]`,
		`{"t":"{\"pass\":\"x\\\\\"}"}`, `{"token":-1e5,"a":"auth: \\"}`, `{"token\\":1}`, `{"x":"token: 'a"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendJSON(nil, []byte(s))
		require.Falsef(t, json.Valid([]byte(s)) && !json.Valid(got), "%s\nbecame %s", s, got)
		again := AppendJSON(nil, got)
		require.Truef(t, len(got) <= 4*len(s)+64 && len(again) <= 4*len(got)+64, "%s\ngrew to %s", s, got)
	})
}
