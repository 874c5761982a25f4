package clientconf

import (
	"fmt"
	"strings"
	"testing"
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
			if line := fmt.Sprintf(place, secret); strings.Contains(maskLine(line), secret) {
				t.Errorf("%s\nis shown as %s", line, maskLine(line))
			}
		}
	}
}

func TestDiffMasksValuesOfSecretNames(t *testing.T) {
	for _, name := range secretNames {
		for _, place := range []string{
			"  \"env\": {\"%s\": \"hunter22\"},", "\"%s\" : \"hunter22\"", "%s = \"hunter22\"", "env = { %s = 'hunter22', X = \"1\" }", "    %s: hunter22", "    %s: \"hunter22\"",
			"\"-e\", \"%s=hunter22\"", "  - %s=hunter22", "\"--header\", \"%s: hunter22\"", "\"url\": \"https://example.com/?%s=hunter22\"", "\"--%s\", \"hunter22\"", "\"--%s=hunter22\"",
		} {
			if line := fmt.Sprintf(place, name); strings.Contains(maskLine(line), "hunter22") {
				t.Errorf("%s\nis shown as %s", line, maskLine(line))
			}
		}
		if text := fmt.Sprintf("[\n  \"--%s\",\n  \"hunter22\"\n]", name); strings.Contains(MaskSecrets([]byte(text)), "hunter22") {
			t.Errorf("%s\nis shown as %s", text, MaskSecrets([]byte(text)))
		}
	}
}

// The password of a URL is masked, and the rest stays readable.
func TestDiffMasksPasswordsInURLs(t *testing.T) {
	for _, place := range []string{"\"args\": [\"run\", \"%s\"]", "  - %s", "url: %s", "url = '%s'", "\"DATABASE\": \"%s\""} {
		line := fmt.Sprintf(place, "postgresql://alice:s3cretPGpass@host.docker.internal:5432/app")
		if got := maskLine(line); strings.Contains(got, "s3cret") || !strings.Contains(got, "postgresql://") {
			t.Errorf("%s\nis shown as %s", line, got)
		}
	}
}

func TestDiffShowsNonSecrets(t *testing.T) {
	for _, line := range []string{
		"  \"command\": \"npx\",", "  \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/home/me/notes\"],", "  - /home/me/notes", "url: https://example.com/mcp?v=1",
		"\"env\": {\"LOG_LEVEL\": \"debug\", \"PORT\": \"8080\"}", "args = ['--port', '8080']", "timeout: 300", "\"type\": \"stdio\"", "[mcp_servers.files]", "  # a comment",
	} {
		if got := maskLine(line); got != line {
			t.Errorf("%s\nis shown as %s", line, got)
		}
	}
}
