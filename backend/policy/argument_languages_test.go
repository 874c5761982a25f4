//go:build !windows

package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// trimmedByLanguage lists, for each function that servers use to trim a text, characters that it removes at
// either end.
var trimmedByLanguage = map[string]string{
	"JavaScript trim":       "\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
	"Python strip":          "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000",
	"Java strip":            "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u200a\u2028\u2029\u205f\u3000",
	"Java trim":             "\x01\x08\t\n\v\f\r\x0e\x1b\x1f ",
	".NET Trim":             "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000",
	".NET Framework 3 Trim": "\ufeff\u200b\u180e",
	"Go and Rust":           "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000",
	"Ruby and PHP":          "\t\n\v\r ",
}

// A character that a language trims does not hide a path, alone, at either end or among others that only
// another language trims; the name of a link may end with it.
func TestCharactersThatLanguagesTrimHideNoPath(t *testing.T) {
	replace := pathFixture(t, []string{"proj", "secret"}, map[string]string{"proj/l\u0085": "../secret"})
	for language, characters := range trimmedByLanguage {
		t.Run(language, func(t *testing.T) {
			var denied strings.Builder
			for _, c := range characters {
				for _, text := range []string{string(c) + "ROOT/secret/k", "ROOT/secret" + string(c), string(c) + "x\x1f/../../secret/k", "\ufeff" + string(c) + "\t../secret/k", "ROOT/proj/l\u0085" + string(c)} {
					raw, _ := json.Marshal(text)
					fmt.Fprintf(&denied, `{"path":%s}`+"\n", raw)
				}
			}
			argumentCases{server: `, "cwd": "ROOT/proj"`, where: `{"/path": {"under": "ROOT/secret"}}`, denied: denied.String()}.run(t, replace, "")
			argumentCases{server: `, "cwd": "ROOT/proj"`, where: `{"/path": {"notUnder": "ROOT/proj"}}`, denied: denied.String()}.run(t, replace, "")
		})
	}
}

// Some servers read a list of paths, the name of a file after @, or an option from one text.
func TestListsAndOptionsInOneTextAreRead(t *testing.T) {
	replace := pathFixture(t, []string{"proj", "secret"}, nil)
	const paths = `
		{"path":"ROOT/proj/a,ROOT/secret/k"}
		{"path":"a, ../secret/k"}
		{"path":"ROOT/proj/a:ROOT/secret/k"}
		{"path":"ROOT/proj/a;ROOT/secret/k"}
		{"path":"ROOT/proj/a|ROOT/secret/k"}
		{"path":"a\n../secret/k\nb"}
		{"path":"a\r../secret/k"}
		{"path":"\"ROOT/proj/a\" \"ROOT/secret/k\""}
		{"path":"a b ../secret/k"}
		{"path":"a,b,c,../secret"}
		{"path":"ROOT/secret,a"}
		{"path":"@ROOT/secret/k"}
		{"path":"@../secret/k"}
		{"path":"file=@ROOT/secret/k;type=a/b"}
		{"path":"--file=ROOT/secret/k"}
		{"path":"--file ROOT/secret/k"}
		{"path":"-f../secret/k"}
		{"path":"path=\"ROOT/secret/k\""}
	`
	const inProject = `, "cwd": "ROOT/proj"`
	argumentCases{server: inProject, where: `{"/path": {"under": "ROOT/secret"}}`, denied: paths}.run(t, replace, "")
	argumentCases{server: inProject, where: `{"/path": {"notUnder": "ROOT/proj"}}`, denied: paths}.run(t, replace, "")
	argumentCases{where: `{"/path": {"notUnder": "ROOT/proj"}}`, passed: `
		{"path":"ROOT/proj/Smith, John.pdf"}
		{"path":"ROOT/proj/a b/c d"}
		{"path":"ROOT/proj/2026-01-02T12:30:00.txt"}
		{"path":"ROOT/proj/@types/a=b-c.txt"}
	`}.run(t, replace, "")
	argumentCases{where: `{"not": {"/url": {"host": "ok.com"}}}`, denied: `
		{"url":"https://ok.com/a,https://evil.com/b"}
		{"url":"https://ok.com/a;//evil.com/b"}
	`, passed: `
		{"url":"https://ok.com/a,b;c|d?u=https://other.com/"}
	`}.run(t, replace, "")
}

// Whatever file a program in a language opens for an argument, a deny rule for its folder applies, and no
// allow rule for another folder does. DRAWBRIDGE_ROUNDS=N compares N thousand arguments.
func TestRulesReadArgumentsAsLanguagesDo(t *testing.T) {
	cases, seed := 300, uint64(1)
	if text := os.Getenv("DRAWBRIDGE_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.Truef(t, err == nil && n >= 1, "DRAWBRIDGE_ROUNDS=%q is not a number of rounds", text)
		cases, seed = n*1000, uint64(time.Now().UnixNano())
	}
	for name, command := range map[string][]string{"node": {"node", "testdata/readings.mjs"}, "python": {"python3", "testdata/readings.py"}} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip("SKIPPED: there is no", command[0], "to compare with")
			}
			replace := pathFixture(t, []string{"proj/ok", "secret", "proj/secret"}, map[string]string{"proj/link": "../secret", "proj/\u00e9": "../secret", "secret/back": "../proj", "proj/l\ufeff": "../secret"})
			compareReadings(t, replace.Replace("ROOT"), append(command, replace.Replace("ROOT/proj")), seed, cases)
		})
	}
}

func compareReadings(t *testing.T, root string, command []string, seed uint64, cases int) {
	parsed, problems := config.Parse("c.json", []byte(strings.ReplaceAll(`{"mcpServers": {"files": {"command": "x", "cwd": "ROOT/proj"}}, "policy": {"rules": [
		{"where": {"/path": {"under": "ROOT/secret"}}, "then": "deny"}, {"where": {"/path": {"under": "ROOT/proj"}}, "then": "allow"}]}}`, "ROOT", root)))
	require.NotNil(t, parsed, problems)
	rules, s := compileArgumentRules(parsed.Policy.Arguments), &server{paths: compilePathSettings(&parsed.Servers[0])}

	program := exec.Command(command[0], command[1:]...)
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	require.NoError(t, err)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	texts := make(chan string, cases)
	go func() {
		defer in.Close()
		random := rand.New(rand.NewPCG(seed, 0))
		for range cases {
			text := randomPath(random, root)
			raw, _ := json.Marshal(text)
			if _, err := fmt.Fprintf(in, "%s\n", raw); err != nil {
				return
			}
			texts <- text
		}
	}()
	var secret, outside, denied, allowed, faults int
	answers := bufio.NewReader(out)
	for range cases {
		line, err := answers.ReadBytes('\n')
		require.NoError(t, err)
		var files []string
		require.NoError(t, json.Unmarshal(line, &files))
		text := <-texts
		arguments, _ := json.Marshal(map[string]string{"path": text})
		made := &core.Call{Server: "files", Method: "tools/call", Name: "put", Params: arguments, Arguments: core.Span{End: len(arguments)}}
		then := decideByArguments(rules[:1], s, made).then()
		allows := decideByArguments(rules[1:], s, made).then() == config.RuleAllow
		if then == config.RuleDeny {
			denied++
		}
		if allows {
			allowed++
		}
		reachesSecret, leavesProject := "", ""
		for _, f := range files {
			if config.Within(root+"/secret", f) {
				reachesSecret = f
			}
			if !config.Within(root+"/proj", f) {
				leavesProject = f
			}
		}
		if reachesSecret != "" {
			secret++
			if then != config.RuleDeny {
				faults++
				t.Errorf("seed %d: %q gets past deny, and leads to %s", seed, text, reachesSecret)
			}
		}
		if leavesProject != "" {
			outside++
			if allows {
				faults++
				t.Errorf("seed %d: %q satisfies allow, and leads to %s", seed, text, leavesProject)
			}
		}
		require.True(t, faults <= 20, "and more")
	}
	t.Logf("%d arguments (seed %d): %d lead to the denied folder, %d rules deny; %d lead out of the allowed folder, %d rules allow", cases, seed, secret, denied, outside, allowed)
	assert.True(t, secret >= cases/20 && outside >= cases/20 && allowed >= cases/50 && denied <= cases*19/20, "the arguments are not varied enough")
	_, _ = io.Copy(io.Discard, out)
	assert.NoError(t, program.Wait())
}

var (
	blanks     = []string{" ", "\t", "\n", "\r\n", "\v", "\f", "\x1c", "\x1f", "\x01", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\ufeff", "\u180e", "\u200b"}
	openings   = []string{`"`, `'`, "@", "--file=", "-f", "path=", "file://", "file:", "FILE:///", "<", "./", "~/"}
	somePaths  = []string{"ROOT/secret/k", "../secret/k", "ok/a", "ROOT/proj/ok/a", "ROOT/proj/link/k", "link/../k", "ok/../../secret", "..\\secret\\k", "e\u0301/k", "\u00e9", "secret/k", "ROOT/home/k", "ROOT/proj/a, b", "k", ".env", "l\ufeff", "\uff4cink/k", "../proj/ok"}
	separators = []string{",", ";", ":", "|", "\n", " ", ", ", "; ", "\t", "\r\n"}
	endings    = []string{`"`, `'`, "#x", "?x", "/", "/.", "/..", ">", "\\", "%", "+"}
)

// randomPath returns a text that programs may read as a path in proj, in secret, or elsewhere.
func randomPath(r *rand.Rand, root string) string {
	var b strings.Builder
	some := func(of []string, chance float64) {
		for r.Float64() < chance {
			b.WriteString(of[r.IntN(len(of))])
			chance /= 2
		}
	}
	for range 1 + r.IntN(8)/5*(1+r.IntN(2)) {
		if b.Len() > 0 {
			some(separators, 1)
		}
		some(blanks, 0.4)
		some(openings, 0.3)
		some(blanks, 0.1)
		b.WriteString(strings.ReplaceAll(somePaths[r.IntN(len(somePaths))], "ROOT", root))
		some(endings, 0.2)
		some(blanks, 0.4)
	}
	text := b.String()
	switch r.IntN(10) {
	case 0:
		text = url.PathEscape(text)
	case 1:
		text = norm.NFD.String(text)
	case 2:
		at := r.IntN(len(text))
		text = text[:at] + fmt.Sprintf("%%%02x", text[at]) + text[at+1:]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
