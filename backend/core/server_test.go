package core

import (
	"strings"
	"testing"
)

func TestServerIsFoundByNameOrID(t *testing.T) {
	servers := []ServerIdentity{
		{"my-server", "my server"}, {"21st-dev-magic", "@21st-dev/magic"}, {"files", "Files"}, {"Files-2", "files"}, {"Docs", "Docs"}, {"web-a", "Web"}, {"web-b", "WEB"},
	}
	for text, want := range map[string]string{
		"my-server": "my-server", "my server": "my-server", "@21st-dev/magic": "21st-dev-magic", "MY SERVER": "my-server",
		"files": "files", // the exact id wins over the exact name
		"Files": "files", "docs": "Docs", "Web": "web-a", "none": "", "": "",
	} {
		if got, err := FindServer(servers, text); got != want || err != nil {
			t.Errorf("%q leads to %q, %v; want %q", text, got, err, want)
		}
	}
	_, err := FindServer(servers, "web")
	if _, hint := Describe(err); CodeOf(err) != CodeValidation || !strings.Contains(hint, "web-a, web-b") {
		t.Errorf("two servers that fit equally: %v (%s)", err, hint)
	}
}
