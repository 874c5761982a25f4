package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// argumentCases is one deny rule and arguments, one JSON text a line: those that it must refuse, and
// those that it must let pass.
type argumentCases struct {
	where, denied, passed string
	server                string // further members of the server, starting with a comma
}

func (c argumentCases) run(t *testing.T, replace *strings.Replacer, workspace string) (n int) {
	t.Helper()
	s := withRules(t, replace.Replace(c.server), `"policy": {"rules": [{"tool": "files__put", "where": `+replace.Replace(c.where)+`, "then": "deny", "because": "it must not"}]}, `, Options{})
	for i, list := range []string{c.denied, c.passed} {
		for line := range strings.Lines(list) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			n++
			made := call("put", replace.Replace(line))
			made.Workspace = workspace
			_, err := s.make(made, "{}", nil)
			if denied := core.CodeOf(err) == core.CodeRejected; denied != (i == 0) || err != nil && !denied {
				t.Errorf("%s with %.200s (server%s): denied is %v (%v)", c.where, line, c.server, denied, err)
			}
		}
	}
	return n
}

// Arguments that cannot be read, or that servers read differently, are denied.
func TestNoArgumentSlipsPastDeny(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its paths are those of Unix")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"ws/src", "out", "wsx"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for link, target := range map[string]string{
		"ws/out": "../out", "ws/abs": root + "/out", "ws/self": ".", "ws/loop": "loop", "ws/dangling": root + "/gone", "ws/chain": "out", "alias": "ws",
		"ws/src/deep": "../../out", "ws/src/new": "../../out/new/leaf", "ws/fresh": "src/none",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	long := strings.Repeat("a/", 5000)
	replace := strings.NewReplacer("ROOT", root, "LONG", long, "HUGE", strings.Repeat("x", 300<<10), "PAD", strings.Repeat(" ", 5000))
	n := 0
	for _, c := range []argumentCases{
		// For a parameter that is a text or a list of texts, some servers decode a text that contains a list.
		{where: `{"/path": {"under": "/etc"}}`, denied: `
			{"path":"[\"/etc/passwd\"]"}
			{"path":" [\"/x\", \"/etc/passwd\"]\n"}
			{"path":"[\"[\\\"/etc/passwd\\\"]\"]"}
			{"path":["/etc/passwd"]}
			{"path":7}
		`},
		{where: `{"/path": {"matches": "^/etc/"}}`, denied: `
			{"path":"[\"/etc/passwd\"]"}
			{"path":"[\"/\\u0065tc/passwd\"]"}
		`, passed: `
			{"path":"[\"/x/etc/passwd\"]"}
			{"path":"[\"/etc/passwd\""}
			{"path":"[1, \"/etc/passwd\"]"}
			{"path":"[]"}
		`},
		{where: `{"/path": {"notUnder": "${workspaceFolder}"}}`, denied: `
			{"path":"ROOT/out/a"}
			{"path":"ROOT/wsx"}
			{"path":"ROOT"}
			{"path":"/"}
			{"path":"/etc/passwd"}
			{"path":"ROOT/ws/../out/a"}
			{"path":"ROOT/ws/../wsx/a"}
			{"path":"ROOT/ws/src/../../out"}
			{"path":"ROOT/ws/./../out"}
			{"path":"ROOT/ws//..//out"}
			{"path":"ROOT/ws/none/../../out"}
			{"path":"ROOT/ws/out"}
			{"path":"ROOT/ws/out/a"}
			{"path":"ROOT/ws/abs/a"}
			{"path":"ROOT/ws/chain/a"}
			{"path":"ROOT/ws/src/deep/a"}
			{"path":"ROOT/ws/out/../ws2"}
			{"path":"ROOT/ws/out/../x"}
			{"path":"ROOT/ws/loop"}
			{"path":"ROOT/ws/loop/a"}
			{"path":"ROOT/ws/dangling"}
			{"path":"ROOT/ws/self/out/a"}
			{"path":"ROOT/ws/dangling/deep/a"}
			{"path":"ROOT/ws/src/new"}
			{"path":"ROOT/ws/src/new/a/b"}
			{"path":"ROOT/ws/fresh/../../../out/a"}
			{"path":"ROOT/ws/out/none/deep"}
			{"path":"/proc/self/root/ROOT/ws/a"}
			{"path":"/proc/self/cwd/a"}
			{"path":"/dev/fd/3/a"}
			{"path":"ROOT/w*/../out"}
			{"path":"ROOT/ws/*/{a,b}"}
			{"path":"~+/a"}
			{"path":"~\\.ssh"}
			{"path":"c:/ws/a"}
			{"path":"\\\\?\\C:\\ws"}
			{"path":"file://ROOT/ws/a%00"}
			{"path":"file://ROOT%2fout/a"}
			{"path":"file:///..ROOT/out"}
			{"path":"file:a"}
			{"path":"file://127.0.0.1ROOT/ws/a"}
			{"path":"file%3a//ROOT/out/a"}
			{"path":"file%3a//ROOT/ws/a"}
			{"path":"ROOT/alias/out/a"}
			{"path":"../out"}
			{"path":"a.txt"}
			{"path":"./a.txt"}
			{"path":""}
			{"path":"~"}
			{"path":"~/.ssh/id_rsa"}
			{"path":"~root/x"}
			{"path":"$HOME/x"}
			{"path":"${HOME}/x"}
			{"path":"ROOT/ws/${X}/x"}
			{"path":" ROOT/out"}
			{"path":"ROOT/ws/%2e%2e/out"}
			{"path":"ROOT/ws/%2E%2E%2Fout"}
			{"path":"ROOT/ws/..%2fout"}
			{"path":"ROOT/ws/%252e%252e/out"}
			{"path":"ROOT/ws/%252e%252e%252fout"}
			{"path":"file://ROOT/out/a"}
			{"path":"FILE://ROOT/out/a"}
			{"path":"file:ROOT/out/a"}
			{"path":"file://localhostROOT/out"}
			{"path":"file://ROOT/ws/%2e%2e/out"}
			{"path":"file://ROOT/ws/../out"}
			{"path":"file://other/share"}
			{"path":"file://"}
			{"path":"file:///%zz"}
			{"path":"ROOT/ws\\..\\..\\out"}
			{"path":"ROOT/ws/..\\..\\out"}
			{"path":"ROOT\\ws\\..\\out"}
			{"path":"C:\\Windows\\win.ini"}
			{"path":"\\\\server\\share"}
			{"path":"ROOT/ws/a\u0000/../../out"}
			{"path":"\u0000"}
			{"path":"ROOT/ws/%00"}
			{"path":"ROOT/ws/．．/out"}
			{"path":"ROOT/ws／..／out"}
			{"path":"ROOT/ws/\u2025/out"}
			{"path":"ROOT/ws/\ud800"}
			{"path":"ROOT/\u006f\u0075\u0074/a"}
			{"p\u0061th":"ROOT/out"}
			{"Path":"ROOT/out"}
			{"PATH":"ROOT/ws/a"}
			{"path":"ROOT/ws/a","path":"ROOT/out"}
			{"path":"ROOT/out","path":"ROOT/ws/a"}
			{"path":"ROOT/ws/a","Path":"ROOT/out"}
			{"path":"ROOT/ws/a","p\u0061th":"ROOT/out"}
			{"path":["ROOT/ws/a"]}
			{"path":["ROOT/out"]}
			{"path":{"value":"ROOT/ws"}}
			{"path":5}
			{"path":-0}
			{"path":true}
			{"path":false}
			{"path":null}
			{"path":[]}
			{"path":{}}
			{}
			{"other":"ROOT/ws"}
			{"a":{"path":"ROOT/ws/a"}}
			[]
			["path","ROOT/ws"]
			"ROOT/ws"
			5
			true
			null
			{"path":9007199254740993}
			{"path":"ROOT/ws/LONG"}
			{"path":"HUGE"}
			{"path":"ROOT/wſ/a"}
			{"path":"ROOT/WS/a"}
			{"path":"ROOT/ws "}
			{"path":"ROOT/ws/a` + "\\n" + `/../../../out"}
			{"path":"ROOT/é/a"}
			{"path":"https://example.com/a"}
			{"path":"vscode://fileROOT/out"}
		`, passed: `
			{"path":"ROOT/ws"}
			{"path":"ROOT/ws/"}
			{"path":"ROOT/ws/a"}
			{"path":"ROOT//ws///a"}
			{"path":"ROOT/out/../ws/a"}
			{"path":"ROOT/ws/src/../a"}
			{"path":"ROOT/ws/src/deep/../ws/x"}
			{"path":"ROOT/alias/a"}
			{"path":"ROOT/ws/self/self/a"}
			{"path":"ROOT/ws/none/deep/a"}
			{"path":"ROOT/ws/fresh"}
			{"path":"ROOT/ws/fresh/new/leaf"}
			{"path":"ROOT/ws/[id].tsx"}
			{"path":"ROOT/ws/none/*/{a,b}"}
			{"path":"ROOT/ws/e\u0301.txt"}
			{"path":"ROOT/ws/\u00e9.txt"}
			{"path":"ROOT/ws/..a"}
			{"path":"ROOT/ws/a..b"}
			{"path":"ROOT/ws/日本/é.txt"}
			{"path":"ROOT/ws/a b.txt"}
			{"path":"ROOT/ws/100%.txt"}
			{"path":"ROOT/ws/a%20b"}
			{"path":"ROOT/ws/$id.tsx"}
			{"path":"\u002fROOT/ws/a","other":1}
			{  "path" : "ROOT/ws/a" PAD}
		`},
		{where: `{"/path": {"under": "ROOT/out"}}`, denied: `
			{"path":"ROOT/out"}
			{"path":"ROOT/out/a"}
			{"path":"ROOT/ws/out/a"}
			{"path":"ROOT/ws/../out/a"}
			{"path":"file://ROOT/out"}
			{"path":"ROOT/%6fut"}
			{"Path":"ROOT/out/a"}
			{"path":["ROOT/out"]}
			{"path":7}
			{"path":"ROOT/ws/loop"}
			{"path":"$X"}
			{"path":"/proc/self/cwd/out"}
			{"path":"/proc/thread-self/root/ROOT/out/a"}
			{"path":"ROOT/o*/a"}
			{"path":"ROOT/ou[t]"}
			{"path":"ROOT/{out,ws}/a"}
			{"path":"ROOT/???/a"}
			{"path":"ROOT/ws/src/new"}
			{"path":"ROOT/ws/src/deep/none/a"}
			[]
			{"path":"ROOT/ws/o*"}
			{"path":"ROOT/ws/*/a"}
			{"path":"ROOT/ws/{x,out}/a"}
			{"path":"ROOT/ws/src/d[!a-c]*"}
			{"path":"ROOT/ws/s*/deep"}
			{"path":"'ROOT/out/a'"}
			{"path":"ROOT/\uff4fut/a"}
			{"path":"\"ROOT/out\""}
			{"path":" \"file://ROOT/out\" "}
		`, passed: `
			{"path":"ROOT/ws/it's"}
			{"path":"ROOT/ws/sr*"}
			{"path":"ROOT/ws/src/d[!e]*"}
			{"path":"/proc/cpuinfo"}
			{"path":"ROOT/ws/src/none"}
			{"path":"ROOT/outer"}
			{"path":"ROOT/ws/a"}
			{"path":null}
			{}
		`},
		{where: `{"/path": {"under": "ROOT/caf\u00e9"}}`, denied: `
			{"path":"ROOT/caf\u00e9/a"}
			{"path":"ROOT/cafe\u0301/a"}
			{"path":"ROOT/café"}
			{"path":"ROOT/caf%C3%A9/a"}
			{"path":"ROOT/cafe%CC%81/a"}
		`, passed: `
			{"path":"ROOT/cafe/a"}
			{"path":"ROOT/caf\u00e8/a"}
			{"path":"ROOT/ws/a"}
		`},
		{where: `{"/title": {"glob": "*geh\u00e4lt*"}}`, denied: `
			{"title":"das geh\u00e4lt"}
			{"title":"das geha\u0308lt"}
			{"title":"\ud83d\ude00 geha\u0308lt"}
			{"title":["geh\u00e4lt"]}
		`, passed: `
			{"title":"gehalt"}
			{"title":"GEH\u00c4LT"}
			{"title":"geh\u0430lt"}
			{"title":"\u00e4"}
		`},
		{where: `{"/title": {"matches": "ga\u0308rten"}}`, denied: `
			{"title":"ga\u0308rten"}
			{"title":"g\u00e4rten"}
		`, passed: `
			{"title":"garten"}
		`},
		{where: `{"/paths/*": {"notUnder": ["ROOT/ws", "ROOT/out"]}}`, denied: `
			{"paths":["ROOT/ws/a","/etc/passwd"]}
			{"paths":["/etc/passwd","ROOT/ws/a"]}
			{"paths":["ROOT/ws/a",["ROOT/ws/b"]]}
			{"paths":["ROOT/ws/a",null]}
			{"paths":["ROOT/ws/a",5]}
			{"paths":[]}
			{"paths":"ROOT/ws/a"}
			{"paths":{"a":"ROOT/ws/a","b":"/etc"}}
			{"Paths":["ROOT/ws/a"]}
			{}
		`, passed: `
			{"paths":["ROOT/ws/a","ROOT/out/b"]}
			{"paths":{"a":"ROOT/ws/a"}}
		`},
		{where: `{"/a/b~1c/0/~0d": {"glob": ["*secret*", "?"]}}`, denied: `
			{"a":{"b/c":[{"~d":"my secret"}]}}
			{"a":{"b/c":[{"~d":"\u0073ecret"}]}}
			{"a":{"b/c":[{"~d":"é"}]}}
			{"A":{"B/C":[{"~D":"secret"}]}}
			{"a":{"b/c":[{"~d":["secret"]}]}}
			{"a":{"b/c":[{"~d":"ok","~d":"secret"}]}}
			{"a":{"b/c":[{"~d":12}]}}
			{"a":{"b/c":[{"~d":"HUGE"}]}}
			{"a":{"b/c":["secret"]}}
			{"a":"{\"b/c\":[{\"~d\":\"secret\"}]}"}
			{"a":{"b/c":5}}
			{"a":[{"b/c":1}, {"b/c":1}],"a":1}
		`, passed: `
			{"a":{"b/c":[{"~d":"fine"},{"~d":"secret"}]}}
			{"a":{"b/c":[{"~d":null}]}}
			{"a":{"b/c":[]}}
			{"a":{"b/c":{}}}
			{"a":null}
			{"~d":"secret"}
			{}
		`},
		{where: `{"/sql": {"matches": "(?i)\\bdrop\\s+table\\b"}}`, denied: `
			{"sql":"DROP TABLE x"}
			{"sql":"select 1; drop\n\ttable x"}
			{"sql":"\u0064rop table x"}
			{"sql":["drop table x"]}
			{"sql":"HUGE"}
			{"SQL":"drop table x"}
		`, passed: `
			{"sql":"select 'droptable'"}
			{"sql":""}
			{}
		`},
		{where: `{"not": {"/url": {"host": ["*.example.com", "localhost", "127.0.0.1"]}}}`, denied: `
			{"url":"https://evil.com/"}
			{"url":"https://example.com/"}
			{"url":"https://xexample.com"}
			{"url":"https://a.example.com.evil.com"}
			{"url":"https://a.example.com@evil.com"}
			{"url":"https://evil.com#a.example.com"}
			{"url":"https://evil.com?x=https://a.example.com"}
			{"url":"https://evil.com\\@a.example.com"}
			{"url":"https://evil.com\\.a.example.com"}
			{"url":"https:/\\evil.com"}
			{"url":"https:evil.com"}
			{"url":"https:/evil.com"}
			{"url":"https:///evil.com"}
			{"url":"//a.example.com"}
			{"url":"a.example.com"}
			{"url":"ht\ttps://a.example.com"}
			{"url":"https://a.exam\nple.com"}
			{"url":"https://a。example.com"}
			{"url":"https://ⓔvil.com"}
			{"url":"https://a.example.com%2eevil.com"}
			{"url":"https://%65vil.com"}
			{"url":"https://a@evil.com@a.example.com"}
			{"url":"https://a%40evil.com@a.example.com"}
			{"url":"https://a.example.com%40evil.com"}
			{"url":"https://a.example.com%2f@evil.com"}
			{"url":"https://a.example.com:443@evil.com:80"}
			{"url":"https://a.example.com:80:90"}
			{"url":"https://a.example.com:x"}
			{"url":"https://xn--a-ecp.example.com.evil.com"}
			{"url":"https://xn--example-9d0b.com"}
			{"url":"https://a.example.com.."}
			{"url":"https://a.ex\u0430mple.com"}
			{"url":"https://[::ffff:1.2.3.4]"}
			{"url":"https://[a.example.com]"}
			{"url":"https://[::1%25lo]"}
			{"url":"https://127.0.0.1%00.example.com"}
			{"url":"https://127.0.0.1.a@[::1]"}
			{"url":"http://127.0.0.2"}
			{"url":"git@a.example.com:x"}
			{"url":"blob:https://a.example.com/x"}
			{"url":{"href":"https://a.example.com"}}
			{"url":"https://a.example.com\u0000.evil.com"}
			{"url":"https://[::1]"}
			{"url":"http://2130706433/"}
			{"url":"http://0x7f.1/"}
			{"url":"http://127.1/"}
			{"url":"http://0177.0.0.1/"}
			{"url":"file:///etc/passwd"}
			{"url":"data:text/html,x"}
			{"url":"view-source:https://evil.com"}
			{"url":""}
			{"url":["https://a.example.com"]}
			{"url":1}
			{"url":null}
			{"URL":"https://a.example.com"}
			{}
		`, passed: `
			{"url":"https://a.example.com/x?y#z"}
			{"url":"https://user:word@a.example.com:8443"}
			{"url":"HTTPS://A.EXAMPLE.COM."}
			{"url":" https://a.example.com "}
			{"url":"http://127.0.0.1:80/"}
			{"url":"http://[::ffff:127.0.0.1]/"}
			{"url":"wss://localhost/x"}
			{"url":"https://a.example.com:443"}
			{"url":"http://a.example.com:80/%2e%2e/@evil.com"}
			{"url":"https://xn--bcher-kva.example.com."}
			{"url":"http://127.0.0.1."}
		`},
		{where: `{"/url": {"host": ["127.0.0.1", "169.254.*", "::1"]}}`, denied: `
			{"url":"http://127.0.0.1"}
			{"url":"http://[::1]:80"}
			{"url":"http://169.254.169.254/latest"}
			{"url":"http://2852039166/"}
			{"url":"http://0xa9fea9fe/"}
			{"url":"http://[::ffff:a9fe:a9fe]/"}
			{"url":"169.254.169.254"}
			{"url":"http://[0:0:0:0:0:0:0:1]"}
			{"url":"http://[0000::0001%25lo]:8080"}
			{"url":"http://x@127.0.0.1:80"}
			{"url":"HTTP://127.0.0.1.:80/"}
			{"url":"http://127.000.000.001"}
			{"url":"http://①②⑦.0.0.1"}
		`, passed: `
			{"url":"https://example.com"}
			{}
		`},
		{where: `{"/n": {"min": 100, "max": 9007199254740992}}`, denied: `
			{"n":100}
			{"n":1e2}
			{"n":9007199254740992}
			{"n":9007199254740993}
			{"n":99.99999999999999999999}
			{"n":9.007199254740993e15}
			{"n":10000E-2}
			{"n":1E2}
			{"n":0.1e999999999999}
			{"n":{"n":1}}
			{"n":"5"}
			{"n":[5]}
			{"n":true}
			{"N":200}
		`, passed: `
			{"n":99.999}
			{"n":-100}
			{"n":9007199254740994}
			{"n":1e400}
			{"n":-1e400}
			{"n":1e-400}
			{"n":null}
			{}
		`},
		{where: `{"/body": {"minBytes": 10}}`, denied: `
			{"body":"0123456789"}
			{"body":"ééééé"}
			{"body":[1,2,3,4,5,6]}
			{"body":"HUGE"}
		`, passed: `
			{"body":"012345678"}
			{"body":"\u0061\u0062"}
			{}
		`},
		{where: `{"/force": {"present": true}}`, denied: `
			{"force":false}
			{"force":[]}
			{"Force":1}
			{"force":1,"force":null}
		`, passed: `
			{"force":null}
			{"a":{"force":1}}
			{}
		`},
		{where: `{"any": [{"/a": {"glob": "x"}, "/b": {"glob": "y"}}, {"not": {"/c": {"present": true}}}, {"all": [{"/d": {"max": 1}}, {"": {"minBytes": 60}}]}]}`, denied: `
			{"a":"x","b":"y","c":1}
			{"a":"x","b":"y"}
			{"c":null}
			{"c":1,"d":0,"pad":"012345678901234567890123456789012345678901"}
			{"c":1,"a":"x","b":[]}
			{}
		`, passed: `
			{"a":"x","b":"z","c":1}
			{"c":1,"d":0}
			{"c":1,"d":2,"pad":"012345678901234567890123456789012345678901"}
		`},
	} {
		n += c.run(t, replace, root+"/ws")
	}
	assert.Truef(t, n >= 330, "only %d cases", n)
	t.Log(n, "cases")
	// Without a working folder, it is not known what is under it.
	argumentCases{where: `{"/path": {"notUnder": "${workspaceFolder}"}}`, denied: `{"path":"/etc"}`}.run(t, replace, "")
	argumentCases{where: `{"/path": {"under": "${workspaceFolder}/x"}}`, denied: `{"path":"/etc"}`}.run(t, replace, "")
}

// FuzzArgumentRules: an allow rule never applies where the deny rule with the same condition does
// not.
func FuzzArgumentRules(f *testing.F) {
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {"files": {"command": "x"}}, "policy": {"rules": [
		{"where": {"/p/*": {"under": "`+filepath.ToSlash(filepath.VolumeName(f.TempDir()))+`/usr", "glob": "*a"}, "not": {"/u": {"host": "a.b"}}, "any": [{"/n": {"min": 1}}, {"": {"matches": "x"}}]}, "then": "deny"}]}}`))
	require.NotNil(f, c, problems)
	deny := compileArgumentRules(c.Policy.Arguments)
	allow := compileArgumentRules(c.Policy.Arguments)
	allow[0].Then = config.RuleAllow
	s := &server{paths: pathSettings{local: true}}
	for _, seed := range []string{`{"p":["/usr/a"],"u":"http://a.b","n":1}`, `{"p":{"x":"/usr/../a"}}`, `[`, `"\"`, ` `, `{"P":1,"p":2}`, `{"n":1e999999999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		made := &core.Call{Server: "files", Method: "tools/call", Name: "put", Params: arguments, Arguments: core.Span{End: len(arguments)}}
		if decideByArguments(allow, s, made).rule != nil && decideByArguments(deny, s, made).rule == nil {
			t.Error("allowed for certain, and denied not even possibly")
		}
		assert.False(t, !json.Valid(arguments) && len(arguments) > 0 && decideByArguments(deny, s, made).rule == nil, "arguments that are not JSON slipped past")
	})
}
