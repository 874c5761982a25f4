package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// document is a document for users: the README or a file in docs.
type document struct{ path, text string }

func documents(t *testing.T) (list []document) {
	t.Helper()
	paths := []string{filepath.Join(root, "README.md"), filepath.Join(root, "build/bench/README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	require.NoError(t, err)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		list = append(list, document{p, string(b)})
	}
	return list
}

func TestGeneratedDocumentsAreCurrent(t *testing.T) {
	for path, write := range documentGenerators {
		want, err := write()
		require.NoError(t, err)
		got, _ := os.ReadFile(filepath.Join(root, path))
		assert.Equalf(t, want, got, "%s is not what the program says: run make docs", path)
	}
}

// The list is compared with go.mod and the lock file of the page: every direct dependency must be
// listed with its current version.
func TestLicenseListIsCurrent(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, licencesFile))
	require.NoError(t, err)
	listed := map[string]string{}
	for _, section := range strings.Split(string(src), "\n### ")[1:] {
		licence, _, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile("(?m)^`(.+)@(.+)`$").FindAllStringSubmatch(section, -1) {
			listed[m[1]] = m[2]
			assert.NotEmpty(t, strings.TrimSpace(licence))
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	testsOnly := map[string]bool{
		"github.com/google/go-cmp": true, "github.com/rogpeppe/go-internal": true, "go.uber.org/goleak": true, "github.com/google/licensecheck": true, "github.com/stretchr/testify": true, "github.com/tiktoken-go/tokenizer": true,
	}
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+|\S+\.\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(string(mod), -1) {
		required[m[1]] = true
		version, known := listed[m[1]]
		switch {
		case known && version != m[2]:
			t.Errorf("%s is listed as %s and is %s: run make docs", m[1], version, m[2])
		case !known && m[3] == "" && !testsOnly[m[1]]:
			t.Errorf("%s is used and not listed: run make docs", m[1])
		}
	}
	require.Truef(t, len(required) >= 30, "go.mod was not understood: %d modules", len(required))
	packages, err := npmPackages(root)
	require.NoError(t, err)
	npm := map[string]bool{}
	for _, p := range packages {
		npm[p.name] = true
		assert.NotEmpty(t, listed[p.name], "the page's")
	}
	for name := range listed {
		assert.Falsef(t, !npm[name] && !required[name], "%s is listed and no longer used: run make docs", name)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestDocumentLinksResolve(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(outsideFences(d.text), -1) {
			target, place, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := d.path
			if target != "" {
				path = filepath.Join(filepath.Dir(d.path), target)
			}
			b, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr != nil || (err != nil && !info.IsDir()) {
				t.Errorf("%s leads to %s, which is not there", d.path, m[1])
				continue
			}
			if place != "" && !headings(string(b))[place] {
				t.Errorf("%s leads to %s, which has no such heading", d.path, m[1])
			}
		}
	}
}

func TestEveryDocumentIsLinkedFromReadme(t *testing.T) {
	texts := map[string]string{}
	for _, d := range documents(t) {
		texts[d.path] = d.text
	}
	reached := map[string]bool{}
	var walk func(string)
	walk = func(path string) {
		if reached[path] {
			return
		}
		reached[path] = true
		for _, m := range link.FindAllStringSubmatch(texts[path], -1) {
			target, _, _ := strings.Cut(m[1], "#")
			walk(filepath.Join(filepath.Dir(path), target))
		}
	}
	walk(filepath.Join(root, "README.md"))
	for path := range texts {
		assert.Truef(t, reached[path], "no link leads from the README to %s", path)
	}
}

func outsideFences(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		} else if !inside {
			b.WriteString(line)
		}
	}
	return b.String()
}

// headings returns the anchors of a document, as GitHub generates them.
func headings(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(outsideFences(text)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(title)) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		found[b.String()] = true
	}
	return found
}

// block is a fenced block of a document, or one indented by four spaces (kind "").
type block struct{ path, kind, text string }

func blocks(t *testing.T) (list []block) {
	for _, d := range documents(t) {
		var now *block
		for line := range strings.Lines(d.text) {
			fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case isFence && now == nil:
				now = &block{path: d.path, kind: fence}
			case isFence:
				list, now = append(list, *now), nil
			case now != nil:
				now.text += line
			case strings.HasPrefix(line, "    "):
				list = append(list, block{d.path, "", line})
			}
		}
		assert.Nilf(t, now, "%s: a fence is not closed", d.path)
	}
	return list
}

var (
	inline  = regexp.MustCompile("`(drawbridge [^`]+)`")
	comment = regexp.MustCompile(`\s+#.*$|\s{2,}\S.*$`) // a shell comment, or a column with an explanation
	quoted  = regexp.MustCompile(`'[^']*'|"(\\.|[^"\\])*"|\S+`)
	ends    = regexp.MustCompile(`\s*(\||&&|>|<|;)\s.*$`)
)

// The test parses each command line in a document: the command exists and accepts these arguments
// and flags.
func TestCommandsInDocumentsExist(t *testing.T) {
	count := 0
	check := func(path, line string, whole bool) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		for strings.Contains(strings.SplitN(line, " ", 2)[0], "=") && strings.Contains(line, " ") { // skip VAR=value before the command
			line = strings.SplitN(line, " ", 2)[1]
		}
		program, rest, _ := strings.Cut(line, " ")
		if filepath.Base(program) != "drawbridge" || strings.HasPrefix(rest, "=") {
			return
		}
		if whole {
			rest = comment.ReplaceAllString(rest, "")
		}
		rest = ends.ReplaceAllString(rest, "")
		optional := strings.ContainsAny(rest, "[…")
		rest = strings.NewReplacer("[", "", "]", "", "...", "", "…", "").Replace(rest)
		args := quoted.FindAllString(rest, -1)
		for i, a := range args {
			args[i] = strings.Trim(a, `'"`)
		}
		count++
		c, left, err := cli.New(cli.Options{Env: terminal.Env{Version: "docs"}, Features: features.Commands()}).Find(args)
		if err != nil {
			t.Errorf("%s: %q: %v", path, line, err)
			return
		}
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		if err := c.ParseFlags(placed(left)); err != nil {
			t.Errorf("%s: %q: %v", path, line, err)
			return
		}
		if whole && !optional && c.Name() != "help" {
			assert.NoErrorf(t, c.ValidateArgs(c.Flags().Args()), "%s: %q", path, line)
		} else if c.HasSubCommands() && len(c.Flags().Args()) > 0 && c.Args == nil {
			t.Errorf("%s: %q: there is no such command", path, line)
		}
	}
	for _, b := range blocks(t) {
		if b.kind == "" || b.kind == "sh" || b.kind == "text" {
			for line := range strings.Lines(b.text) {
				check(b.path, line, true)
			}
		}
	}
	for _, d := range documents(t) {
		for _, m := range inline.FindAllStringSubmatch(outsideFences(d.text), -1) {
			check(d.path, m[1], false)
		}
	}
	assert.Truef(t, count >= 80, "only %d commands were found: the documents are not understood", count)
}

// placed replaces placeholders for numbers and durations by numbers.
func placed(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if i > 0 && (a == "N" || a == "COUNT") && strings.HasPrefix(args[i-1], "-") {
			out[i] = "1"
		}
	}
	return out
}

// Every make target that a document mentions is in the Makefile.
func TestMakeTargetsInDocumentsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9 -]*):[^=]`).FindAllStringSubmatch(string(makefile)+"\n", -1) {
		for _, name := range strings.Fields(m[1]) {
			targets[name] = true
		}
	}
	asked := regexp.MustCompile("(?m)(?:`|^\\s*)make ([a-z][a-z0-9-]*)")
	for _, d := range documents(t) {
		for _, m := range asked.FindAllStringSubmatch(d.text, -1) {
			assert.Truef(t, targets[m[1]], "%s: make has no target %s", d.path, m[1])
		}
	}
}

// Every test that a document names exists.
func TestTestsNamedInDocumentsExist(t *testing.T) {
	known := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	for _, dir := range []string{"app", "backend", "build", "config", "frontend"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if d != nil && (d.Name() == "node_modules" || d.Name() == "testdata") {
					return fs.SkipDir
				}
				return err
			}
			if strings.HasSuffix(path, "_test.go") {
				src, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for _, m := range declared.FindAllSubmatch(src, -1) {
					known[string(m[1])] = true
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w+)`")
	file := regexp.MustCompile("`((?:app|backend|build|config|frontend)(?:/[\\w.-]+)+)`")
	for _, d := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(d.text, -1) {
			assert.Truef(t, known[m[1]], "%s names the test %s, which is not there", d.path, m[1])
		}
		for _, m := range file.FindAllStringSubmatch(d.text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && !strings.HasPrefix(m[1], "build/bin") && !strings.HasPrefix(m[1], "build/e2e/output") {
				t.Errorf("%s names %s, which is not there", d.path, m[1])
			}
		}
	}
}
