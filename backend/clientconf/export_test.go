package clientconf

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const exportedConfig = `{"mcpServers": {
  "Files": {"command": "npx", "args": ["-y", "files"], "env": {"TOKEN": "${secret:files.token}", "A": "b"}, "inheritEnv": ["LANG"], "cwd": "/srv"},
  "wiki": {"type": "http", "url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${secret:wiki}"}, "disabled": true},
  "old": {"type": "sse", "url": "https://old.example/sse"},
  "box": {"type": "docker", "docker": {"image": "x"}}
}}`

// What is exported is the same after it is pasted, and in the file of a client.
func TestExportedServersAreTheSameAfterImport(t *testing.T) {
	c, _ := config.Parse("c.jsonc", []byte(exportedConfig))
	text, notes, err := Export(t.Context(), c, ExportOptions{})
	require.NoError(t, err)
	require.Equal(t, "Other programs do not have these settings of Files: inheritEnv\nLeft out, because it is neither a local program nor a URL: box", strings.Join(notes, "\n"))
	pasted, err := ReadPasted(string(text))
	require.NoError(t, err)
	m, err := decodeObject(text)
	require.NoError(t, err)
	path := []string{"mcpServers"}
	vscode, err := ByID("vscode")
	require.NoError(t, err)
	other, err := sourceByID("1mcp")
	require.NoError(t, err)
	inFile := readContainer(&Plan{Client: vscode}, nil, m, path, "")
	inChosen := readContainer(&Plan{Client: other, choice: Choice{File: "servers.json"}}, nil, m, path, "")
	for _, all := range [][]ImportedServer{pasted, inFile, inChosen} {
		members := []string{}
		for _, s := range all {
			members = append(members, `"`+s.Label+`":`+string(s.Entry))
		}
		again, _ := config.Parse("c.jsonc", []byte(`{"mcpServers":{`+strings.Join(members, ",")+`}}`))
		require.Lenf(t, again.Servers, 3, "%s\n%v", text, members)
		for _, now := range again.Servers {
			was, _ := c.Server(now.ID)
			assert.Truef(t, was.Equal(now), "%+v\n%+v", was, now)
		}
	}
	// Neither a project nor a gateway can ask for a secret.
	for _, s := range slices.Concat(readContainer(&Plan{Client: vscode}, nil, m, path, t.TempDir()), readContainer(&Plan{Client: other}, nil, m, path, "")) {
		assert.NotContains(t, strings.ReplaceAll(string(s.Entry), "$${secret", ""), "${secret")
	}

	values := func(_ context.Context, name string) (string, error) { return "value of \"" + name + `"`, nil }
	text, _, err = Export(t.Context(), c, ExportOptions{IDs: []string{"files"}, SecretValue: values})
	if err != nil || strings.Contains(string(text), "${secret") || !strings.Contains(string(text), `"value of \"files.token\""`) || strings.Contains(string(text), "wiki") {
		t.Errorf("%s %v", text, err)
	}
	c.Policy.Arguments = []config.ArgumentRule{{}}
	_, notes, err = Export(t.Context(), c, ExportOptions{WithoutLimits: true})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(notes, "\n"), "policy.rules")
	_, _, err = Export(t.Context(), c, ExportOptions{IDs: []string{"nobody"}})
	assert.Error(t, err, "a missing server is exported")
}

// An export names what is lost, leaves out servers that would be unlimited elsewhere, and has no secret.
func TestExportNamesWhatOtherProgramsDoNotHave(t *testing.T) {
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	lines := func(_ context.Context, name string) (string, error) { return "a\nb ${X}", nil }
	for _, test := range []struct {
		entry string
		o     ExportOptions
		want  []string // in the text
		notes string
	}{
		{`"requestTimeoutMs": 5000, "oauth": {"clientId": "x"}`, ExportOptions{}, []string{"https://a"}, "Other programs do not have these settings of a: oauth, requestTimeoutMs"},
		{`"includeTools": ["x"]`, ExportOptions{}, nil, "would be lost: includeTools."},
		{`"tools": {"x": {"approval": "ask"}}, "approval": "ask"`, ExportOptions{}, nil, "would be lost: tools, approval."},
		{`"approval": "deny"`, ExportOptions{WithoutLimits: true}, []string{"https://a"}, "do not have these settings of a: approval"},
		{`"headers": {"Authorization": "Bearer ` + token + `"}`, ExportOptions{}, []string{`"Bearer ${secret:a.Authorization}"`}, "printed as ${secret:a.Authorization}"},
		{`"headers": {"Authorization": "Bearer ` + token + `"}`, ExportOptions{SecretValue: lines}, []string{token}, ""},
		{`"headers": {"X": "$${LIT}"}`, ExportOptions{}, []string{`"X": "${LIT}"`}, "contains ${ as text"},
		{`"headers": {"X": "${secret:x}"}`, ExportOptions{SecretValue: lines}, []string{`"X": "${secret:x}"`}, "a line break"},
	} {
		c, _ := config.Parse("c.jsonc", []byte(`{"mcpServers": {"a": {"url": "https://a.example/<b>", `+test.entry+`}}}`))
		text, notes, err := Export(t.Context(), c, test.o)
		require.NoError(t, err, test.entry)
		all := strings.Join(notes, "\n")
		assert.Truef(t, strings.Contains(all, test.notes) && (test.notes == "") == (all == ""), "%s: %s", test.entry, all)
		assert.Equal(t, len(test.want) > 0, strings.Contains(string(text), "https://a.example/<b>"), "%s: %s", test.entry, text)
		for _, want := range test.want {
			assert.Contains(t, string(text), want, test.entry)
		}
		assert.Equal(t, test.o.SecretValue != nil && strings.Contains(test.entry, token), strings.Contains(string(text)+all, token), test.entry)
	}
}
