package marketplace

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type zipped struct {
	name, body string
	mode       fs.FileMode
}

const nodeManifest = `{"manifest_version":"0.3","name":"hello","version":"1.0.0","description":"d","author":{"name":"a"},
 "server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":"node","args":["${__dirname}/server/index.js","--dir","${user_config.dirs}","--key=${user_config.key}"],"env":{"TOKEN":"${user_config.token}","DATA":"${HOME}/data"}}},
 "user_config":{"dirs":{"type":"directory","title":"Folders","required":true,"multiple":true},"key":{"type":"string","title":"Key","default":"k"},"token":{"type":"string","title":"Token","sensitive":true}}}`

func pack(t testing.TB, files ...zipped) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		head := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.mode == 0 {
			f.mode = 0o644
		}
		head.SetMode(f.mode)
		w, err := z.CreateHeader(head)
		require.NoError(t, err)
		_, err = w.Write([]byte(f.body))
		require.False(t, err != nil && f.body != "", err)
	}
	require.NoError(t, z.Close())
	return out.Bytes()
}

func hello(t testing.TB, more ...zipped) []byte {
	return pack(t, append([]zipped{{name: "manifest.json", body: nodeManifest}, {name: "server/index.js", body: "x", mode: 0o755}}, more...)...)
}

func TestBundleIsUnpackedIntoEntry(t *testing.T) {
	src := append(hello(t, zipped{name: "server/lib/", mode: fs.ModeDir | 0o755}, zipped{name: "server/lib/a.js", body: "a"}), "MCPB_SIG_V1\x04\x00\x00\x00sigsMCPB_SIG_END"...)
	b, err := ReadBundle(src)
	require.NoError(t, err)
	if len(b.Fields) != 3 || b.Fields[0].Key != "dirs" || !b.Fields[0].Multiple || !b.Fields[2].Secret || b.Fields[1].Default != "k" {
		t.Errorf("%+v", b.Fields)
	}
	folder := filepath.Join(t.TempDir(), "bundles")
	plan, err := b.Install(folder, "", map[string]string{"dirs": "/a\n/b ${HOME}", "token": "s3cret ${x}"})
	require.NoError(t, err)
	var entry struct {
		Command, Cwd string
		Args         []string
		Env          map[string]string
	}
	require.NoError(t, json.Unmarshal(plan.Entry, &entry))
	dir := b.Folder(folder)
	want := []string{filepath.Join(dir, "server/index.js"), "--dir", "/a", "/b $${HOME}", "--key=k"}
	assert.Truef(t, entry.Command == "node" && entry.Cwd == dir && strings.Join(entry.Args, "|") == strings.Join(want, "|"), "%+v", entry)
	if entry.Env["TOKEN"] != "${secret:HELLO_TOKEN}" || plan.Secrets["HELLO_TOKEN"] != "s3cret ${x}" || strings.Contains(string(plan.Entry), "s3cret") {
		t.Errorf("%+v %v", entry.Env, plan.Secrets)
	}
	require.NoError(t, b.Unpack(folder))
	info, err := os.Stat(filepath.Join(dir, "server/index.js"))
	assert.Truef(t, err == nil && !(info.Mode().Perm() != 0o700 && os.PathSeparator == '/'), "%v %v", info, err)
	left, _ := filepath.Glob(filepath.Join(folder, ".*"))
	assert.Truef(t, len(left) <= 0, "left behind: %v", left)
	_, err = b.Install(folder, "", nil)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "required"), "a setting that is required is missing: %v", err)
}

// bomb returns an archive with one file that unpacks to size NUL bytes.
func bomb(t testing.TB, size int64) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, _ := z.Create("manifest.json")
	_, _ = w.Write([]byte(nodeManifest))
	w, _ = z.Create("server/index.js")
	block := make([]byte, 1<<20)
	for ; size > 0; size -= int64(len(block)) {
		_, _ = w.Write(block)
	}
	_ = z.Close()
	return out.Bytes()
}

// lying returns an archive whose directory declares a smaller size than a file has.
func lying(t testing.TB) []byte {
	src := pack(t, zipped{name: "manifest.json", body: nodeManifest}, zipped{name: "server/index.js", body: strings.Repeat("x", 5000)})
	// The central directory has the size at offset 24 of each header.
	at := bytes.LastIndex(src, []byte("PK\x01\x02"))
	copy(src[at+24:], []byte{10, 0, 0, 0})
	return src
}

func TestHostileArchivesAreRefused(t *testing.T) {
	many := make([]zipped, 0, maxEntries+1)
	for i := range maxEntries + 1 {
		many = append(many, zipped{name: "f/" + strconv.Itoa(i)})
	}
	for name, c := range map[string]struct {
		src  []byte
		want string
	}{
		"zip slip":                {hello(t, zipped{name: "../../evil", body: "x"}), "path outside the bundle"},
		"zip slip inside":         {hello(t, zipped{name: "server/../../evil", body: "x"}), "path outside the bundle"},
		"backslash":               {hello(t, zipped{name: `..\evil`, body: "x"}), "backslash"},
		"absolute":                {hello(t, zipped{name: "/etc/cron.d/evil", body: "x"}), "absolute path"},
		"drive":                   {hello(t, zipped{name: "C:/Windows/evil.dll", body: "x"}), "drive"},
		"drive without slash":     {hello(t, zipped{name: "C:evil", body: "x"}), "drive"},
		"UNC":                     {hello(t, zipped{name: "//host/share/evil", body: "x"}), "absolute path"},
		"UNC with backslashes":    {hello(t, zipped{name: `\\host\share\evil`, body: "x"}), "backslash"},
		"stream":                  {hello(t, zipped{name: "server/index.js:evil", body: "x"}), "drive"},
		"dot":                     {hello(t, zipped{name: "./evil", body: "x"}), "path outside the bundle"},
		"empty part":              {hello(t, zipped{name: "a//b", body: "x"}), "path outside the bundle"},
		"device":                  {hello(t, zipped{name: "server/NUL.txt", body: "x"}), "device"},
		"trailing dot":            {hello(t, zipped{name: "server/index.js.", body: "x"}), "trailing dots"},
		"control character":       {hello(t, zipped{name: "a\x00b", body: "x"}), "control characters"},
		"link":                    {hello(t, zipped{name: "link", body: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), "link"},
		"link to a folder":        {hello(t, zipped{name: "server/l", body: "../../..", mode: fs.ModeSymlink | 0o777}, zipped{name: "server/l/evil", body: "x"}), "link"},
		"device file":             {hello(t, zipped{name: "dev", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}), "not a regular file"},
		"pipe":                    {hello(t, zipped{name: "pipe", mode: fs.ModeNamedPipe | 0o666}), "not a regular file"},
		"setuid":                  {hello(t, zipped{name: "su", body: "x", mode: fs.ModeSetuid | 0o755}), "not a regular file"},
		"twice":                   {hello(t, zipped{name: "server/index.js", body: "y"}), "twice"},
		"manifest twice":          {hello(t, zipped{name: "manifest.json", body: "{}"}), "twice"},
		"other letters":           {hello(t, zipped{name: "Server/Index.js", body: "y"}), "same file on some systems"},
		"folder and file":         {hello(t, zipped{name: "server", body: "y"}), "twice"},
		"file and folder":         {hello(t, zipped{name: "server/index.js/evil", body: "y"}), "twice"},
		"bomb":                    {bomb(t, 200<<20), "decompression bomb"},
		"many files":              {pack(t, many...), "more than"},
		"deep":                    {hello(t, zipped{name: strings.Repeat("d/", maxDepth) + "f", body: "x"}), "too deep"},
		"long name":               {hello(t, zipped{name: strings.Repeat("n", 500), body: "x"}), "too long"},
		"no zip":                  {[]byte("MZ this is not a zip"), "not a zip"},
		"no manifest":             {pack(t, zipped{name: "server/index.js", body: "x"}), "does not contain manifest.json"},
		"manifest not at the top": {pack(t, zipped{name: "x/manifest.json", body: nodeManifest}), "does not contain manifest.json"},
	} {
		_, err := ReadBundle(c.src)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v, want %q", name, err, c.want)
	}
}

func TestOversizedArchiveMemberLeavesNothing(t *testing.T) {
	b, err := ReadBundle(lying(t))
	if err != nil {
		return // the zip reader may reject it
	}
	folder := filepath.Join(t.TempDir(), "bundles")
	require.Error(t, b.Unpack(folder), "it was unpacked")
	left, _ := filepath.Glob(filepath.Join(folder, "*"))
	assert.Truef(t, len(left) <= 0, "left behind: %v", left)
	left, _ = filepath.Glob(filepath.Join(folder, ".unpacking-*"))
	assert.Truef(t, len(left) <= 0, "left behind: %v", left)
}

func TestHostileManifestsAreRefused(t *testing.T) {
	node := func(command, args, env string) string {
		return `{"manifest_version":"0.3","name":"hello","version":"1.0.0","author":{"name":"a"},"server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":` + command + `,"args":` + args + `,"env":` + env + `}},"user_config":{"k":{"type":"string","title":"K"}}}`
	}
	for name, c := range map[string]struct{ manifest, want string }{
		"another program":        {node(`"/bin/sh"`, `["-c","evil"]`, `{}`), "must run node"},
		"a shell by name":        {node(`"bash"`, `["${__dirname}/server/index.js"]`, `{}`), "must run node"},
		"eval":                   {node(`"node"`, `["--eval","evil()"]`, `{}`), "not one of its files"},
		"eval after":             {node(`"node"`, `["-e","evil()","${__dirname}/server/index.js"]`, `{}`), "not one of its files"},
		"a file outside":         {node(`"node"`, `["/tmp/evil.js"]`, `{}`), "not one of its files"},
		"a way out":              {node(`"node"`, `["${__dirname}/../../evil.js"]`, `{}`), "not one of its files"},
		"no file":                {node(`"node"`, `[]`, `{}`), "does not specify a file"},
		"NODE_OPTIONS":           {node(`"node"`, `["${__dirname}/server/index.js"]`, `{"NODE_OPTIONS":"--require /tmp/x"}`), "NODE_OPTIONS"},
		"LD_PRELOAD":             {node(`"node"`, `["${__dirname}/server/index.js"]`, `{"LD_PRELOAD":"/tmp/x"}`), "LD_PRELOAD"},
		"somebody else's secret": {node(`"node"`, `["${__dirname}/server/index.js","${secret:GITHUB_TOKEN}"]`, `{}`), "unknown placeholder"},
		"a variable of ours":     {node(`"node"`, `["${__dirname}/server/index.js"]`, `{"A":"${AWS_SECRET_ACCESS_KEY}"}`), "unknown placeholder"},
		"an open placeholder":    {node(`"node"`, `["${__dirname}/server/index.js","a${user_config.k"]`, `{}`), "unterminated placeholder"},
		"an unknown setting":     {node(`"node"`, `["${__dirname}/server/index.js","${user_config.z}"]`, `{}`), "undefined setting"},
		"another type":           {strings.Replace(node(`"node"`, `[]`, `{}`), `"type":"node"`, `"type":"perl"`, 1), "cannot be run"},
		"another version":        {strings.Replace(node(`"node"`, `[]`, `{}`), `"0.3"`, `"9"`, 1), "version"},
		"another system":         {strings.Replace(node(`"node"`, `["${__dirname}/server/index.js"]`, `{}`), `"author"`, `"compatibility":{"platforms":["plan9"]},"author"`, 1), "not for this system"},
		"a name that is a path":  {strings.Replace(node(`"node"`, `["${__dirname}/server/index.js"]`, `{}`), `"hello"`, `"../evil"`, 1), "not a valid bundle name"},
		"a binary outside":       {`{"manifest_version":"0.3","name":"b","version":"1","server":{"type":"binary","mcp_config":{"command":"/usr/bin/curl","args":[]}}}`, "not one of its files"},
		"uv with other code":     {`{"manifest_version":"0.4","name":"b","version":"1","server":{"type":"uv","mcp_config":{"command":"uv","args":["run","--with","evil","${__dirname}/server/index.js"]}}}`, "not allowed"},
		"an override":            {strings.Replace(node(`"node"`, `["${__dirname}/server/index.js"]`, `{}`), `"command":"node"`, `"command":"node","platform_overrides":{"`+currentPlatform()+`":{"command":"sh"}}`, 1), "must run node"},
	} {
		_, err := ReadBundle(pack(t, zipped{name: "manifest.json", body: c.manifest}, zipped{name: "server/index.js", body: "x"}))
		assert.ErrorContains(t, err, c.want, name)
	}
}

// For any bundle, the unpacked files stay in its folder, and the command is a file of the bundle
// or an allowed program.
func FuzzBundle(f *testing.F) {
	f.Add(hello(f))
	f.Add(hello(f, zipped{name: "../x", body: "x"}))
	f.Add(hello(f, zipped{name: "l", body: "/etc", mode: fs.ModeSymlink | 0o777}))
	f.Add(lying(f))
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := ReadBundle(src)
		if err != nil {
			return
		}
		for name := range b.archive.names {
			require.Truef(t, filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:"), "%q is not below the folder", name)
		}
		plan, err := b.Install("/data/bundles", "", map[string]string{"dirs": "/x", "k": "v"})
		if err != nil {
			return
		}
		program := plan.Command[0]
		if !slices.Contains([]string{"node", "python", "python3", "uv"}, program) && !strings.HasPrefix(program, b.Folder("/data/bundles")+"/") {
			t.Fatalf("it would run %q", program)
		}
		require.NotContains(t, strings.ReplaceAll(string(plan.Entry), "${secret:", ""), "${secret")
	})
}

func TestBundleIsDescribedBeforeUnpacking(t *testing.T) {
	b, err := ReadBundle(hello(t))
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "bundles")
	a := b.About(folder)
	assert.Truef(t, a.Name == "hello" && a.Type == "node" && a.Files == 2 && !a.Unpacked && len(a.Variables) == 2, "%+v", a)
	want := []string{"node", filepath.Join(a.Folder, "server/index.js"), "--dir", "<Folders>", "--key=<Key>"}
	require.Len(t, a.Command, len(want))
	for i := range want {
		assert.Equal(t, want[i], a.Command[i])
	}
	_, err = os.Stat(folder)
	assert.Error(t, err, "something was written")
	err = b.Unpack(folder)
	assert.Truef(t, err == nil && b.About(folder).Unpacked, "unpacked: %v", err)
}
