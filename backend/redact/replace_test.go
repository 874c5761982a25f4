package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// replaceSecrets replaces the secrets of a server's entry by references.
func replaceSecrets(entry string) (out string, replaced int) {
	r := Replacer{Replace: func(name, _ string) string { return "${secret:" + name + "}" }}
	out = r.json(entry)
	return out, r.replaced
}

// TestSecretsOfEntriesAreReplacedInEveryEncoding covers the ways in which servers receive secrets
// in client files.
func TestSecretsOfEntriesAreReplacedInEveryEncoding(t *testing.T) {
	for name, entry := range map[string]string{
		"a header among arguments":             `{"command":"npx","args":["mcp-remote","https://x.example/mcp","--header","Authorization: Bearer cnry-tok-1"]}`,
		"the same in one word":                 `{"command":"npx","args":["--header=X-Api-Key:cnry-tok-1"]}`,
		"a variable of docker":                 `{"command":"docker","args":["run","-e","API_KEY=cnry-tok-1","-e","LEVEL=debug","img"]}`,
		"the same in one word of docker":       `{"command":"docker","args":["run","--env=API_KEY=cnry-tok-1","-eDB_PASSWORD=cnry-tok-2","img"]}`,
		"an address among arguments":           `{"command":"npx","args":["mcp-remote","https://x.example/mcp?profile=a&apiKey=cnry-tok-1#f"]}`,
		"a password of an address":             `{"command":"npx","args":["postgresql://me:cnry-pw-1@db.example/x"]}`,
		"JSON in a variable":                   `{"command":"npx","env":{"OPENAPI_MCP_HEADERS":"{\"Authorization\": \"Bearer cnry-tok-1\", \"Notion-Version\": \"2022-06-28\"}"}}`,
		"JSON in a variable, escaped":          `{"command":"npx","env":{"HEADERS":"{\"Authorization\": \"Bearer cnry\\u002dtok-1\"}"}}`,
		"JSON among arguments":                 `{"command":"npx","args":["--config","{\"apiKey\":\"cnry-tok-1\",\"n\":9007199254740993}"]}`,
		"beside a number in env":               `{"command":"npx","env":{"PORT":8080,"API_KEY":"cnry-tok-1"}}`,
		"beside a number in args":              `{"command":"npx","args":["--port",8080,"--token","cnry-tok-1",["--token=cnry-tok-2"],{"password":"cnry-pw-1"}]}`,
		"beside a number in headers":           `{"url":"https://x.example","headers":{"X-N":1,"Authorization":"Bearer cnry-tok-1"}}`,
		"the same secret under two keys":       `{"url":"https://x.example","oauth":{"clientSecret":"cnry-tok-1"},"more":{"clientSecret":"cnry-tok-1"}}`,
		"a number at the end":                  `{"command":"npx","env":{"TOKEN_2":"cnry-tok-1","SMTP_PASS":"cnry-pw-1","API_KEYS":"cnry-a,cnry-b"}}`,
		"a connection string":                  `{"command":"npx","env":{"DB_CONNECTION_STRING":"Server=x;Password=cnry-pw-1"}}`,
		"a connection string by its form":      `{"command":"npx","env":{"CONN":"Server=db;User Id=sa;Password=cnry-pw-1;Encrypt=true"}}`,
		"a token of Sentry":                    `{"command":"npx","env":{"X":"sntryu_0123456789abcdef0123456789abcdefcnry"}}`,
		"an address in a variable":             `{"command":"npx","env":{"BASE":"https://x.example/?token=cnry-tok-1"}}`,
		"an entry that is not a server at all": `{"comand":"npx","things":[{"deep":[{"secret":"cnry-tok-1"}]}]}`,
	} {
		out, replaced := replaceSecrets(entry)
		assert.NotContains(t, out, "cnry", name)
		assert.NotEqual(t, 0, replaced, name)
		for _, kept := range []string{"8080", "LEVEL=debug", "Notion-Version", "profile=a", "#f", "mcp-remote", "X-Api-Key:", "Bearer ", "9007199254740993"} {
			assert.Falsef(t, strings.Contains(entry, kept) && !strings.Contains(out, kept), "%s: %s is lost in %s", name, kept, out)
		}
	}
	// Values that are not secrets are unchanged.
	for _, entry := range []string{
		`{"command":"npx","args":["-y","pkg@1.2.3","--tokens","4096","C:\\a b","https://x.example/a?b=c"],"env":{"MAX_TOKENS":"100000","A":"x=y","J":"{\"a\":1}","T":"{not json"}}`,
		`{"url":"https://x.example/?q=1","headers":{"Accept":"a/b; q=1"},"tools":{"get_token":{"description":"Gets it: now"}}}`,
	} {
		out, replaced := replaceSecrets(entry)
		assert.Truef(t, out == entry && replaced <= 0, "%s is %s", entry, out)
	}
}

// Text that looks like JSON but is not valid is not passed on unread.
func TestSecretsInInvalidJSONAreReplacedByTheirForm(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, entry := range []string{`{"a":"` + token + `"}}`, `{"a":"` + token + `"} x`, `{"a":"` + token} {
		out, replaced := replaceSecrets(entry)
		assert.Truef(t, !strings.Contains(out, token) && replaced == 1, "%s is %s with %d replaced", entry, out, replaced)
	}
}
