package marketplace

import (
	"encoding/json"
	"strings"
	"testing"
)

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
		if len(strings.TrimSpace(string(src))) > 0 && !json.Valid(src) {
			t.Fatalf("%q passes and is not JSON", src)
		}
	})
}

func TestDuplicateKeyIsRefused(t *testing.T) {
	src := strings.Replace(honest, `"identifier":"@me/weather"`, `"identifier":"@me/weather","Identifier":"@evil/weather"`, 1)
	if _, err := Parse([]byte(src)); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the record: %v", err)
	}
	manifest := strings.Replace(nodeManifest, `"command":"node"`, `"command":"node","Command":"node"`, 1)
	if _, err := ReadBundle(pack(t, zipped{name: "manifest.json", body: manifest}, zipped{name: "server/index.js", body: "x"})); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the manifest: %v", err)
	}
	for name, src := range map[string]string{
		"a package that is a list": `{"name":"io.x/y","description":"d","packages":[[]]}`,
		"packages that are a word": `{"name":"io.x/y","description":"d","packages":"npm"}`,
		"a name that is a number":  `{"name":7,"description":"d"}`,
		"arguments as an object":   pack1("npm", "good", `,"packageArguments":{"0":{"type":"positional","value":"x"}}`),
		"a flag for a value":       pack1("npm", "good", `,"packageArguments":[{"type":"named","name":"--a","value":true}]`),
		"parts of parts":           pack1("npm", "good", `,"environmentVariables":[{"name":"A","value":"{x}","variables":{"x":{"variables":{"y":{"variables":{"z":{}}}}}}}]`),
	} {
		if _, err := Parse([]byte(src)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
