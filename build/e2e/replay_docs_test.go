//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The examples in docs/replay.md work as they are: the cassette, the tests in TypeScript and Go that use
// it, and the steps of the workflow.
func TestDocumentedCassetteWorksInTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/replay.md"))
	require.NoError(t, err)
	blocks := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks[block[1]] += block[2]
	}
	dir, programs := t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, "calls.jsonl"), blocks["jsonl"])
	put(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	put(t, filepath.Join(dir, "calls.test.ts"), blocks["ts"])
	put(t, filepath.Join(dir, "calls_test.go"), "package calls\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n\n\t\"github.com/modelcontextprotocol/go-sdk/mcp\"\n)\n\n"+blocks["go"])
	for _, name := range []string{"go.mod", "go.sum"} { // the versions of this repository, which are downloaded already
		content, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		put(t, filepath.Join(dir, name), string(content))
	}
	putProgram(t, filepath.Join(programs, "npm"), "[ \"$1\" = ci ]\n") // the packages are installed already
	for to, from := range map[string]string{
		filepath.Join(dir, "node_modules"): abs("node_modules"), filepath.Join(dir, "bin/drawbridge"): binary, filepath.Join(programs, "node"): node,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.Symlink(from, to))
	}
	path := programs + ":" + os.Getenv("PATH")
	env := []string{"HOME=" + t.TempDir(), "GITHUB_PATH=" + filepath.Join(dir, "github-path"), "PATH=" + path}
	steps := regexp.MustCompile(`(?m)^ *- run: (.*)$`).FindAllStringSubmatch(blocks["yml"], -1)
	require.Len(t, steps, 2, "the workflow")
	var out string
	for _, step := range steps {
		added, _ := os.ReadFile(filepath.Join(dir, "github-path"))
		cmd := command(t, append(env, "PATH="+strings.TrimSpace(string(added))+":"+path), "bash", "-e", "-c", step[1])
		cmd.Dir = dir
		out = run(t, cmd, 0)
	}
	assert.Contains(t, out, "pass 1\n", "the test in TypeScript")
	assert.Contains(t, out, "fail 0\n", "the test in TypeScript")
	goEnv := append(env, "PATH="+filepath.Join(dir, "bin")+":"+path, "GOFLAGS=-mod=mod", "GOPROXY=off")
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		goEnv = append(goEnv, name+"="+strings.TrimSpace(string(value)))
	}
	cmd := command(t, goEnv, "go", "test", "-count=1", "-v", ".")
	cmd.Dir = dir
	assert.Contains(t, run(t, cmd, 0), "--- PASS: TestReadsAFile", "the test in Go")
}
