package clientconf

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	strict  = Client{ID: "strict", Name: "Strict", Format: JSON, KeyPath: []string{"mcpServers"}}
	lenient = Client{ID: "lenient", Name: "Lenient", Format: JSONC, KeyPath: []string{"mcpServers"}}
	entry   = json.RawMessage(`{"command": "/opt/drawbridge", "args": ["stdio", "--client", "x"]}`)
)

// Files as users have them. want is the file with our entry added, if the layout is worth
// testing.
var corpus = []struct {
	name   string
	client Client
	src    string
	want   string
}{
	{"empty file", strict, "", "{\n  \"mcpServers\": {\n    \"drawbridge\": {\n      \"command\": \"/opt/drawbridge\",\n      \"args\": [\n        \"stdio\",\n        \"--client\",\n        \"x\"\n      ]\n    }\n  }\n}"},
	{"empty object", strict, "{}\n", ""},
	{"empty container", strict, "{\"mcpServers\": {}}\n", ""},
	{"empty container, spread", strict, "{\n  \"mcpServers\": {\n  }\n}\n", ""},
	{"one server", strict, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    \"drawbridge\": {\n      \"command\": \"/opt/drawbridge\",\n      \"args\": [\n        \"stdio\",\n        \"--client\",\n        \"x\"\n      ]\n    }\n  }\n}\n"},
	{"one line", strict, `{"a":1,"mcpServers":{"b":{"command":"x"}},"c":9007199254740993123}`,
		`{"a":1,"mcpServers":{"b":{"command":"x"}, "drawbridge": {"command":"/opt/drawbridge","args":["stdio","--client","x"]}},"c":9007199254740993123}`},
	{"tabs and crlf", strict, "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}\r\n", ""},
	{"four spaces", strict, "{\n    \"other\": {\"x\": [1.0, 1e3]}\n}", ""},
	{"byte order mark", strict, "\xEF\xBB\xBF{\n  \"mcpServers\": {}\n}", ""},
	{"html characters", strict, "{\n  \"a\": \"<&>\\u003c\",\n  \"mcpServers\": {\"z\": {\"url\": \"http://x?a=1&b=2\"}}\n}", ""},
	{"comments", lenient, "// mine\n{\n  // servers\n  \"mcpServers\": {\n    \"a\": {}, // the first\n    // \"b\": {}\n  },\n}\n", ""},
	{"comment behind the last", lenient, "{\n  \"mcpServers\": {\n    \"a\": {} // why\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    \"a\": {}, // why\n    \"drawbridge\": {\n      \"command\": \"/opt/drawbridge\",\n      \"args\": [\n        \"stdio\",\n        \"--client\",\n        \"x\"\n      ]\n    }\n  }\n}\n"},
	{"comment in the empty container", lenient, "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n", ""},
	{"block comments", lenient, "{ /* a */ \"mcpServers\" /* b */ : { /* c */ \"a\": 1 /* d */ } /* e */ }", ""},
	{"trailing comma on one line", lenient, `{"mcpServers": {"a": {},},}`, ""},
	{"line comment at the end of the container", lenient, "{\"mcpServers\": {\"a\": {}\n// end\n}}", ""},
	{"line comment at the end of the file", lenient, "{\"mcpServers\": {\"a\": {}}} // end", ""},
	{"comment and carriage return at the end of the file", lenient, "{\r\n  \"mcpServers\": {\"a\": {}}\r\n}\r\n// end\r", ""},
	{"unicode keys", strict, "{\"mcpServers\": {\"日本\": {}, \"é\\u0301\": {}}}", ""},
	{"key with escapes", strict, "{\"mcp\\u0053ervers\": {\"a\": {}}}", ""},
}

func TestAddedEntryKeepsEveryOtherByte(t *testing.T) {
	for _, c := range corpus {
		t.Run(c.name, func(t *testing.T) {
			file, err := parse([]byte(c.src), c.client)
			require.NoError(t, err)
			out, err := file.set(c.client.KeyPath, EntryName, entry)
			require.NoError(t, err)
			require.Falsef(t, c.want != "" && string(out) != c.want, "got\n%s\nwant\n%s", out, c.want)
			requireAdded(t, c.client, []byte(c.src), out)
			back := removeEntry(t, c.client, out)
			require.Truef(t, sameDecoded(t, []byte(c.src), back, c.client, []edit{{path: c.client.KeyPath, name: EntryName}}), "after removing:\n%s", back)
			_, err = parse(back, c.client)
			require.NoError(t, err, back)
		})
	}
}

// removeEntry returns text without our entry.
func removeEntry(t *testing.T, client Client, text []byte) []byte {
	t.Helper()
	file, err := parse(text, client)
	require.NoError(t, err)
	back, err := file.remove(client.KeyPath, EntryName)
	require.NoErrorf(t, err, "cannot remove: %q", text)
	return back
}

// requireAdded verifies an addition: the client can parse the file, our entry has the intended
// value, everything else is equal, and bytes were only inserted into the old text.
func requireAdded(t *testing.T, client Client, src, out []byte) {
	t.Helper()
	requireKept(t, client, src, out, " \t\r\n")
	again, err := parse(out, client)
	require.NoError(t, err)
	_, got, err := again.entry(client.KeyPath, EntryName)
	require.Truef(t, err == nil && sameJSON(got, entry), "our entry is %s (%v)", got, err)
	require.Truef(t, sameDecoded(t, src, out, client, []edit{{path: client.KeyPath, name: EntryName}}), "other parts changed:\n%s", out)
}

func TestUnsafeFilesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		client Client
		src    string
	}{
		"comment where the client bears none": {strict, "{ // x\n}"},
		"trailing comma in strict JSON":       {strict, `{"a":1,}`},
		"array root":                          {strict, `[]`},
		"null":                                {strict, `null`},
		"half a file":                         {strict, `{"mcpServers": {`},
		"container is not an object":          {strict, `{"mcpServers": []}`},
		"container twice":                     {strict, `{"mcpServers": {}, "mcpServers": {}}`},
		"our name twice":                      {strict, `{"mcpServers": {"drawbridge": {}, "drawbridge": {}}}`},
		"utf-16":                              {strict, "\xff\xfe{\x00}\x00"},
	} {
		file, err := parse([]byte(c.src), c.client)
		if err == nil {
			_, err = file.set(c.client.KeyPath, EntryName, entry)
		}
		assert.Errorf(t, err, "%s: taken", name)
	}
}

func FuzzJSONEntryKeepsOtherParts(f *testing.F) {
	for _, c := range corpus {
		f.Add([]byte(c.src), c.client.ID == "lenient")
	}
	f.Fuzz(func(t *testing.T, src []byte, comments bool) {
		client := strict
		if comments {
			client = lenient
		}
		p := &Plan{Client: client, Path: "x", edits: []edit{{client.KeyPath, EntryName, entry}}, before: src, existed: true}
		if p.splice() != nil || p.Action == Equal {
			return // refused, or nothing to do
		}
		if _, ok := decodeFile(src, client); !ok {
			t.Skip()
		}
		if p.Action == Add {
			back := removeEntry(t, client, p.after)
			_, err := parse(back, client)
			require.NoErrorf(t, err, "removing left %q", back)
			require.Truef(t, sameDecoded(t, src, back, client, []edit{{path: client.KeyPath, name: EntryName}}), "removing changed other parts: %q", back)
		}
	})
}
