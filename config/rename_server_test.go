package config

import (
	"testing"
)

func TestRenamedServerKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, want string }{
		"map": {
			"{\n  // mine\n  \"mcpServers\": {\n    \"files\": {\"command\": \"f\"}, // here\n    \"git\": {\"command\": \"g\"},\n  },\n  \"profiles\": {\"work\": {\"servers\": {\"files\": {\"prompts\": false}, \"git\": {}}}, \"all\": {}}\n}\n",
			"{\n  // mine\n  \"mcpServers\": {\n    \"My Files\": {\"command\": \"f\"}, // here\n    \"git\": {\"command\": \"g\"},\n  },\n  \"profiles\": {\"work\": {\"servers\": {\"my-files\": {\"prompts\": false}, \"git\": {}}}, \"all\": {}}\n}\n",
		},
		"list": {
			`{"servers": [{"command": "f", "name": "files"}, {"name": "git", "command": "g"}]}`,
			`{"servers": [{"command": "f", "name": "My Files"}, {"name": "git", "command": "g"}]}`,
		},
	} {
		d, err := NewDocument([]byte(c.from))
		must(t, err)
		if err := d.Rename("files", "git"); err == nil {
			t.Errorf("%s: the name of another server was taken", name)
		}
		if err := d.Rename("nobody", "x"); err == nil {
			t.Errorf("%s: a server that is not there was renamed", name)
		}
		d.renameReferences(rename{"files", "my-files", "files", "My Files"})
		must(t, d.Rename("files", "My Files"))
		if got := string(d.Bytes()); got != c.want {
			t.Errorf("%s: it became\n%s\nand should be\n%s", name, got, c.want)
		}
	}
}
