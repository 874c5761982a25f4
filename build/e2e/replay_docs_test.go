//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples in docs/replay.md work as they are: the cassette, the tests in TypeScript and Go that use
// it, and the steps of the workflow.
func TestDocumentedCassetteWorksInTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/replay.md"))
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name), string(content))
	}
	putProgram(t, filepath.Join(programs, "npm"), "[ \"$1\" = ci ]\n") // the packages are installed already
	for to, from := range map[string]string{
		filepath.Join(dir, "node_modules"): abs("node_modules"), filepath.Join(dir, "bin/drawbridge"): binary, filepath.Join(programs, "node"): node,
	} {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	path := programs + ":" + os.Getenv("PATH")
	env := []string{"HOME=" + t.TempDir(), "GITHUB_PATH=" + filepath.Join(dir, "github-path"), "PATH=" + path}
	steps := regexp.MustCompile(`(?m)^ *- run: (.*)$`).FindAllStringSubmatch(blocks["yml"], -1)
	if len(steps) != 2 {
		t.Fatalf("the workflow has %d steps", len(steps))
	}
	var out string
	for _, step := range steps {
		added, _ := os.ReadFile(filepath.Join(dir, "github-path"))
		cmd := command(t, append(env, "PATH="+strings.TrimSpace(string(added))+":"+path), "bash", "-e", "-c", step[1])
		cmd.Dir = dir
		out = run(t, cmd, 0)
	}
	if !strings.Contains(out, "pass 1\n") || !strings.Contains(out, "fail 0\n") {
		t.Errorf("the test in TypeScript: %s", out)
	}
	goEnv := append(env, "PATH="+filepath.Join(dir, "bin")+":"+path, "GOFLAGS=-mod=mod", "GOPROXY=off")
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		goEnv = append(goEnv, name+"="+strings.TrimSpace(string(value)))
	}
	cmd := command(t, goEnv, "go", "test", "-count=1", "-v", ".")
	cmd.Dir = dir
	if out := run(t, cmd, 0); !strings.Contains(out, "--- PASS: TestReadsAFile") {
		t.Errorf("the test in Go: %s", out)
	}
}
