package redact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// secretShapes are values that an import stores, or that the history redacts, because of
// their form.
var secretShapes = []string{
	"dbr_abcdefghijklmnopqrstuv", "ghp_abcdefghijklmnopqrstuv", "github_pat_abcdefghijklmnopqrstuv", "glpat-abcdefghijklmnopqrstuv", "glptt-abcdefghijklmnopqrstuv",
	"sk-abcdefghijklmnopqrstuv", "sk_live_abcdefghijklmnop", "rk_live_abcdefghijklmnop", "whsec_abcdefghijklmnopqr", "xoxb-abcdefghijklmnop", "xoxe-abcdefghijklmnop",
	"xapp-abcdefghijklmnop", "AKIAABCDEFGHIJKLMNOP", "ASIAABCDEFGHIJKLMNOP", "AIzaabcdefghijklmnopqrstuvwxyzabcdefgh", "ya29.abcdefghijklmnopqrstuv", "GOCSPX-abcdefghijklmnop",
	"eyJabcdefghijklmnopqrstuv.abcdefghijklmnop.qrstuv", "npm_abcdefghijklmnopqrstuv", "pypi-abcdefghijklmnopqrstuvabcdefghijk", "hf_abcdefghijklmnopqrstuv",
	"SG.abcdefghijklmnopqrstuv.abcdefghijklmnop", "shpat_abcdefghijklmnopqrstuv", "shpss_abcdefghijklmnopqrstuv", "dop_v1_abcdefghijklmnopqrstuv", "ntn_abcdefghijklmnopqrstuv",
	"lin_api_abcdefghijklmnopqrstuv", "figd_abcdefghijklmnopqrstuv", "AGE-SECRET-KEY-abcdefghijklmnopqrstuv",
}

// secretNames are names whose values are secret regardless of their form.
var secretNames = []string{
	"API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "DB_PASS", "GITLAB_PAT", "DB_PWD", "CLIENT_SECRET", "Cookie", "PASSPHRASE", "AWS_ACCESS_KEY", "CONNECTION_STRING", "Authorization", "private-key",
}

func TestDiffMasksEverySecretShapeEverywhere(t *testing.T) {
	for _, secret := range secretShapes {
		for _, place := range []string{
			"  \"args\": [\"run\", \"%s\"],", "\"%s\",", "args = ['x', '%s']", "  - %s", "  plain: %s", "plain = \"%s\"", "\"url\": \"https://example.com/mcp?v=1&x=%s\"",
			"\"X\": \"Bearer %s\"", "\"-e\", \"X=%s\"", "  - X=%s", "\"json\": \"{\\\"a\\\": \\\"%s\\\"}\"", "# %s",
		} {
			assert.NotContains(t, maskLine(fmt.Sprintf(place, secret)), secret)
		}
	}
}

func TestDiffMasksValuesOfSecretNames(t *testing.T) {
	for _, name := range secretNames {
		for _, place := range []string{
			"  \"env\": {\"%s\": \"hunter22\"},", "\"%s\" : \"hunter22\"", "%s = \"hunter22\"", "env = { %s = 'hunter22', X = \"1\" }", "    %s: hunter22", "    %s: \"hunter22\"",
			"\"-e\", \"%s=hunter22\"", "  - %s=hunter22", "\"--header\", \"%s: hunter22\"", "\"url\": \"https://example.com/?%s=hunter22\"", "\"--%s\", \"hunter22\"", "\"--%s=hunter22\"",
		} {
			assert.NotContains(t, maskLine(fmt.Sprintf(place, name)), "hunter22")
		}
		assert.NotContains(t, maskAll(fmt.Sprintf("[\n  \"--%s\",\n  \"hunter22\"\n]", name)), "hunter22")
	}
}

// The password of a URL is masked, and the rest stays readable.
func TestDiffMasksPasswordsInURLs(t *testing.T) {
	for _, place := range []string{"\"args\": [\"run\", \"%s\"]", "  - %s", "url: %s", "url = '%s'", "\"DATABASE\": \"%s\""} {
		line := fmt.Sprintf(place, "postgresql://alice:s3cretPGpass@host.docker.internal:5432/app")
		got := maskLine(line)
		assert.Truef(t, !strings.Contains(got, "s3cret") && strings.Contains(got, "postgresql://"), "%s\nis shown as %s", line, got)
	}
}

func TestDiffShowsNonSecrets(t *testing.T) {
	for _, line := range []string{
		"  \"command\": \"npx\",", "  \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/home/me/notes\"],", "  - /home/me/notes", "url: https://example.com/mcp?v=1",
		"\"env\": {\"LOG_LEVEL\": \"debug\", \"PORT\": \"8080\"}", "args = ['--port', '8080']", "timeout: 300", "\"type\": \"stdio\"", "[mcp_servers.files]", "  # a comment",
	} {
		assert.Equal(t, line, maskLine(line))
	}
}

func TestLinesMaskSecretsAndKeepReferences(t *testing.T) {
	for line, want := range map[string]string{
		`"API_KEY": "${secret:gh.API_KEY}",`:         `"API_KEY": "${secret:gh.API_KEY}",`,
		`"Authorization": "Bearer ${TOKEN}"`:         `"Authorization": "Bearer ${TOKEN}"`,
		`"Authorization": "Bearer hunter2${TOKEN}"`:  `"Authorization": "***"`,
		`"PASSWORD": "${A}hunter2", "TOKEN": "${B}"`: `"PASSWORD": "***", "TOKEN": "${B}"`,
		`"API_KEY": "${secret:x:-hunter2}"`:          `"API_KEY": "***"`,
		`api_key = "hunter2"`:                        `api_key = "***"`,
		`api_key: hunter2 # ${not}`:                  `api_key: ***`,
		`- SUPER_TOKEN=hunter2`:                      `- SUPER_TOKEN=***`,
		`      "SUPER_TOKEN=hunter2",`:               `      "SUPER_TOKEN=***",`,
		`"args": ["-e", "SUPER_TOKEN=hunter2", "x"]`: `"args": ["-e", "SUPER_TOKEN=***", "x"]`,
		`args = ['SUPER_TOKEN=hunter2', 'x']`:        `args = ['SUPER_TOKEN=***', 'x']`,
		`"SUPER_TOKEN=hun\\\"ter2"`:                  `"SUPER_TOKEN=***"`,
		`"SUPER_TOKEN=${secret:gh.TOKEN}"`:           `"SUPER_TOKEN=${secret:gh.TOKEN}"`,
		`"--header", "X-Api-Key: hunter2",`:          `"--header", "X-Api-Key: ***",`,
		`"args": ["--api-key", "hunter2", "x"]`:      `"args": ["--api-key", "***", "x"]`,
		`"url": "https://h.example/?token=hunter2"`:  `"url": "https://h.example/?token=***"`,
		`"args": ["--token", "${TOKEN}"]`:            `"args": ["--token", "${TOKEN}"]`,
		`"note": "a token: how to get one"`:          `"note": "a token: how to get one"`,
	} {
		assert.Equal(t, want, maskLine(line), line)
	}
}

func TestSecretOnLineAfterFlagIsMasked(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[\n  \"--api-key\",\n  \"hunter2\",\n  \"x\"\n]", "[\n  \"--api-key\",\n  \"***\",\n  \"x\"\n]"},
		{"args = [\n  '--api-key',\n  'hunter2'\n]", "args = [\n  '--api-key',\n  '***'\n]"},
		{"args:\n  - --api-key\n  - hunter2\n  - x", "args:\n  - --api-key\n  - ***\n  - x"},
		{"- --token\n- hun:ter2", "- --token\n- ***"},
		{"[\"--token\",\r\n  \"hun\\\"ter2\"]", "[\"--token\",\n  \"***\"]"},
		{"  \"--token\",\n  \"${secret:gh.token}\",", "  \"--token\",\n  \"${secret:gh.token}\","},
		{"  \"--no-token\",\n  \"--verbose\",", "  \"--no-token\",\n  \"--verbose\","},
		{"  \"--token\"\n]", "  \"--token\"\n]"},
		{"  \"a\": \"--token\",\n  \"command\": \"npx\"", "  \"a\": \"--token\",\n  \"command\": \"npx\""},
	} {
		assert.Equal(t, c.want, maskAll(c.text), c.text)
	}
}

func TestPrivateKeyIsMaskedOverItsLines(t *testing.T) {
	lines := strings.Split("key: |\n  -----BEGIN RSA PRIVATE KEY-----\n  MIIEcanary\n  more\n  -----END RSA PRIVATE KEY-----\nurl: x", "\n")
	for from := range lines {
		got := strings.Join(Lines(lines, from, len(lines)), "\n")
		assert.Truef(t, !strings.Contains(got, "canary") && !strings.Contains(got, "more") && strings.HasSuffix(got, "url: x"), "from line %d: %s", from, got)
	}
}

func maskAll(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(Lines(lines, 0, len(lines)), "\n")
}
